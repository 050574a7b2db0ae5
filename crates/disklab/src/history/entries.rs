//! The records of a history, and their order.

use std::collections::BTreeSet;
use std::path::Path;

use disklab_record::Record;

use crate::exit::{Failure, mistaken};
use crate::records;
use crate::screen::Screen;

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    /// Time at which each run began.
    Date,
    /// Version of the kernel.
    Kernel,
}

/// A record of the history.
pub struct Entry {
    pub name: String,
    pub record: Record,
    pub kernels: String,
    /// Label in pictures: a date or a kernel.
    pub word: String,
}

/// Finds the named records. The name of a suite selects all of its records.
pub fn find(targets: &[String], by: Order, screen: &Screen) -> Result<Vec<Entry>, Failure> {
    let mut all = Vec::new();
    for target in targets {
        match records::find(target) {
            Ok(folder) => {
                all.push(entry(&folder, by)?);
                let others = records_of_suite(target, by, screen).len();
                if others > 0 {
                    screen.remark(&format!(
                        "{target} is taken as the record of that name; {} of a suite of that name",
                        match others {
                            1 => "one record is also".to_owned(),
                            _ => format!("{others} records are also"),
                        }
                    ));
                }
            }
            Err(failure) => {
                let found = records_of_suite(target, by, screen);
                if found.is_empty() {
                    return Err(mistaken!(
                        "no record is of a suite `{}`, and {failure}",
                        target.escape_debug()
                    ));
                }
                all.extend(found);
            }
        }
    }
    for entry in &all {
        records::remark_on(&entry.record, screen);
    }
    let mut seen = BTreeSet::new();
    all.retain(|entry| {
        let folder = entry.record.folder();
        seen.insert(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
    });
    if all.len() < 2 {
        return Err(mistaken!(
            "found one record only, {}; a history needs two or more: run the suite again",
            all.first().map_or("none", |entry| entry.name.as_str())
        ));
    }
    Ok(all)
}

/// Returns the records of a suite in ./records. Unreadable records are left out with a remark.
fn records_of_suite(suite: &str, by: Order, screen: &Screen) -> Vec<Entry> {
    let mut found = Vec::new();
    for name in records::names() {
        match entry(&Path::new(records::FOLDER).join(&name), by) {
            Ok(entry) if entry.record.manifest().suite.name == suite => found.push(entry),
            Ok(_) => {}
            Err(failure) => screen.remark(&format!("{name} is left out: {failure}")),
        }
    }
    found
}

fn entry(folder: &Path, by: Order) -> Result<Entry, Failure> {
    let record = Record::open(folder)?;
    let manifest = record.manifest();
    let kernels: Vec<&str> =
        manifest.kernels.iter().map(|kernel| kernel.version.as_str()).collect();
    let kernels = kernels.join(", ");
    let word = match by {
        // Day and minute: `2026-01-02 03:04`.
        Order::Date => manifest.created.replace('T', " ").chars().take(16).collect(),
        Order::Kernel if kernels.is_empty() => "unknown".to_owned(),
        Order::Kernel => kernels.clone(),
    };
    Ok(Entry { name: records::name_of(folder), kernels, word, record })
}

/// Sorts records by date, or by the versions of their kernels.
pub fn sort(entries: &mut [Entry], by: Order) {
    entries.sort_by(|one, other| {
        let created = |entry: &Entry| entry.record.manifest().created.clone();
        // Records of the same second keep the order in which they were named.
        let by_date = created(one).cmp(&created(other));
        match by {
            Order::Date => by_date,
            Order::Kernel => version(&one.kernels).cmp(&version(&other.kernels)).then(by_date),
        }
    });
}

/// Splits a version into numbers and words, so that 7.10 comes after 7.9, and 7.4-rc1 before 7.4.
fn version(text: &str) -> Vec<(bool, u64, String)> {
    let parts = text.split(['.', '-', '+', ' ', ',']).filter(|part| !part.is_empty());
    let mut numbers: Vec<(bool, u64, String)> = parts
        .map(|part| {
            if let Ok(number) = part.parse() {
                return (true, number, String::new());
            }
            let digits = part.trim_start_matches(|letter: char| !letter.is_ascii_digit());
            (!part.starts_with("rc"), digits.parse().unwrap_or(0), part.to_owned())
        })
        .collect();
    numbers.push((true, 0, String::new()));
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        let mut all = ["7.10.1", "7.4", "7.9", "7.4-rc2", "7.4-rc10", "7.4.1"];
        all.sort_by_key(|text| version(text));
        assert_eq!(all, ["7.4-rc2", "7.4-rc10", "7.4", "7.4.1", "7.9", "7.10.1"]);
    }
}
