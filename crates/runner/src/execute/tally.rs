//! Records, counts and reports the outcomes of a run.

use super::executor::{Event, Events, Summary};
use crate::error::Result;
use crate::interpret::outcome::not_run;
use disklab_config::Trial;
use disklab_record::{Outcome, RecordWriter, Status};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Counts the outcomes of a run, and reports its events.
pub struct Tally<'a> {
    events: Events<'a>,
    summary: Mutex<Summary>,
}

impl<'a> Tally<'a> {
    pub fn new(events: Events<'a>) -> Self {
        Self { events, summary: Mutex::default() }
    }

    pub fn ended(&self, outcome: &Outcome) {
        self.summary.lock().unwrap_or_else(PoisonError::into_inner).count(outcome.status);
        (self.events)(Event::Ended { outcome });
    }

    pub fn summary(self) -> Summary {
        self.summary.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the trials that the record lacks and that can run here. The others are recorded with
    /// the reason.
    pub fn possible<'t>(
        &self,
        trials: &'t [Trial],
        writer: &RecordWriter,
        obstacle: &dyn Fn(&Trial) -> Option<String>,
    ) -> Result<Vec<&'t Trial>> {
        let remaining: BTreeSet<String> = writer.remaining().into_iter().collect();
        let mut possible = Vec::new();
        for trial in trials.iter().filter(|trial| remaining.contains(&trial.id)) {
            match obstacle(trial) {
                None => possible.push(trial),
                Some(reason) => {
                    self.ended(&note(writer, not_run(trial, Status::Skipped, reason))?);
                }
            }
        }
        Ok(possible)
    }
}

/// Records an outcome without raw output.
pub fn note(writer: &RecordWriter, outcome: Outcome) -> Result<Outcome> {
    writer.note(outcome.clone())?;
    Ok(outcome)
}

/// Returns the outcome of a trial that an interrupt kept from beginning.
pub fn interrupted(trial: &Trial) -> Outcome {
    not_run(trial, Status::Interrupted, "interrupted".to_owned())
}
