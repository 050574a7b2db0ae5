//! Trials on this machine's own disks, or on a filesystem that it has.
//!
//! One at a time, each by a first process of its own that does what a guest's does
//! ([`disklab_guest::init::host`]). All that is changed is in a journal before it is, and is undone
//! from there, in the same way after a trial that ended well as after one that was killed.

pub mod account;
mod counted;
pub mod disturbance;
mod duration;
mod first;
mod noted;
mod order;
mod plan;
mod prepared;
mod script;
mod traced;
mod trial;

pub use plan::obstacle;
pub use prepared::{name, room_at};
pub use script::{script, time};

use crate::error::{Error, Result};
use crate::executor::{Events, Executor};
use crate::guest::Timeouts;
use crate::run::{Event, Summary};
use crate::{facts, not_run};
use disklab_block_devices::{Allow, Disk};
use disklab_config::Trial;
use disklab_record::{Outcome, Status, Writer};
use disklab_units::Nanos;
use prepared::Prepared;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a run on this machine needs besides its trials.
#[derive(Debug)]
pub struct Host {
    /// `disklab` itself, which is the first process too.
    pub program: PathBuf,
    pub place: Place,
    /// Nobody else's: what is made in the kernel for its trials has it ([`name`]).
    pub name: String,
    /// Where it is noted what is changed.
    pub state: PathBuf,
    /// Whether every request of the disks is noted.
    pub trace: bool,
    /// Before each trial nothing of ours runs for so long.
    pub rest: Nanos,
    /// A load runs until it is steady before it is measured, for so long at most; unless said, a
    /// few times as long as it is measured.
    pub warm_up: Option<Nanos>,
    /// The order of trials is drawn by it.
    pub order: u32,
    /// No trial begins after that.
    pub deadline: Option<Instant>,
    pub timeouts: Timeouts,
    pub stop: &'static AtomicBool,
}

/// What trials are carried out on.
#[derive(Debug, Clone)]
pub enum Place {
    /// Whole disks or partitions, in the order of the trials' devices. What was on them is gone.
    Disks { disks: Vec<Disk>, permission: Permission },
    /// In a folder of a filesystem that is there, or on one file that is only read; with the disks
    /// below it, as far as they are known.
    At { path: PathBuf, disks: Vec<Disk>, uuid: Option<String> },
}

/// What the user said twice.
#[derive(Debug, Clone)]
pub struct Permission {
    pub allow: Allow,
    /// Disks that may be written although they hold something.
    pub overwrite: Vec<PathBuf>,
}

impl Place {
    pub fn disks(&self) -> &[Disk] {
        match self {
            Self::Disks { disks, .. } | Self::At { disks, .. } => disks,
        }
    }
}

impl Executor for Host {
    fn run_trials(&self, trials: &[Trial], writer: &Writer, events: Events) -> Result<Summary> {
        let remaining = writer.remaining();
        let mut summary = Summary::default();
        let mut possible = Vec::new();
        for trial in trials.iter().filter(|trial| remaining.contains(&trial.id)) {
            match facts::obstacle(trial).or_else(|| obstacle(trial, &self.place)) {
                Some(reason) => {
                    let outcome = not_run(trial, Status::Skipped, reason);
                    writer.note(outcome.clone())?;
                    summary.count(outcome.status);
                    events(Event::Ended { outcome: &outcome });
                }
                None => possible.push(trial),
            }
        }
        let mut prepared = Prepared::new(self, writer.folder());
        let mut result = Ok(());
        // What this machine's kernel does not have, and why not.
        let mut lacking = BTreeMap::new();
        for trial in order::of(possible, self.order) {
            if self.is_past_deadline() {
                break;
            }
            let missing = plan::choices(trial)
                .iter()
                .find_map(|value| lacking.get(noted::choice(value)).cloned());
            let done = match missing {
                Some(reason) => note(writer, not_run(trial, Status::Skipped, reason)),
                None => self.one(trial, &mut prepared, writer, &mut lacking, events),
            };
            match done {
                Ok(outcome) => {
                    summary.count(outcome.status);
                    events(Event::Ended { outcome: &outcome });
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        // Also after an error: the disks are given back as they were taken.
        let undone = prepared.undo(&mut |news| events(Event::Undoing { news }));
        result.and(undone).map(|()| summary)
    }

    fn stop(&self) -> &'static AtomicBool {
        self.stop
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn jobs(&self) -> usize {
        1
    }

    fn wall(&self, trial: &Trial) -> Duration {
        duration::wall(self, trial)
    }

    fn preparing(&self, trial: &Trial) -> Duration {
        duration::preparing(self, trial)
    }
}

impl Host {
    fn one(
        &self,
        trial: &Trial,
        prepared: &mut Prepared,
        writer: &Writer,
        lacking: &mut BTreeMap<String, String>,
        events: Events,
    ) -> Result<Outcome> {
        let interrupted = || not_run(trial, Status::Interrupted, "interrupted".to_owned());
        if self.stop.load(Ordering::Relaxed) {
            return note(writer, interrupted());
        }
        let trial = match prepared.ready(trial, events) {
            Ok(trial) => trial,
            Err(Error::Interrupted) => return note(writer, interrupted()),
            // No other trial could be either. It stays to be run when the disk is back.
            Err(error @ (Error::OtherDisk { .. } | Error::NoDisk { .. })) => return Err(error),
            Err(error) => return note(writer, not_run(trial, Status::Failed, error.to_string())),
        };
        events(Event::Began { trial: &trial });
        let raw = writer.begin(&trial.id)?;
        let outcome = match self.measure(&trial, prepared.at(), raw.path(), writer.folder(), events)
        {
            Ok(outcome) if outcome.status == Status::Interrupted => return note(writer, outcome),
            Ok(outcome) => outcome,
            Err(error @ Error::NotUndone { .. }) => {
                writer.finish(raw, not_run(&trial, Status::Failed, error.to_string()))?;
                return Err(error);
            }
            Err(error) => not_run(&trial, Status::Failed, error.to_string()),
        };
        prepared.used(&trial);
        lacking.extend(noted::lacking(raw.path()));
        Ok(writer.finish(raw, outcome)?)
    }
}

fn note(writer: &Writer, outcome: Outcome) -> Result<Outcome> {
    writer.note(outcome.clone())?;
    Ok(outcome)
}
