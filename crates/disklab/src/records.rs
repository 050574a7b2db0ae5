//! Finds records, in `./records` or at a path.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use disklab_config::read::nearest;
use disklab_protocol::names::{MANIFEST, TRIALS};
pub use disklab_record::record::{FOLDER, name_in_shell, name_of};
use disklab_record::{RawFiles, Record};
use disklab_report::Tally;
use itertools::Itertools;
use serde::Serialize;

use crate::derived::{DerivedDifference, LISTED};
use crate::exit::{Failure, mistaken};
use crate::screen::Screen;

/// Number of latest records that a message names if a record is not found.
const NAMED: usize = 5;

/// Returns the folder of a record, by its name in `./records` or by its path.
pub fn find(run: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(run);
    if path.is_dir() && (run.contains('/') || is_record_or_damaged(path)) {
        return Ok(path.to_owned());
    }
    // Shells complete names to this form.
    let run = run.strip_prefix("./").unwrap_or(run);
    let run = run.strip_prefix(FOLDER).map_or(run, |name| name.trim_matches('/'));
    let run = run.strip_suffix('/').unwrap_or(run);
    if run.contains('/') {
        return Err(mistaken!(
            "{}: there is no such folder; name a record in ./{FOLDER}, or give its path",
            path.display()
        ));
    }
    let path = Path::new(FOLDER).join(run);
    if !run.is_empty() && path.is_dir() {
        return Ok(path);
    }
    let names = names();
    let hint = match nearest(run, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => " (it has none); `disklab run SUITE` makes one".to_owned(),
        None => format!(
            " (the latest are {}); `disklab run SUITE` makes one",
            names.iter().rev().take(NAMED).join(", ")
        ),
    };
    Err(mistaken!("./{FOLDER} has no record `{}`{hint}", run.escape_debug()))
}

/// Opens a record by its name in `./records` or by its path.
pub fn open(run: &str, screen: &Screen) -> Result<Record, Failure> {
    open_at(&find(run)?, screen)
}

/// Opens the record in a folder, with the remarks of [`remark_on`].
pub fn open_at(folder: &Path, screen: &Screen) -> Result<Record, Failure> {
    let record = Record::open(folder)?;
    remark_on(&record, screen);
    Ok(record)
}

/// Says if `disklab repair` rebuilt lines of a record, if the last one is incomplete, and if
/// changes cannot be detected. Every verb that reads a record calls this; only a page says the
/// first two by itself.
pub fn remark_on(record: &Record, screen: &Screen) {
    for sentence in record.made_again().into_iter().chain(record.torn()) {
        screen.remark_once(sentence);
    }
    remark_if_unprotected(record, screen);
}

/// Warns that an older disklab wrote the record, so that later changes of it cannot be detected.
pub fn remark_if_unprotected(record: &Record, screen: &Screen) {
    let what = match record.manifest() {
        manifest if !manifest.is_protected() => {
            "without digests: later changes of its lines cannot be detected"
        }
        manifest if !manifest.has_last_line() => {
            "without a count of its lines: the loss of the last ones cannot be detected"
        }
        _ => return,
    };
    screen.remark_once(format!(
        "{} was written by an older disklab, {what}",
        name_of(record.folder())
    ));
}

/// Lists raw files of a record that differ from their recorded digests, each with its trial.
pub fn changed_files(record: &Record) -> Result<Vec<String>, Failure> {
    let (mut found, mut raw) = (Vec::new(), RawFiles::new(record));
    for (trial, outcome) in record.outcomes().into_iter().chain(record.again()) {
        let files = outcome.map(|outcome| raw.changed(outcome)).transpose()?;
        found.extend(files.into_iter().flatten().map(|file| format!("{trial}/{file}")));
    }
    Ok(found)
}

/// Prints changed raw files, and numbers that do not follow from raw files.
pub fn print_damage(
    changed: &[String],
    differ: &[DerivedDifference],
    out: &mut dyn Write,
) -> Result<(), Failure> {
    if !changed.is_empty() {
        writeln!(out, "\nraw files were changed or removed after they were recorded:")?;
        changed.iter().try_for_each(|file| writeln!(out, "  {file}"))?;
    }
    if !differ.is_empty() {
        writeln!(out, "\nnumbers do not follow from the raw files of their trials:")?;
        differ.iter().take(LISTED).try_for_each(|number| writeln!(out, "  {number}"))?;
        if differ.len() > LISTED {
            writeln!(out, "  and {} more", differ.len() - LISTED)?;
        }
    }
    Ok(())
}

/// Opens a record for one of its trials. Unreadable lines of other trials are reported and do not
/// matter.
pub fn with_trial(folder: &Path, trial: &str, screen: &Screen) -> Result<Record, Failure> {
    let error = match open_at(folder, screen) {
        Ok(record) => return Ok(record),
        Err(error) => error,
    };
    match Record::open_damaged(folder) {
        Ok((record, lost)) if record.outcome(trial).is_some() => {
            for sentence in lost {
                screen.remark(&format!("not read: {sentence}"));
            }
            remark_on(&record, screen);
            Ok(record)
        }
        _ => Err(error),
    }
}

/// Returns the name of a new record, or of a new folder beside records.
pub fn name_now(what: &str) -> String {
    format!("{what}-{}", jiff::Zoned::now().strftime("%Y%m%d-%H%M%S"))
}

/// Returns the folder of a new record in `./records`, beside the existing ones.
pub fn new_folder(what: &str) -> PathBuf {
    let first = name_now(what);
    let others = (2..=u32::MAX).map(|number| format!("{first}-{number}"));
    let names = std::iter::once(first.clone()).chain(others);
    let mut folders = names.map(|name| Path::new(FOLDER).join(name));
    folders.find(|folder| !folder.exists()).unwrap_or_default()
}

/// Returns true if a folder holds a record, or a record that lost its manifest.
pub fn is_record_or_damaged(folder: &Path) -> bool {
    is_record(folder) || folder.join(TRIALS).is_file()
}

/// Returns true if a folder holds a record.
pub fn is_record(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

/// Lists the names in `./records`, the oldest first: names end with the time at which the run
/// began.
pub fn names() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let records = entries.filter(|entry| is_record(&entry.path()));
    let mut names: Vec<_> = records
        .filter_map(|entry| Some((begun(&entry.path())?, entry.file_name().into_string().ok()?)))
        .collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

fn begun(folder: &Path) -> Option<std::time::SystemTime> {
    folder.join(MANIFEST).metadata().ok()?.modified().ok()
}

/// A record in `./records`, for a list.
#[derive(Debug, Default, Serialize)]
pub struct ListedRecord {
    pub name: String,
    pub suite: Option<String>,
    pub created: Option<String>,
    pub trials: Option<Tally>,
    /// The reason why the record cannot be read.
    pub error: Option<String>,
}

/// Lists all records, the oldest first.
pub fn list() -> Vec<ListedRecord> {
    let listed = |name: String| match Record::open(&Path::new(FOLDER).join(&name)) {
        Ok(record) => ListedRecord {
            name,
            suite: Some(record.manifest().suite.name.clone()),
            created: Some(record.manifest().created.clone()),
            trials: Some(Tally::new(&record)),
            error: None,
        },
        Err(error) => {
            ListedRecord { name, error: Some(error.to_string()), ..ListedRecord::default() }
        }
    };
    names().into_iter().map(listed).collect()
}
