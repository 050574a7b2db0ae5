//! The interface of a disk of any family: requests, completions and counters.

use std::ops::Range;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::event_log::DiskEvent;

/// The operation of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    Read,
    Write,
    /// All writes that completed before the flush was submitted are on the medium when it
    /// completes.
    Flush,
    Discard,
    WriteZeroes,
}

/// A request to a disk. Sectors have 512 bytes. The disk ignores the part of a request that lies
/// beyond its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The caller's own number for the request, which the [`Completion`] repeats. The disk does not
    /// interpret it.
    pub id: u32,
    pub op: Op,
    pub sector: u64,
    /// Number of sectors, or 0 for a flush.
    pub sectors: u32,
    /// Force Unit Access: the write completes when its data is on the medium, not when it is in the
    /// buffer.
    pub fua: bool,
}

impl Request {
    /// Returns the sectors of the request that lie below `size`, the disk's number of sectors.
    pub(crate) fn sectors_below(&self, size: u64) -> Range<u64> {
        let end = self.sector.saturating_add(u64::from(self.sectors));
        self.sector.min(size)..end.min(size)
    }
}

/// The completion of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completion {
    pub id: u32,
    pub at: Nanos,
    /// Time at which service began: the request left the disk's queue.
    pub started: Nanos,
}

/// A disk in virtual time.
///
/// The times that the caller passes never decrease from one call to the next. No call allocates
/// once the disk has seen its largest number of concurrent requests, except that an SSD's map
/// stores the contents of each block that becomes full.
pub trait Disk: Send {
    fn submit(&mut self, now: Nanos, request: Request);

    /// Returns the time at which to call [`Disk::advance`] next, or `None` if no request is under
    /// way. No request completes before that time. One usually completes at it; if the disk cannot
    /// tell yet, the next call may answer with a later time. Work that a disk does for itself, such
    /// as emptying its write buffer, needs no calls: the next call makes up for it.
    fn next_event(&self) -> Option<Nanos>;

    /// Appends everything that completes at or before `now` to `done`, in order of completion.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Returns the totals up to the last [`Disk::advance`]. Work that is under way may be counted
    /// before it ends.
    fn counters(&self) -> Counters;

    /// Starts to record the events inside the disk, for [`Disk::events`].
    fn record_events(&mut self) {}

    /// Appends the events that have happened since the last call, and those that are certain to
    /// happen. A disk whose model has no inner parts has no events.
    fn events(&mut self, _into: &mut Vec<DiskEvent>) {}

    /// Returns a copy of the disk as it is now, with its requests under way. The copy shares with
    /// the disk the state that reads do not change; a write to either gives it a state of its own.
    /// The copy of a disk from [`crate::build_checked`] is not watched.
    fn copy(&self) -> Box<dyn Disk>;

    /// Returns a description of the first violation by a disk from [`crate::build_checked`]:
    /// behaviour that no disk of its kind could show, or that breaks a promise.
    fn violation(&self) -> Option<&str> {
        None
    }
}

/// Totals since the disk was made. A counter that has no meaning for a family of disks stays zero.
/// The caller counts what is visible from outside: latency, shares, queue depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Time in which the mechanism moved or transferred for a command or a destage, or any die or
    /// server worked. Reading ahead is not counted, because no command ever waits for it.
    pub busy_ns: u64,
    /// Arm movements to another cylinder.
    pub seeks: u64,
    /// Cylinders that the arm travelled in all `seeks`.
    pub seek_cylinders: u64,
    /// Reads that found their data in the cache or streaming into it.
    pub cache_hits: u64,
    /// 512-byte sectors read from the medium, those read ahead included.
    pub media_read_sectors: u64,
    /// 512-byte sectors written to the medium.
    pub media_written_sectors: u64,
    /// Writes from the buffer to the medium: extents on a hard disk, pages on an SSD.
    pub destages: u64,
    /// 512-byte sectors that an SSD's garbage collection moved. They are included in
    /// `media_written_sectors`.
    pub moved_sectors: u64,
    /// Blocks that an SSD erased.
    pub erased_blocks: u64,
    /// Flush commands completed.
    pub flushes: u64,
}
