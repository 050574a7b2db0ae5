//! sync(2) every so often.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Goes on until it is dropped.
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
        // It can only have ended well.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
