//! Runs trials in guests: all that a record lacks, several guests at a time.

use super::executor::{Event, Events, Executor, Summary};
use super::prepared::{self, Prepared};
use super::run::Run;
use super::share::share;
use super::tally::{Tally, interrupted, note};
use super::{scratch, trial};
use crate::describe::facts::MkfsTools;
use crate::error::{Error, Result};
use crate::estimate;
use crate::interpret::fault;
use crate::interpret::outcome::not_run;
use disklab_config::Trial;
use disklab_protocol::heartbeat::Heartbeat;
use disklab_record::outcome::{Cell, Fault};
use disklab_record::{Outcome, RecordWriter, Status};
use disklab_units::Nanos;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Returns the indices of the trials, grouped by key. Trials with the same key are one trial with
/// several names, for example if an axis goes over a parameter that only some policies have. Its
/// result is the result of each.
fn same(trials: &[&Trial], writer: &RecordWriter) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut same: Vec<Vec<usize>> = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        let known = writer.key(&trial.id).map(|key| *places.entry(key).or_insert(same.len()));
        match known.and_then(|place| same.get_mut(place)) {
            Some(others) => others.push(at),
            None => same.push(vec![at]),
        }
    }
    same
}

/// The reason why there are no disks, and whose fault that is.
type Unprepared = (String, Fault);

fn failed(trial: &Trial, reason: String, fault: Fault) -> Outcome {
    Outcome { fault: Some(fault), ..not_run(trial, Status::Failed, reason) }
}

impl Executor for Run {
    fn run_trials(
        &self,
        trials: &[Trial],
        writer: &RecordWriter,
        events: Events,
    ) -> Result<Summary> {
        let _in_use = self.hold_cache()?;
        scratch::sweep(&self.trials_folder())?;
        let tally = Tally::new(events);
        let trials = tally.possible(trials, writer, &|trial| self.obstacle(trial))?;
        let mkfs_tools = MkfsTools::find(&trials)?;
        let keys: Vec<Option<String>> = trials
            .iter()
            .map(|trial| prepared::key(trial, self.kernel(trial), &mkfs_tools))
            .collect::<Result<_>>()?;
        let disks = self.prepare(&trials, &keys, events)?;
        let same = same(&trials, writer);
        share(self.jobs, same.len(), &|i| {
            let mut first: Option<Outcome> = None;
            for (n, &at) in same[i].iter().enumerate() {
                let outcome = match &first {
                    Some(first) => {
                        let cell = Cell(trials[at].cell.clone());
                        writer.finish_as(&trials[at].id, cell, first)?
                    }
                    None if self.is_over(i + n) => return Ok(()),
                    None => {
                        let disks = keys[at].as_ref().map(|key| &disks[key]);
                        self.one(trials[at], disks, writer, events)?
                    }
                };
                tally.ended(&outcome);
                first =
                    first.or_else(|| Some(outcome).filter(|outcome| outcome.status == Status::Ok));
            }
            Ok(())
        })?;
        Ok(tally.summary())
    }

    fn stop(&self) -> &'static AtomicBool {
        self.stop
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn jobs(&self) -> usize {
        self.jobs
    }

    fn wall(&self, trial: &Trial) -> Duration {
        estimate::wall(trial)
    }

    fn preparing(&self, trial: &Trial) -> Duration {
        estimate::preparing(trial)
    }
}

impl Run {
    /// Prepares the disks of each key. If they could not be prepared, all their trials share the
    /// reason.
    fn prepare(
        &self,
        trials: &[&Trial],
        keys: &[Option<String>],
        events: Events,
    ) -> Result<BTreeMap<String, std::result::Result<Prepared, Unprepared>>> {
        let mut distinct: BTreeMap<&String, &Trial> = BTreeMap::new();
        for (trial, key) in trials.iter().zip(keys) {
            if let Some(key) = key {
                distinct.entry(key).or_insert(trial);
            }
        }
        let distinct: Vec<_> = distinct.into_iter().collect();
        let disks = Mutex::new(BTreeMap::new());
        share(self.jobs, distinct.len(), &|i| {
            let (key, trial) = distinct[i];
            let array = &trial.array.name;
            events(Event::Preparing { array });
            let waiting = &mut |_| events(Event::Waiting { array });
            let prepared = match prepared::get(self, trial, self.kernel(trial), key, waiting) {
                Err(error) if error.is_of_all_trials() => return Err(error),
                Err(Error::Interrupted | Error::Cache(disklab_kernels::Error::Interrupted)) => {
                    Err(("interrupted".to_owned(), Fault::Machine))
                }
                other => other.map_err(|error| (error.to_string(), fault::of_error(&error))),
            };
            if let Ok(Prepared { fresh, .. }) = prepared {
                events(Event::Prepared { array, fresh });
            }
            disks.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), prepared);
            Ok(())
        })?;
        Ok(disks.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn one(
        &self,
        trial: &Trial,
        disks: Option<&std::result::Result<Prepared, Unprepared>>,
        writer: &RecordWriter,
        events: Events,
    ) -> Result<Outcome> {
        if self.stop.load(Ordering::Relaxed) {
            return note(writer, interrupted(trial));
        }
        let disks = match disks {
            Some(Err((reason, fault))) => {
                return note(writer, failed(trial, reason.clone(), *fault));
            }
            Some(Ok(disks)) => Some(disks),
            None => None,
        };
        events(Event::Began { trial });
        let raw = writer.begin(&trial.id)?;
        let moved = &mut |beat: Heartbeat| {
            events(Event::Moved { trial, now: Nanos(beat.now), measured: beat.measured });
        };
        match trial::run(self, trial, self.kernel(trial), disks, raw.path(), moved) {
            Ok(outcome) if outcome.status == Status::Interrupted => note(writer, outcome),
            Ok(outcome) => Ok(writer.finish(raw, outcome)?),
            // No other trial has room either.
            Err(error) if error.is_of_all_trials() => Err(error),
            // The host lacks a file or a program for this trial. The next trial may run.
            Err(error) => Ok(writer.finish(raw, failed(trial, error.to_string(), Fault::Machine))?),
        }
    }
}
