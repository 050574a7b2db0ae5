//! Threads beside a trial. Each works until it is ended.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A thread that returns a value in the end.
#[derive(Debug)]
pub struct WatchThread<T> {
    over: Sender<()>,
    thread: JoinHandle<io::Result<T>>,
}

/// The thread's side of the end.
#[derive(Debug)]
pub struct Over(Receiver<()>);

impl Over {
    /// Waits for `time`, or less if the thread is ended before. Returns whether it is ended.
    pub fn within(&self, time: Duration) -> bool {
        self.0.recv_timeout(time) != Err(RecvTimeoutError::Timeout)
    }
}

impl<T: Send + 'static> WatchThread<T> {
    pub fn start(
        name: &str,
        work: impl FnOnce(&Over) -> io::Result<T> + Send + 'static,
    ) -> io::Result<Self> {
        let (over, told) = mpsc::channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || work(&Over(told)))?;
        Ok(Self { over, thread })
    }

    /// Ends the thread, and waits for its result.
    pub fn end(self) -> io::Result<T> {
        // A thread that has ended by itself no longer receives.
        let _ = self.over.send(());
        let name = self.thread.thread().name().unwrap_or_default().to_owned();
        let panicked = |_| Err(io::Error::other(format!("the thread `{name}` panicked")));
        self.thread.join().unwrap_or_else(panicked)
    }
}
