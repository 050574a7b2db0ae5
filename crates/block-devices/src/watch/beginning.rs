//! The beginning of a phase: the ramp time after the first request since the announcement.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::watch::clock::monotonic;
use crate::watch::mark::ObservedMark;
use crate::watch::own;
use crate::watch::stat::{Counters, Stat};
use crate::watch::thread::WatchThread;
use disklab_protocol::Mark;

/// Interval between looks for the first request.
const EVERY: Duration = Duration::from_millis(2);

/// A thread that waits for the beginning of a phase. It returns the mark of the beginning, if the
/// phase began.
pub type Beginning = WatchThread<Option<ObservedMark>>;

/// Waits for the beginning of the phase in `announced`.
pub fn await_begin(
    counters: Arc<Counters>,
    announced: ObservedMark,
    ramp: Duration,
) -> io::Result<Beginning> {
    WatchThread::start("phase", move |over| {
        loop {
            let ended = over.within(EVERY);
            let disks = counters.read()?;
            if disks.iter().zip(&announced.disks).any(|(now, before)| has_arrived(now, before)) {
                let at_ns = monotonic();
                if ramp.is_zero() {
                    // All requests since the announcement belong to the phase.
                    return Ok(Some(ObservedMark { at_ns, mark: Mark::Begun, ..announced }));
                }
                if ended || over.within(ramp) {
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
    })
}

/// Returns whether a request has come to the disk since.
pub fn has_arrived(now: &Stat, before: &Stat) -> bool {
    now.requests() != before.requests() || now.in_flight > before.in_flight
}
