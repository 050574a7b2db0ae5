//! The description of a run, and the data that its threads share.

use crate::Failure;
use crate::books::Books;
use disklab_config::fsload::Fsload;
use disklab_units::Seed;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The description of a run.
pub struct LoadRun<'a> {
    pub load: &'a Fsload,
    /// The folder in which its files were laid out ([`crate::layout::lay_out`]).
    pub root: &'a Path,
    pub seed: Seed,
    /// Time before operations are counted.
    pub ramp: Duration,
    pub length: Duration,
    /// A flag that ends the run early.
    pub stop: &'a AtomicBool,
    pub surroundings: &'a dyn Surroundings,
}

/// The differences between a guest and a real machine.
pub trait Surroundings: Sync {
    /// Prepares a thread of the engine. Each thread calls it first.
    fn thread_begins(&self) {}

    /// Waits until an operation has had its processor time. Returns the moment at which that time
    /// began.
    fn processor(&self) -> Instant {
        Instant::now()
    }

    /// Returns whether fsynced files have to be noted.
    fn notes_promises(&self) -> bool {
        false
    }

    /// Notes that all promises up to this number are made or taken back.
    fn promised(&self, _number: u64) -> Result<(), Failure> {
        Ok(())
    }
}

/// Data that all threads share.
pub struct Shared<'a> {
    pub run: &'a LoadRun<'a>,
    /// The window in which operations are counted: its begin and its end.
    pub window: (Instant, Instant),
    pub books: Mutex<Books>,
    pub stop: AtomicBool,
    pub failure: Mutex<Option<Failure>>,
}

impl Shared<'_> {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    pub fn is_over(&self) -> bool {
        let told = self.stop.load(Ordering::Relaxed) || self.run.stop.load(Ordering::Relaxed);
        told || Instant::now() >= self.window.1
    }

    /// Records the failure of a thread and stops all threads. The first failure is the trial's.
    pub fn fail(&self, failure: Failure) {
        locked(&self.failure).get_or_insert(failure);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// Locks a mutex even if a thread panicked with it: that thread has failed the run by itself.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
