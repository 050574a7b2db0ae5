//! Requests of others on the disks of a trial while nothing of ours runs.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::disk::Disk;
use crate::watch::stat::{Counters, Stat};

/// Length of one sleep; between two, the wait can be stopped.
const STEP: Duration = Duration::from_millis(50);
/// Largest activity of a disk at rest: busy for one part in `BUSY_PART` of the time, and `REQUESTS`
/// requests per second. A filesystem writes to its journal now and then.
const BUSY_PART: u64 = 100;
const REQUESTS: u64 = 5;

/// The activity of a disk in a time of rest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Activity {
    /// The kernel's name of the disk.
    pub name: String,
    pub within: Nanos,
    pub requests: u64,
    pub bytes: u64,
    pub busy: Nanos,
}

impl Activity {
    /// Returns the activity of a disk whose counters grew by `done` in this time.
    pub fn new(name: &str, within: Nanos, done: &Stat) -> Self {
        Self {
            name: name.to_owned(),
            within,
            requests: done.requests(),
            bytes: done.bytes(),
            busy: Nanos(done.busy_ms.saturating_mul(1_000_000)),
        }
    }

    /// Returns whether a trial that begins now would measure requests of others too.
    pub fn disturbs(&self) -> bool {
        let allowed = self.within.0.saturating_mul(REQUESTS) / 1_000_000_000;
        self.requests > allowed.max(1)
            || self.busy.0 > self.within.0 / BUSY_PART && self.requests > 1
    }
}

/// Waits for `time`, or less if `stop` is set, and returns each disk's activity in that time.
pub fn rest(disks: &[Disk], time: Duration, stop: &AtomicBool) -> io::Result<Vec<Activity>> {
    let counters = Counters::open(disks.iter().map(|disk| disk.name.as_str()))?;
    let (begun, before) = (Instant::now(), counters.read()?);
    while begun.elapsed() < time && !stop.load(Ordering::Relaxed) {
        thread::sleep(STEP.min(time.saturating_sub(begun.elapsed())));
    }
    let (within, after) = (Nanos(begun.elapsed().as_nanos() as u64), counters.read()?);
    let each = disks.iter().zip(after.iter().zip(&before));
    Ok(each
        .map(|(disk, (after, before))| Activity::new(&disk.name, within, &after.since(before)))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_rest_and_a_reader_is_not() {
        let of = |requests, busy_ms| {
            let done = Stat { reads: requests, busy_ms, ..Stat::default() };
            Activity::new("sdb", Nanos::from_secs(2), &done).disturbs()
        };
        assert!(!of(0, 0) && !of(10, 8));
        assert!(of(11, 8), "more than 5 requests a second");
        assert!(of(4, 200), "a tenth of the time");
        assert!(!of(1, 200), "one slow request: the heads may have been parked");
    }
}
