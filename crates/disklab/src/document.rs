//! Parts that all JSON documents share: the name and version of their schema, and the error
//! document.

use std::fs::File;
use std::io::Write;

use rustix::io::dup;
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};

/// Version of all schemas. New keys do not change it.
const VERSION: u32 = 1;

/// A document with the name and version of its schema.
#[derive(Serialize)]
pub struct Document<'a, T> {
    pub schema: Value,
    #[serde(flatten)]
    pub document: &'a T,
}

/// Returns the name and version of a schema, as documents have them.
pub fn name(name: &str) -> Value {
    json!({ "name": name, "version": VERSION })
}

/// Prints an error as a document of one line. The function bypasses the lock of standard output,
/// which an interrupted thread may hold.
pub fn print_error(exit: Exit, failure: &Failure) {
    let details: Vec<Value> = match failure {
        Failure::Diagnostics(diagnostics) => diagnostics
            .0
            .iter()
            .map(|diagnostic| {
                let place = &diagnostic.place;
                json!({
                    "file": &*place.file, "line": place.line, "column": place.column,
                    "key": place.key, "message": diagnostic.message,
                })
            })
            .collect(),
        _ => Vec::new(),
    };
    let mut error = json!({
        "kind": exit.kind(), "message": failure.to_string(), "exit_code": exit as u8,
    });
    if !details.is_empty() {
        error["details"] = details.into();
    }
    let document = json!({ "schema": name("error"), "error": error });
    // If standard output is closed, the message is on standard error only.
    if let Ok(out) = dup(rustix::stdio::stdout()) {
        let _ = writeln!(File::from(out), "{document}");
    }
}
