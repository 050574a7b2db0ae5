//! The interface of a disk under test.

use disklab_disks::Op;
use disklab_units::{Bytes, Nanos};

use crate::error::Result;

/// A request. Sectors have 512 bytes. Places and lengths are multiples of 4 KiB; a flush has
/// neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    pub op: Op,
    pub sector: u64,
    pub sectors: u32,
}

impl Probe {
    pub fn read(sector: u64, sectors: u32) -> Self {
        Self { op: Op::Read, sector, sectors }
    }

    pub fn write(sector: u64, sectors: u32) -> Self {
        Self { op: Op::Write, sector, sectors }
    }

    pub fn flush() -> Self {
        Self { op: Op::Flush, sector: 0, sectors: 0 }
    }

    /// Returns `count` adjacent requests of this size, beginning with this one.
    pub(crate) fn in_sequence(self, count: u64) -> Vec<Self> {
        let sector = |index| self.sector + index * u64::from(self.sectors);
        (0..count).map(|index| Self { sector: sector(index), ..self }).collect()
    }
}

/// Times at which a request was submitted and completed, by the clock of [`Target::now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    pub submitted: Nanos,
    pub done: Nanos,
}

impl Timed {
    pub(crate) const NEVER: Self = Self { submitted: Nanos::ZERO, done: Nanos::ZERO };

    pub fn latency(self) -> Nanos {
        self.done.saturating_sub(self.submitted)
    }

    /// Returns the latency in ns.
    pub(crate) fn nanos(self) -> f64 {
        self.latency().0 as f64
    }
}

/// Returns the latency of each request in ns.
pub(crate) fn latencies(timed: &[Timed]) -> Vec<f64> {
    timed.iter().map(|timed| timed.nanos()).collect()
}

/// Returns the completion times in ns, in ascending order.
pub(crate) fn ends(timed: &[Timed]) -> Vec<f64> {
    let mut done: Vec<f64> = timed.iter().map(|timed| timed.done.0 as f64).collect();
    done.sort_unstable_by(f64::total_cmp);
    done
}

/// A disk that serves requests, and a clock.
///
/// Nothing between the caller and the disk may cache or merge data: every read reaches the disk.
pub trait Target {
    fn bytes(&self) -> Bytes;

    /// Returns the present time, which never decreases; its origin does not matter.
    fn now(&self) -> Nanos;

    /// Sends no request to the disk for `time`.
    fn idle(&mut self, time: Nanos);

    /// Keeps `depth` requests under way, submits a new one as soon as one completes, in the order
    /// given, and waits for the last. Returns the times of each, in the order given.
    fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>>;
}
