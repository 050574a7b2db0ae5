//! `disklab schema`: the JSON Schema of each document.

use clap::builder::PossibleValuesParser;
use serde_json::json;

use crate::exit::{Exit, Failure};
use crate::screen::Screen;

/// The JSON Schema files, by the names of the documents.
const SCHEMAS: &[(&str, &str)] = &include!("schema/files.rs");

/// Print the JSON Schema of a document that --json prints.
///
/// Each document has the key `schema`: its name and version. Without NAME, the command lists the
/// names. An installation has the same files in share/disklab/schemas.
#[derive(Debug, clap::Args)]
pub struct SchemaArgs {
    /// The name of a document.
    #[arg(
        value_name = "NAME",
        value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|(name, _)| *name))
    )]
    name: Option<String>,
}

pub fn schema(args: &SchemaArgs, screen: &Screen) -> Result<Exit, Failure> {
    let named = |name: &String| SCHEMAS.iter().find(|(known, _)| known == name);
    if let Some((_, text)) = args.name.as_ref().and_then(named) {
        screen.print(|out| Ok(out.write_all(text.as_bytes())?))?;
    } else {
        let all: Vec<&str> = SCHEMAS.iter().map(|(name, _)| *name).collect();
        screen.present(&json!({ "names": all }), |out| {
            all.iter().try_for_each(|name| Ok(writeln!(out, "{name}")?))
        })?;
    }
    Ok(Exit::Ok)
}
