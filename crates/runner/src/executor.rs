//! What carries trials out: a guest in virtual time ([`crate::run::Run`]), or this machine on its
//! own disks ([`crate::host::Host`]).

use crate::error::Result;
use crate::run::{Event, Summary};
use disklab_config::Trial;
use disklab_record::Writer;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

pub type Events<'a> = &'a (dyn Fn(Event<'_>) + Sync);

pub trait Executor {
    /// Runs those of `trials` that remain to be recorded. An error ends the run; what was recorded
    /// stays.
    fn run_trials(&self, trials: &[Trial], writer: &Writer, events: Events) -> Result<Summary>;

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
