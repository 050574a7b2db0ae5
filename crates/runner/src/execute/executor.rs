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

    /// Set, by a signal handler say, to end the run.
    fn stop(&self) -> &'static AtomicBool;

    /// No trial begins after that.
    fn deadline(&self) -> Option<Instant>;

    fn is_past_deadline(&self) -> bool {
        self.deadline().is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Trials at a time.
    fn jobs(&self) -> usize;

    /// How long a trial takes, roughly.
    fn wall(&self, trial: &Trial) -> Duration;

    /// How long it takes to make what it begins on.
    fn preparing(&self, trial: &Trial) -> Duration;
}

/// An event of a run, sent as it happens, from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The disks of an array are being prepared, or looked for in the cache.
    Preparing { array: &'a str },
    /// Another disklab is preparing them; this one waits for it.
    Waiting { array: &'a str },
    /// The disks are there; `fresh` if they were not in the cache.
    Prepared { array: &'a str, fresh: bool },
    /// A trial begins.
    Began { trial: &'a Trial },
    /// Virtual time since the guest's boot, and whether what counts has begun.
    Moved { trial: &'a Trial, now: Nanos, measured: bool },
    /// A trial has ended, or is left out.
    Ended { outcome: &'a Outcome },
    /// Something of this machine is again what it was before a trial, or could not be made so, or
    /// is waited for.
    Undoing { news: UndoNews<'a> },
}

/// How a run's trials ended.
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
