//! The disk under test, as far as measuring needs it.

use disklab_disks::Op;
use disklab_units::{Bytes, Nanos};

use crate::error::Result;

/// A request. Sectors have 512 bytes; places and lengths are multiples of 4 KiB, but for a flush,
/// which has neither.
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

    /// This request and as many behind it as make `count`, side by side.
    pub(crate) fn in_sequence(self, count: u64) -> Vec<Self> {
        let sector = |index| self.sector + index * u64::from(self.sectors);
        (0..count).map(|index| Self { sector: sector(index), ..self }).collect()
    }
}

/// When a request was made and when it was done, by the clock of [`Target::now`].
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

    /// The latency in nanoseconds.
    pub(crate) fn nanos(self) -> f64 {
        self.latency().0 as f64
    }
}

/// The latency of each, in nanoseconds.
pub(crate) fn latencies(timed: &[Timed]) -> Vec<f64> {
    timed.iter().map(|timed| timed.nanos()).collect()
}

/// When they were done, in nanoseconds, rising.
pub(crate) fn ends(timed: &[Timed]) -> Vec<f64> {
    let mut done: Vec<f64> = timed.iter().map(|timed| timed.done.0 as f64).collect();
    done.sort_unstable_by(f64::total_cmp);
    done
}

/// A disk that can be asked, and a clock.
///
/// Nothing between the caller and the disk may keep or join data: what is read here is read from
/// the disk.
pub trait Target {
    fn bytes(&self) -> Bytes;

    /// Never runs backwards; where it begins does not matter.
    fn now(&self) -> Nanos;

    /// Leaves the disk alone for so long.
    fn idle(&mut self, time: Nanos);

    /// Keeps `depth` requests under way, a new one as soon as one is done, in the order given;
    /// waits for the last. Returns when each was made and done, in the order given.
    fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>>;
}
