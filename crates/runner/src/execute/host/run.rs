//! Trials on this machine, one at a time.

use super::prepared::Prepared;
use super::settings::Host;
use super::{duration, trial};
use crate::describe::facts;
use crate::describe::host::{order, plan};
use crate::error::{Error, Result};
use crate::execute::executor::{Event, Events, Executor, Summary};
use crate::execute::tally::{Tally, interrupted, note};
use crate::interpret::fault;
use crate::interpret::host::noted;
use crate::interpret::outcome::not_run;
use disklab_config::Trial;
use disklab_record::{Outcome, RecordWriter, Status};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

fn failed(trial: &Trial, error: &Error) -> Outcome {
    let fault = Some(fault::of_error(error));
    Outcome { fault, ..not_run(trial, Status::Failed, error.to_string()) }
}

impl Executor for Host {
    fn run_trials(
        &self,
        trials: &[Trial],
        writer: &RecordWriter,
        events: Events,
    ) -> Result<Summary> {
        let tally = Tally::new(events);
        let obstacle =
            |trial: &Trial| facts::obstacle(trial).or_else(|| plan::obstacle(trial, &self.place));
        let possible = tally.possible(trials, writer, &obstacle)?;
        let mut prepared = Prepared::new(self, writer.folder());
        let mut result = Ok(());
        // Choices that this machine's kernel lacks, with the reasons.
        let mut lacking = BTreeMap::new();
        for (index, trial) in order::in_blocks(possible, self.order).into_iter().enumerate() {
            if self.is_over(index) {
                break;
            }
            let missing = plan::choices(trial)
                .iter()
                .find_map(|value| lacking.get(plan::choice(value)).cloned());
            let done = match missing {
                Some(reason) => note(writer, not_run(trial, Status::Skipped, reason)),
                None => self.one(trial, &mut prepared, writer, &mut lacking, events),
            };
            match done {
                Ok(outcome) => tally.ended(&outcome),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        // The disks are given back as they were, also after an error.
        let undone = prepared.undo(&mut |news| events(Event::Undoing { news }));
        result.and(undone).map(|()| tally.summary())
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
        writer: &RecordWriter,
        lacking: &mut BTreeMap<String, String>,
        events: Events,
    ) -> Result<Outcome> {
        if self.stop.load(Ordering::Relaxed) {
            return note(writer, interrupted(trial));
        }
        let trial = match prepared.ready(trial, events) {
            Ok(trial) => trial,
            Err(Error::Interrupted) => return note(writer, interrupted(trial)),
            // No other trial could run either. The trial stays to be run when the disk is back.
            Err(error @ (Error::OtherDisk { .. } | Error::NoDisk { .. })) => return Err(error),
            Err(error) if error.is_of_all_trials() => return Err(error),
            Err(error) => return note(writer, failed(trial, &error)),
        };
        events(Event::Began { trial: &trial });
        let raw = writer.begin(&trial.id)?;
        let (path, record) = (prepared.path(), writer.folder());
        let outcome = match trial::measure(self, &trial, path, raw.path(), record, events) {
            Ok(outcome) if outcome.status == Status::Interrupted => return note(writer, outcome),
            Ok(outcome) => outcome,
            Err(error @ Error::NotUndone { .. }) => {
                writer.finish(raw, failed(&trial, &error))?;
                return Err(error);
            }
            // No other trial has room either.
            Err(error) if error.is_of_all_trials() => return Err(error),
            Err(error) => failed(&trial, &error),
        };
        prepared.used(&trial);
        lacking.extend(noted::lacking(raw.path()));
        Ok(writer.finish(raw, outcome)?)
    }
}
