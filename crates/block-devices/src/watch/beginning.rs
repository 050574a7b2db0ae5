//! When a phase begins: so long behind the first request after its announcement.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::watch::clock::monotonic;
use crate::watch::mark::ObservedMark;
use crate::watch::own;
use crate::watch::stat::{Counters, Stat};
use disklab_protocol::Mark;

/// How often is looked for the first request.
const EVERY: Duration = Duration::from_millis(2);

/// A thread that waits for the beginning of a phase, and for nothing any more then.
#[derive(Debug)]
pub struct Beginning {
    over: Sender<()>,
    thread: JoinHandle<io::Result<Option<ObservedMark>>>,
}

impl Beginning {
    /// Of a phase that is announced by this mark.
    pub fn await_it(
        counters: Arc<Counters>,
        announced: ObservedMark,
        ramp: Duration,
    ) -> io::Result<Self> {
        let (over, told) = mpsc::channel();
        let wait = move || -> io::Result<Option<ObservedMark>> {
            let is_over = |time| told.recv_timeout(time) != Err(RecvTimeoutError::Timeout);
            loop {
                let ended = is_over(EVERY);
                let disks = counters.read()?;
                if disks.iter().zip(&announced.disks).any(|(now, before)| has_arrived(now, before))
                {
                    let at_ns = monotonic();
                    if ramp.is_zero() {
                        // All that has come since is of the phase.
                        return Ok(Some(ObservedMark { at_ns, mark: Mark::Begun, ..announced }));
                    }
                    if ended || is_over(ramp) {
                        return Ok(None);
                    }
                    let (at_ns, disks) = (monotonic(), counters.read()?);
                    let own_read = own::read_bytes();
                    return Ok(Some(ObservedMark { at_ns, mark: Mark::Begun, disks, own_read }));
                }
                if ended {
                    return Ok(None);
                }
            }
        };
        let thread = thread::Builder::new().name("phase".to_owned()).spawn(wait)?;
        Ok(Self { over, thread })
    }

    /// The phase is over: when it began, if it did.
    pub fn end(self) -> io::Result<Option<ObservedMark>> {
        // It waits no more if it has begun.
        let _ = self.over.send(());
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the thread that waits for a phase panicked")))
    }
}

/// Whether a request has come to the disk since.
pub fn has_arrived(now: &Stat, before: &Stat) -> bool {
    now.requests() != before.requests() || now.in_flight > before.in_flight
}
