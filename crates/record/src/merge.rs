//! Records of parts of one suite, put together: what a run of all of them would have left.

mod agree;
mod choose;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use choose::Chosen;
pub use choose::Conflict;
pub(crate) use choose::STATUS;

use crate::error::StoreError;
use crate::lock;
use crate::manifest::{Manifest, Mismatch};
use crate::name;
use crate::outcome::Outcome;
use crate::raw::copy_contents;
use crate::record::Record;
use crate::sync;
use crate::writer::prepare;

/// A record that another was merged from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// Its folder's name.
    pub record: String,
    pub created: String,
    /// How many of the trials are from there.
    pub trials: usize,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Trials of the new record.
    pub trials: usize,
    /// All that the suite asks for.
    pub of: usize,
    /// Results that another record had too, byte for byte.
    pub duplicates: usize,
    /// Trials that failed or were not run in one record, and have a result in another.
    pub superseded: usize,
    /// Raw files that are not what was recorded of them: another record's were taken.
    pub damaged: Vec<PathBuf>,
}

/// Why there is no record of all.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    #[error("there is no record to merge")]
    Nothing,
    #[error("{} holds results that were imported, which are of no suite", folder.display())]
    Imported { folder: PathBuf },
    #[error(
        "{} added seeds where verdicts were open, which depends on the results of all; only whole runs can be merged",
        folder.display()
    )]
    UntilDecided { folder: PathBuf },
    #[error("{} is being written; merge it when its run has ended", folder.display())]
    Written { folder: PathBuf },
    #[error(
        "{} and {} cannot be one record, for their trials could not be compared:{}{}",
        first.display(), second.display(), agree::listed(differences), agree::advice(differences)
    )]
    Differ { first: PathBuf, second: PathBuf, differences: Vec<Mismatch> },
    #[error(
        "the same trials with other bytes, which no order or machine explains (docs: CONTRIBUTING.md, Why two runs \
         differ); nothing was written:{}",
        choose::listed(.0)
    )]
    Conflicts(Vec<Conflict>),
    #[error(
        "{}/{file} was changed or removed after it was recorded, and no other of the records has it; nothing was written",
        raw.display()
    )]
    Changed { raw: PathBuf, file: String },
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Merges `records` into a new one in exactly this folder, which must not exist. It is whole, or
/// not there. `made` has what the new manifest says of itself: when and by which command.
pub fn merge(records: &[Record], to: &Path, made: &Made) -> Result<Merged, MergeError> {
    if to.exists() {
        return Err(StoreError::Exists { folder: to.to_owned() }.into());
    }
    records.iter().try_for_each(check)?;
    let all = agree::one(records)?;
    let chosen = choose::choose(records, &all)?;
    let mut manifest = all.manifest;
    manifest.command.clone_from(&made.command);
    let mut count: BTreeMap<usize, usize> = BTreeMap::new();
    for (record, _) in chosen.outcomes.iter().flatten() {
        *count.entry(*record).or_default() += 1;
    }
    let origin = |(at, record): (usize, &Record)| Origin {
        record: own_name(record.folder()),
        created: record.manifest().created.clone(),
        trials: count.get(&at).copied().unwrap_or_default(),
    };
    manifest.merged = records.iter().enumerate().map(origin).collect();
    let (text, parent) = prepare(to, &manifest)?;
    let part = parent.join(format!(".{}.{}.part", own_name(to), std::process::id()));
    let written = write(&part, &text, records, &chosen).and_then(|()| {
        fs::rename(&part, to).map_err(StoreError::io("rename", &part))?;
        sync::folder(parent).map_err(StoreError::io("sync", parent))
    });
    if written.is_err() {
        // What failed is told; that leftovers stay is seen.
        let _ = fs::remove_dir_all(&part);
    }
    written?;
    Ok(Merged {
        trials: manifest.trials.len(),
        of: manifest.part.as_ref().map_or(manifest.trials.len(), |part| part.of as usize),
        duplicates: chosen.duplicates,
        superseded: chosen.superseded,
        damaged: chosen.damaged,
    })
}

/// What a merge says of itself.
#[derive(Debug, Clone)]
pub struct Made {
    pub command: Vec<String>,
}

fn own_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| folder.display().to_string())
}

/// What no record can be, whatever the others are.
fn check(record: &Record) -> Result<(), MergeError> {
    let folder = record.folder().to_owned();
    if record.manifest().imported.is_some() {
        return Err(MergeError::Imported { folder });
    }
    if record.manifest().until_decided.is_some() {
        return Err(MergeError::UntilDecided { folder });
    }
    if lock::is_written(&folder)? {
        return Err(MergeError::Written { folder });
    }
    Ok(())
}

/// Of each trial that has run, in the order of the suite, the record that it is from and what it
/// says.
type Outcomes<'a> = Vec<Option<(usize, &'a Outcome)>>;

fn write(
    part: &Path,
    manifest: &str,
    records: &[Record],
    chosen: &Chosen,
) -> Result<(), StoreError> {
    let raw = part.join("raw");
    for folder in [part, &raw] {
        fs::create_dir(folder).map_err(StoreError::io("create", folder))?;
    }
    // What a record has that is written in its place; nobody holds it yet.
    let lock = part.join("lock");
    File::create_new(&lock).map_err(StoreError::io("create", &lock))?;
    let trials = part.join("trials.jsonl");
    let mut lines =
        io::BufWriter::new(File::create_new(&trials).map_err(StoreError::io("create", &trials))?);
    for (record, outcome) in chosen.outcomes.iter().chain(&chosen.again).flatten() {
        let mut outcome = (*outcome).clone();
        if let Some(from) = records.get(*record).and_then(|record| record.raw(&outcome)) {
            let kept = name::attempt(&outcome.trial, 1);
            let to = raw.join(&kept);
            fs::create_dir(&to).map_err(StoreError::io("create", &to))?;
            copy_contents(&from, &to)?;
            outcome.raw = Some(format!("raw/{kept}"));
        }
        let line = outcome.to_line().map_err(io::Error::from);
        line.and_then(|line| lines.write_all(line.as_bytes()))
            .map_err(StoreError::io("write", &trials))?;
    }
    lines.flush().map_err(StoreError::io("write", &trials))?;
    let path = part.join("manifest.toml");
    let written = File::create_new(&path).and_then(|mut file| file.write_all(manifest.as_bytes()));
    written.map_err(StoreError::io("write", &path))?;
    sync::filesystem(part).map_err(StoreError::io("sync", part))
}

/// The manifest of all, and where the trials of each record are among those of the suite.
struct All {
    manifest: Manifest,
    /// Of each record, in the order of its trials.
    places: Vec<Vec<usize>>,
}
