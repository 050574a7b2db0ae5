//! What a model can tell of its own work.

use serde::{Deserialize, Serialize};

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
