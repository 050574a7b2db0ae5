//! The parts that all JSON documents have in common: the name and the version of their schema, and
//! the document of an error.

use std::fs::File;
use std::io::Write;

use rustix::io::dup;
use serde::Serialize;
use serde_json::{Value, json};

use crate::exit::{Exit, Failure};

/// The version of all schemas. Documents get new keys without a new version.
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

/// Prints an error as a document in one line. It goes past the lock of standard output, which the
/// thread that was interrupted may hold.
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
    // Where standard output is closed, standard error still has the message.
    if let Ok(out) = dup(rustix::stdio::stdout()) {
        let _ = writeln!(File::from(out), "{document}");
    }
}
