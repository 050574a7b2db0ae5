//! Adds records of some of a suite's trials, made anywhere, to the record of all trials as they
//! come.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::error::RecordError;
use crate::fingerprint;
use crate::merge::STATUS;
use crate::mismatch::{Mismatch, listed};
use crate::outcome::{Outcome, Status};
use crate::record::Record;
use crate::writer::{RawFolder, RecordWriter};

/// The result of adding a record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Taken {
    /// Trials that have their outcome now.
    pub added: Vec<String>,
    /// Number of trials that already had the same outcome.
    pub known: usize,
}

/// A reason why a record was not added.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    #[error(
        "its trials could not be compared with the record's, since these settings differ:{}",
        listed(.0)
    )]
    Differ(Vec<Mismatch>),
    #[error("{}/{file} was changed after its trial ended; run the trial again", raw.display())]
    Changed { raw: PathBuf, file: String },
    #[error(
        "trial {trial} was recorded before, with other bytes in {file}, which neither the order of \
        trials nor the machine explains; see docs/DEBUGGING.md, Why two runs differ"
    )]
    Conflict { trial: String, file: String },
    #[error(transparent)]
    Store(#[from] RecordError),
}

impl RecordWriter {
    /// Adds the trials of `part` that ended, except those in `without`, and takes their raw output
    /// from it. A trial that already has its result is compared with it.
    pub fn take(&self, part: &Record, without: &BTreeSet<String>) -> Result<Taken, NotTaken> {
        let differences = self.manifest().mismatches_of_part(part.manifest());
        if !differences.is_empty() {
            return Err(NotTaken::Differ(differences));
        }
        let ended = part.outcomes().into_iter().filter_map(|(_, outcome)| outcome);
        let wanted = ended.filter(|outcome| {
            outcome.status != Status::Interrupted && !without.contains(&outcome.trial)
        });
        let wanted: Vec<Outcome> =
            wanted.map(|outcome| self.checked(part, outcome)).collect::<Result<_, _>>()?;
        let (new, known): (Vec<Outcome>, Vec<Outcome>) =
            wanted.into_iter().partition(|outcome| self.remains(&outcome.trial));
        self.compare(&known)?;
        let taken = Taken {
            added: new.iter().map(|outcome| outcome.trial.clone()).collect(),
            known: known.len(),
        };
        let moved = |outcome: Outcome| -> Result<_, RecordError> {
            let raw = part.raw(&outcome).map(|from| self.moved(&outcome.trial, &from));
            Ok((raw.transpose()?, outcome))
        };
        self.finish_all(new.into_iter().map(moved).collect::<Result<_, _>>()?)?;
        Ok(taken)
    }

    /// Moves raw output into the folder of a trial that remains.
    fn moved(&self, trial: &str, from: &Path) -> Result<RawFolder, RecordError> {
        let raw = self.begin(trial)?;
        fs::rename(from, raw.path()).map_err(RecordError::io("move", from))?;
        Ok(raw)
    }

    /// Returns the outcome if its trial is one of ours, and its raw output is as recorded.
    fn checked(&self, part: &Record, outcome: &Outcome) -> Result<Outcome, NotTaken> {
        let (recorded, now) = (self.key(&outcome.trial), outcome.key.as_deref());
        if recorded != now {
            let [recorded, now] = [recorded, now].map(|key| key.unwrap_or("none").to_owned());
            let what = format!("key of {}", outcome.trial);
            return Err(NotTaken::Differ(vec![Mismatch { what, recorded, now }]));
        }
        let Some(raw) = part.raw(outcome) else { return Ok(outcome.clone()) };
        if let Some(file) = fingerprint::changed(part, outcome)?.into_iter().next() {
            return Err(NotTaken::Changed { file, raw });
        }
        let files = fingerprint::digests(&raw)?;
        let mut names = outcome.files.keys().chain(files.keys());
        match names.find(|name| outcome.files.get(*name) != files.get(*name)) {
            Some(file) => Err(NotTaken::Changed { file: file.clone(), raw }),
            None => Ok(outcome.clone()),
        }
    }

    /// Checks trials that are recorded already: two machines may have run one trial, where one of
    /// them timed out. Their results must be the same.
    fn compare(&self, known: &[Outcome]) -> Result<(), NotTaken> {
        if known.is_empty() {
            return Ok(());
        }
        let record = Record::open(self.folder())?;
        for outcome in known {
            let Some(recorded) = record.outcome(&outcome.trial) else { continue };
            let conflict = |file: &str| {
                Err(NotTaken::Conflict { trial: outcome.trial.clone(), file: file.to_owned() })
            };
            let is_ok = |outcome: &Outcome| outcome.status == Status::Ok;
            if (is_ok(recorded) && outcome.fails_everywhere())
                || (recorded.fails_everywhere() && is_ok(outcome))
            {
                return conflict(STATUS);
            }
            // If one of them failed for another reason, its machine may be the cause.
            if !is_ok(recorded) || !is_ok(outcome) {
                continue;
            }
            let differs =
                |(name, digest): &(&String, &String)| recorded.files.get(*name) != Some(digest);
            if let Some((file, _)) = outcome.files.iter().find(differs) {
                return conflict(file);
            }
        }
        Ok(())
    }
}
