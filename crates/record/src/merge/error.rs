//! Reasons why records cannot be merged.

use std::fmt;
use std::path::PathBuf;

use disklab_units::prose::count;

use crate::error::RecordError;
use crate::manifest::SETTINGS;
use crate::mismatch::Mismatch;

/// A reason why records cannot be merged.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("no record to merge; name the folders of two records or more")]
    Nothing,
    #[error(
        "{} has imported results, which belong to no suite; import all files into one record",
        folder.display()
    )]
    Imported { folder: PathBuf },
    #[error(
        "{} is of a run with --until-decided, whose seeds depend on the results of the whole run; \
        merge runs with --seeds alone",
        folder.display()
    )]
    UntilDecided { folder: PathBuf },
    #[error("{} is being written; merge it when its run has ended", folder.display())]
    Written { folder: PathBuf },
    #[error(
        "{} and {} cannot be one record, for their trials could not be compared:{}{}",
        first.display(), second.display(), differing(differences), advice(differences)
    )]
    Differ { first: PathBuf, second: PathBuf, differences: Vec<Mismatch> },
    #[error(
        "the records have the same trials with different bytes, which neither the order of trials \
        nor the machine explains; nothing was written; see docs/DEBUGGING.md, Why two runs \
        differ:{}",
        listed(.0)
    )]
    Conflicts(Vec<Conflict>),
    #[error(
        "{}/{file} was changed or removed after it was recorded, and no other record has it; \
        nothing was written; restore the file from a copy, or leave this record out",
        raw.display()
    )]
    Changed { raw: PathBuf, file: String },
    #[error(transparent)]
    Store(#[from] RecordError),
}

fn differing(differences: &[Mismatch]) -> String {
    let line = |Mismatch { what, recorded, now }: &Mismatch| {
        format!("\n  {what}: {recorded} in the first, {now} in the second")
    };
    differences.iter().map(line).collect()
}

/// Returns advice for records of parts of one suite whose settings differ, else nothing.
fn advice(differences: &[Mismatch]) -> &'static str {
    if differences.iter().any(|difference| difference.what == SETTINGS) {
        "\nrecords of one suite have the same --set, and differ in --seeds, --shard or --trial; \
        `disklab report` and `compare` take others as several records"
    } else {
        ""
    }
}

/// A trial that two records have, with different results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    pub trial: String,
    pub key: Option<String>,
    /// The raw file that differs, or the field of the trial's line.
    pub file: String,
    pub first: PathBuf,
    pub second: PathBuf,
}

impl fmt::Display for Conflict {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self { trial, key, file, first, second } = self;
        let key = key.as_ref().map_or_else(String::new, |key| format!(" ({key})"));
        let (first, second) = (first.display(), second.display());
        write!(out, "{trial}{key}: {file} differs between {first} and {second}")
    }
}

/// Largest number of conflicts that are listed one by one.
const MOST_TOLD: usize = 20;

fn listed(conflicts: &[Conflict]) -> String {
    let lines = conflicts.iter().take(MOST_TOLD).map(|conflict| format!("\n  {conflict}"));
    let more = conflicts.len().saturating_sub(MOST_TOLD);
    let rest = (more > 0).then(|| format!("\n  and {} more", count(more, "conflict")));
    lines.chain(rest).collect()
}
