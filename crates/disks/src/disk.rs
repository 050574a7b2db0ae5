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
    /// Everything completed before is on the medium when this completes.
    Flush,
    Discard,
    WriteZeroes,
}

/// A request to a disk. Sectors have 512 bytes; what lies beyond the disk's end is left out of the
/// work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The caller's own: comes back in the [`Completion`], means nothing here.
    pub id: u32,
    pub op: Op,
    pub sector: u64,
    /// 0 for a flush.
    pub sectors: u32,
    /// A write completes on the medium, not in the buffer.
    pub fua: bool,
}

impl Request {
    /// The sectors of the request that a disk of `size` sectors has.
    pub(crate) fn sectors_below(&self, size: u64) -> Range<u64> {
        let end = self.sector.saturating_add(u64::from(self.sectors));
        self.sector.min(size)..end.min(size)
    }
}

/// A request is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Completion {
    pub id: u32,
    pub at: Nanos,
    /// When service began: the request left the disk's queue.
    pub started: Nanos,
}

/// A disk in virtual time.
///
/// The caller's time never runs backwards from one call to the next. Once as many requests have
/// been under way as ever will be, no call allocates, but for what an SSD's map keeps of a block
/// that is full.
pub trait Disk: Send {
    fn submit(&mut self, now: Nanos, request: Request);

    /// When to call [`Disk::advance`] next: no request completes before. (At that moment one
    /// usually does; where the disk cannot tell yet, it may answer with another, later moment.)
    /// `None`: no request is under way. What a disk does for itself, such as emptying its write
    /// buffer, needs no calls and is caught up with by the next one.
    fn next_event(&self) -> Option<Nanos>;

    /// Appends everything that completes at or before `now` to `done`, in order of completion.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Totals up to the last [`Disk::advance`]. Work that is under way may be counted before it
    /// ends.
    fn counters(&self) -> Counters;

    /// From now on, [`Disk::events`] has what goes on inside.
    fn record_events(&mut self) {}

    /// Appends what has happened since the last call, or is certain to. A disk without an inside
    /// has no events.
    fn events(&mut self, _into: &mut Vec<DiskEvent>) {}

    /// A copy of the disk as it is now, with its requests under way. It shares with the disk what
    /// reads do not change; a write to either gives it its own. The copy of a disk from
    /// [`crate::build_checked`] is not watched.
    fn copy(&self) -> Box<dyn Disk>;

    /// The first thing that a disk from [`crate::build_checked`] did and that no disk of its kind
    /// could, or that breaks a promise.
    fn violation(&self) -> Option<&str> {
        None
    }
}

/// Totals since the disk was made. What a family has no notion of stays zero. What requests look
/// like from outside (latency, shares, queue depth) is for the caller to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counters {
    /// Time in which the mechanism moved or transferred for a command or a destage, or any die or
    /// server worked. Reading ahead is not counted: it never makes anybody wait.
    pub busy_ns: u64,
    /// Arm movements to another cylinder.
    pub seeks: u64,
    /// Cylinders travelled in these.
    pub seek_cylinders: u64,
    /// Reads that found their data in the cache or streaming into it.
    pub cache_hits: u64,
    /// 512-byte sectors read from the medium, ahead or not.
    pub media_read_sectors: u64,
    /// 512-byte sectors written to the medium.
    pub media_written_sectors: u64,
    /// Writes from the buffer to the medium: extents of a disk, pages of an SSD.
    pub destages: u64,
    /// 512-byte sectors that an SSD's collection of garbage moved; they are among those written to
    /// the medium.
    pub moved_sectors: u64,
    /// Blocks that an SSD erased.
    pub erased_blocks: u64,
    /// Flush commands completed.
    pub flushes: u64,
}
