//! Records, opened as far as they can be.

use std::path::PathBuf;

use disklab_store::{Record, StoreError};

/// Some records, and a sentence on each thing that could not be read.
#[derive(Debug)]
pub struct Records {
    pub all: Vec<Record>,
    pub lost: Vec<String>,
}

impl Records {
    /// An error where there is nothing to show of a record.
    pub fn open(folders: &[PathBuf]) -> Result<Self, StoreError> {
        let mut records = Self { all: Vec::new(), lost: Vec::new() };
        for folder in folders {
            let (record, lost) = Record::open_damaged(folder)?;
            records.lost.extend(lost);
            if record.torn_bytes() > 0 {
                records.lost.push(format!(
                    "{}: the last line of trials.jsonl is not whole; a run is writing it, or a crash cut it off",
                    folder.display()
                ));
            }
            records.all.push(record);
        }
        Ok(records)
    }
}
