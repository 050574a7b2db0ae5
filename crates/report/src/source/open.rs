//! Opens records as far as they can be read.

use std::path::PathBuf;

use disklab_record::{RawFiles, Record, RecordError};
use disklab_units::prose::count;

/// Records, and a sentence for each unreadable part.
#[derive(Debug)]
pub struct Records {
    pub all: Vec<Record>,
    pub lost: Vec<String>,
}

impl Records {
    /// Opens the records. Returns an error if a record has nothing to show.
    pub fn open(folders: &[PathBuf]) -> Result<Self, RecordError> {
        let mut records = Self { all: Vec::new(), lost: Vec::new() };
        for folder in folders {
            let (record, lost) = Record::open_damaged(folder)?;
            records.lost.extend(lost);
            records.lost.extend(record.torn());
            records.lost.extend(record.made_again());
            records.lost.extend(altered(&record));
            records.all.push(record);
        }
        Ok(records)
    }
}

/// Returns a sentence about raw output that was changed after its numbers were recorded. Pictures
/// show the changed output.
fn altered(record: &Record) -> Option<String> {
    let outcomes = record.outcomes().into_iter().filter_map(|(id, outcome)| Some((id, outcome?)));
    let mut raw = RawFiles::new(record);
    let files = |(id, outcome)| match raw.changed_beside_trace(outcome) {
        Ok(files) if files.is_empty() => None,
        Ok(files) => Some((id, files.join(", "))),
        Err(error) => Some((id, error.to_string())),
    };
    let found: Vec<(&str, String)> = outcomes.filter_map(files).collect();
    let (first, what) = found.first()?;
    let others = if found.len() == 1 {
        String::new()
    } else {
        format!(", and of {} more", count(found.len() - 1, "trial"))
    };
    Some(format!(
        "{}: raw output was changed or removed after the numbers were taken from it: {what} of \
         {first}{others}; numbers and verdicts are those that were recorded, pictures may differ",
        record.folder().display()
    ))
}
