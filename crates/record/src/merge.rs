//! Merges records of parts of one suite into the record that a run of all parts would have left.

mod agree;
mod choose;
mod error;
mod pool;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use choose::Chosen;
pub(crate) use choose::STATUS;
pub use error::{Conflict, MergeError};

use crate::chain::Chain;
use crate::error::RecordError;
use crate::manifest::{Extension, Manifest, Origin};
use crate::raw::copy_contents;
use crate::record::Record;
use crate::{lock, name, sync, whole};

/// The result of a merge.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// Trials of the new record.
    pub trials: usize,
    /// Number of trials that the suite asks for.
    pub of: usize,
    /// Number of results that another record has too, byte for byte.
    pub duplicates: usize,
    /// Number of trials that failed or were not run in one record, and have a result in another.
    pub superseded: usize,
    /// Raw files that differ from the recorded digests, so that another record's were taken.
    pub damaged: Vec<PathBuf>,
    /// The first and the last seed of all, if the records have different seeds.
    pub pooled: Option<(u32, u32)>,
    /// Seeds that were begun when results of others could be seen, which counts as an addition
    /// after a look.
    pub extended: Vec<Extension>,
}

/// Merges `records` into a new one in exactly this folder, which must not exist. After a crash the
/// record is whole, or does not exist. `made` has the time and the command for the new manifest.
pub fn merge(records: &[Record], to: &Path, made: &Made) -> Result<Merged, MergeError> {
    if to.exists() {
        return Err(RecordError::Exists { folder: to.to_owned() }.into());
    }
    records.iter().try_for_each(check)?;
    let manifests = pool::with_all_seeds(records);
    let agreed = agree::agree(records, &manifests)?;
    let chosen = choose::choose(records, &agreed)?;
    let mut manifest = agreed.manifest;
    manifest.command.clone_from(&made.command);
    manifest.protect();
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
    let is_pooled = records.iter().any(|record| record.manifest().seeds() != manifest.seeds());
    whole::create(to, &manifest, sync::filesystem, |part| {
        write(part, records, &chosen, &manifest)
    })?;
    Ok(Merged {
        trials: manifest.trials.len(),
        of: manifest.trials_of_suite(),
        duplicates: chosen.duplicates,
        superseded: chosen.superseded,
        damaged: chosen.damaged,
        pooled: manifest.seeds().filter(|_| is_pooled),
        extended: manifest.extended,
    })
}

/// The command that merges, for the new manifest.
#[derive(Debug, Clone)]
pub struct Made {
    pub command: Vec<String>,
}

fn own_name(folder: &Path) -> String {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| folder.display().to_string())
}

/// Refuses records that cannot be merged with any others.
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

fn write(
    part: &Path,
    records: &[Record],
    chosen: &Chosen,
    manifest: &Manifest,
) -> Result<Chain, RecordError> {
    // A record that is written in place has this file. Nobody holds the lock yet.
    let lock = part.join(name::LOCK);
    File::create_new(&lock).map_err(RecordError::io("create", &lock))?;
    let trials = part.join(name::TRIALS);
    let mut lines =
        io::BufWriter::new(File::create_new(&trials).map_err(RecordError::io("create", &trials))?);
    let mut chain = manifest.chain();
    for (record, outcome) in chosen.outcomes.iter().chain(&chosen.again).flatten() {
        let mut outcome = (*outcome).clone();
        if let Some(from) = records.get(*record).and_then(|record| record.raw(&outcome)) {
            let raw = format!("raw/{}", name::attempt(&outcome.trial, 1));
            let to = part.join(&raw);
            fs::create_dir(&to).map_err(RecordError::io("create", &to))?;
            copy_contents(&from, &to)?;
            outcome.raw = Some(raw);
        }
        let line = outcome.to_line(&mut chain).map_err(io::Error::from);
        line.and_then(|line| lines.write_all(line.as_bytes()))
            .map_err(RecordError::io("write", &trials))?;
    }
    lines.flush().map_err(RecordError::io("write", &trials))?;
    Ok(chain)
}
