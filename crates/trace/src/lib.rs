//! The trace of a trial: every request of every disk, and the phases, in the order in which they
//! ended.
//!
//! The guest's library writes it with [`TraceWriter`]; [`pack`] makes it small when the trial is
//! over; [`TraceReader`] gives its entries one by one, from either form, in memory that does not
//! grow with the trace.
//!
//! Layout: 4 bytes, then entries of LEB128 numbers (`z`: zigzag, for differences that may be
//! negative). The entry before, of times: what ended last, or 0 before the first entry. A mark's
//! time counts as its end.
//!
//! `DLT2`, a request:
//!
//! 1. disk * 8 + operation (0 read, 1 write, 2 flush, 3 discard, 4 write-zeroes);
//! 2. how many entries came between its arrival and its end;
//! 3. z submitted - end of the last entry before its arrival;
//! 4. z started - the later of its arrival and the end of its disk's request before;
//! 5. ended - started;
//! 6. z sector - where its disk's request before ended;
//! 7. sectors * 2 + FUA.
//!
//! A mark: 7; z time - end of the entry before; length of the text; the text.
//!
//! Most requests arrive at the moment in which another one ends, and are started then or when their
//! disk is free. So the numbers are small and repeat, and what is left of a random read, packed, is
//! little more than where it is and how long it took: 1 to 9 bytes.
//!
//! Where more than [`WINDOW`] entries came between, which no reader is to remember, 0 is written
//! and the difference is to the end of the entry before.
//!
//! `DLT1`, which is read only, a request:
//!
//! 1. disk * 8 + operation;
//! 2. z submitted - submitted of the entry before;
//! 3. started - submitted;
//! 4. ended - started;
//! 5. z sector - where its disk's request before ended;
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

/// A reader remembers the ends of so many entries, 32 KiB; a guest has fewer requests under way.
pub const WINDOW: usize = 4096;
