//! The trace of a trial: every request of every disk, and the phases, in the order in which they
//! ended.
//!
//! The guest's library writes it with [`TraceWriter`]. [`pack`] compresses it when the trial is
//! over. [`TraceReader`] returns its entries one by one, from either form, in memory that does not
//! grow with the trace.
//!
//! The layout is 4 bytes, then entries of LEB128 numbers (`z`: zigzag, for differences that may be
//! negative). For times, "the entry before" is the entry that ended last, with end 0 before the
//! first entry. The time of a mark counts as its end.
//!
//! `DLT2`, a request:
//!
//! 1. disk * 8 + operation (0 read, 1 write, 2 flush, 3 discard, 4 write-zeroes);
//! 2. number of entries between its arrival and its end;
//! 3. z submitted - end of the last entry before its arrival;
//! 4. z started - the later of its arrival and the end of its disk's request before;
//! 5. ended - started;
//! 6. z sector - sector after its disk's request before;
//! 7. sectors * 2 + FUA.
//!
//! A mark: 7; z time - end of the entry before; length of the text; the text.
//!
//! Most requests arrive at the moment in which another one ends, and start then or when their disk
//! is free. So the numbers are small and repeat. A packed random read takes 1 to 9 bytes, little
//! more than its place and its time.
//!
//! If more than [`WINDOW`] entries came between, a reader need not remember them. Then the number
//! is 0, and the difference is to the end of the entry before.
//!
//! `DLT1`, a form that is only read, a request:
//!
//! 1. disk * 8 + operation;
//! 2. z submitted - submitted of the entry before;
//! 3. started - submitted;
//! 4. ended - started;
//! 5. z sector - sector after its disk's request before;
//! 6. sectors * 2 + FUA.
//!
//! A mark: 7; z time - submitted of the entry before; length of the text; the text.
//!
//! Times are virtual ns.

mod bins;
mod by_time;
mod depth;
mod entry;
mod packed;
mod reader;
mod survey;
pub mod timeline;
mod writer;

pub use bins::Bins;
pub use by_time::{ByTime, Delay, TraceEvent, TraceEventKind, delay};
pub use depth::WithDepth;
pub use entry::{MOST_DISKS, Served, TraceEntry, word};
pub use packed::{PACKED, PLAIN, find, open, pack};
pub use reader::{Error, TraceReader};
pub use survey::{Reach, Survey, TracePhase};
pub use timeline::Timeline;
pub use writer::{Arrived, TraceWriter};

/// Number of ends that a reader remembers, 32 KiB; a guest has fewer requests under way.
pub const WINDOW: usize = 4096;
