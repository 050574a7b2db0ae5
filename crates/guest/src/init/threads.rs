//! Threads of the first process, and their shared state.

use super::steps::Failure;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Runs `work` in a thread of its own. The message of a failure begins with `step`.
pub fn spawn<T: Send + 'static>(
    step: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    Builder::new().spawn(work).map_err(|e| format!("{step}: starting a thread: {e}"))
}

/// Locks a mutex. A thread that panicked while it held the mutex has failed by itself.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread that calls sync(2) at an interval, until this is dropped.
pub struct Syncing {
    until: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Syncing {
    pub fn start(every: Duration) -> Self {
        let (until, ended) = channel();
        let again = move || {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                rustix::fs::sync();
            }
        };
        Self { until: Some(until), thread: Some(std::thread::spawn(again)) }
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        self.until.take();
        // The thread can only have ended well.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
