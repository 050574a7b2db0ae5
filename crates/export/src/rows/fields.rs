//! Reads the trials of a record, and makes the fields that several tables have in common.

use std::ffi::OsStr;
use std::path::Path;

use disklab_record::fingerprint::sha256_of;
use disklab_record::record::name_in_shell;
use disklab_record::{Outcome, Record, Status};

use crate::error::ExportError;
use crate::table::{AXES, Field};

/// Returns the trials that have run or were left out, in the order of the manifest.
pub fn outcomes(record: &Record) -> impl Iterator<Item = &Outcome> {
    record.outcomes().into_iter().filter_map(|(_, outcome)| outcome)
}

/// Returns the trials that are ok.
pub fn ok(record: &Record) -> impl Iterator<Item = &Outcome> {
    outcomes(record).filter(|outcome| outcome.status == Status::Ok)
}

/// Refuses a raw file that differs from its digest in its trial's line.
pub fn check_raw(record: &Record, outcome: &Outcome, path: &Path) -> Result<(), ExportError> {
    let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
    let now = sha256_of(path, &disklab_files::TRACE).map_err(ExportError::io("read", path))?;
    match outcome.files.get(name) {
        Some(recorded) if now.as_ref() != Some(recorded) => Err(ExportError::Read {
            path: path.to_owned(),
            message: format!(
                "it was changed after it was recorded, or is gone; `disklab same {0} {0}` lists \
                 such files",
                name_in_shell(record.folder())
            ),
        }),
        _ => Ok(()),
    }
}

/// Returns the first fields of a row: trial, key, axes, parameters and seed.
pub fn identity<'a>(outcome: &'a Outcome, parameters: Option<&'a str>) -> Vec<Field<'a>> {
    let mut fields = vec![Field::Text(&outcome.trial), text(outcome.key.as_deref())];
    fields.extend(AXES.map(|axis| text(outcome.cell.value(axis))));
    fields.extend([text(parameters), Field::Unsigned(outcome.seed_index.into())]);
    fields
}

/// Returns a text field, or an empty one for None.
pub fn text(text: Option<&str>) -> Field<'_> {
    text.map_or(Field::Nothing, Field::Text)
}

/// Returns the values of the axes that have no column, as a JSON object in the suite's order.
/// Returns None if the trial has no such axis.
pub fn parameters(outcome: &Outcome) -> Option<String> {
    let others = outcome.cell.0.iter().filter(|(axis, _)| !AXES.contains(&axis.as_str()));
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let pairs: Vec<String> =
        others.map(|(axis, value)| format!("{}:{}", quoted(axis), quoted(value))).collect();
    (!pairs.is_empty()).then(|| format!("{{{}}}", pairs.join(",")))
}
