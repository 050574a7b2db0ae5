//! The requests that a trial's disks served, decoded from its trace.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_guest::machine::disk_name;
use disklab_guest::names;
use disklab_guest::trace::{Entry, Served, entries};
use disklab_store::{Outcome, Record};

use crate::exit::Failure;
use crate::screen::Screen;

/// The names of [`csv`]'s fields. A mark is a row without a disk.
const HEAD: &str = "disk,op,fua,sector,sectors,submitted_ns,started_ns,ended_ns,mark";

pub fn print(record: &Record, outcome: &Outcome, screen: &Screen) -> Result<(), Failure> {
    let path = raw(record, outcome)?.join(names::REQUESTS);
    let bytes = read(&path)?;
    let damaged = |error: &dyn std::fmt::Display| Failure::mistaken(format!("{}: {error}", path.display()));
    let entries = entries(&bytes).map_err(|error| damaged(&error))?;
    if disklab_store::changed(record, outcome)?.iter().any(|file| file == names::REQUESTS) {
        screen.remark(&format!("{} was changed since it was recorded", path.display()));
    }
    let mut out = screen.out();
    writeln!(out, "{HEAD}")?;
    for entry in entries {
        match entry {
            Ok(entry) => writeln!(out, "{}", csv(&entry))?,
            Err(error) => {
                out.flush()?;
                return Err(damaged(&error));
            }
        }
    }
    Ok(out.flush()?)
}

/// Where a trial's raw output is.
pub fn raw(record: &Record, outcome: &Outcome) -> Result<PathBuf, Failure> {
    record
        .raw(outcome)
        .ok_or_else(|| Failure::mistaken(format!("trial {} left no raw output", outcome.trial)))
}

pub fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::mistaken(format!("cannot read {}: {error}", path.display())))
}

/// An entry as a row.
pub fn csv(entry: &Entry) -> String {
    match entry {
        Entry::Served(Served { disk, op, fua, sector, sectors, submitted, started, ended }) => {
            let op = format!("{op:?}").to_lowercase();
            let (disk, fua) = (disk_name(*disk), u8::from(*fua));
            format!("{disk},{op},{fua},{sector},{sectors},{submitted},{started},{ended},")
        }
        Entry::Mark { at, text } => format!(",mark,,,,{at},,,{}", quoted(text)),
    }
}

/// By RFC 4180.
fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_that_csv_could_misread_are_quoted() {
        let mark = |text: &str| csv(&Entry::Mark { at: 7, text: text.to_owned() });
        assert_eq!(mark("begin measure 0"), ",mark,,,,7,,,begin measure 0");
        assert_eq!(mark("a \"b\", c"), ",mark,,,,7,,,\"a \"\"b\"\", c\"");
    }

    #[test]
    fn every_row_has_all_fields() {
        for row in [csv(&Entry::Mark { at: 1, text: "end".to_owned() }), HEAD.to_owned()] {
            assert_eq!(row.matches(',').count(), 8, "{row}");
        }
    }
}
