//! Threads beside a trial, each of which works until it is told that it is over.

use std::io;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// A thread with what it has found out in the end.
#[derive(Debug)]
pub struct WatchThread<T> {
    over: Sender<()>,
    thread: JoinHandle<io::Result<T>>,
}

/// The thread's side: whether it is over.
#[derive(Debug)]
pub struct Over(Receiver<()>);

impl Over {
    /// Waits for so long, or less if it is over by then.
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

    /// Tells the thread that it is over, and waits for its end.
    pub fn end(self) -> io::Result<T> {
        // A thread that has ended by itself listens no more.
        let _ = self.over.send(());
        let name = self.thread.thread().name().unwrap_or_default().to_owned();
        let panicked = |_| Err(io::Error::other(format!("the thread `{name}` panicked")));
        self.thread.join().unwrap_or_else(panicked)
    }
}
