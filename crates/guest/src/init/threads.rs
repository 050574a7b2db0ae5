//! Threads of the first process, and what they share.

use super::steps::Failure;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Does `work` in a thread of its own. A failure begins with `step`.
pub fn spawn<T: Send + 'static>(
    step: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, Failure> {
    Builder::new().spawn(work).map_err(|e| format!("{step}: a thread: {e}"))
}

/// Locks a mutex. A thread that panicked while it held the mutex has failed by itself.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
