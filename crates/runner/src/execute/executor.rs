//! Executors run trials: in guests in virtual time ([`super::run::Run`]), on this machine's own
//! disks ([`super::host::Host`]), or in the fast model ([`super::model::Model`]).

use crate::error::Result;
use disklab_block_devices::change::UndoNews;
use disklab_config::Trial;
use disklab_record::{Outcome, RecordWriter, Status};
use disklab_units::Nanos;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Sync);

pub trait Executor {
    /// Runs those of `trials` that remain to be recorded. An error ends the run; what was recorded
    /// stays.
    fn run_trials(
        &self,
        trials: &[Trial],
        writer: &RecordWriter,
        events: Events,
    ) -> Result<Summary>;

    /// Returns the flag that ends the run, set by a signal handler for example.
    fn stop(&self) -> &'static AtomicBool;

    /// Returns the time after which no trial begins.
    fn deadline(&self) -> Option<Instant>;

    fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Returns true if the trial at `index` of those to run must not begin. The first one always
    /// begins: preparations may take longer than the budget, and a run that is resumed with the
    /// same budget would never get further.
    fn is_over(&self, index: usize) -> bool {
        index > 0 && self.is_past_deadline()
    }

    /// Returns the number of trials at a time.
    fn jobs(&self) -> usize;

    /// Estimates the time of a trial.
    fn wall(&self, trial: &Trial) -> Duration;

    /// Estimates the time to make the contents that a trial begins on.
    fn preparing(&self, trial: &Trial) -> Duration;
}

/// An event of a run, sent as it happens, from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The disks of an array are being prepared, or looked up in the cache.
    Preparing { array: &'a str },
    /// Another disklab is preparing these disks, and this one waits.
    Waiting { array: &'a str },
    /// The disks exist. `fresh` is true if they were not in the cache.
    Prepared { array: &'a str, fresh: bool },
    /// A trial begins.
    Began { trial: &'a Trial },
    /// Progress: virtual time since the guest's boot, and whether the measurement has begun.
    Moved { trial: &'a Trial, now: Nanos, measured: bool },
    /// A trial has ended, or is skipped.
    Ended { outcome: &'a Outcome },
    /// A change of this machine was undone after a trial, could not be undone, or is waited for.
    Undoing { news: UndoNews<'a> },
}

/// Summary of a run's trials.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    pub interrupted: usize,
}

impl Summary {
    pub(crate) fn count(&mut self, status: Status) {
        *match status {
            Status::Ok => &mut self.ok,
            Status::Failed => &mut self.failed,
            Status::Skipped => &mut self.skipped,
            Status::Interrupted => &mut self.interrupted,
            Status::NotNeeded => return,
        } += 1;
    }
}
