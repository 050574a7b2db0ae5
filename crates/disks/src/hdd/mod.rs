//! A hard disk.
//!
//! A command is decoded, then served from the cache, taken into the write buffer, or queued for the
//! mechanism, which does one access at a time. [`drive`] holds the drive's state and handles
//! commands that arrive; [`mechanism`] chooses and makes the arm's accesses. There are only two
//! kinds of events, the decoding of a command and the end of an access, so the drive needs no event
//! queue.
//!
//! The model leaves out sectors larger than 512 bytes, which must be read before a part of them is
//! written, and spindown.

mod activity;
mod by_address;
mod detailed;
mod drive;
pub(crate) mod geometry;
mod layout;
pub(crate) mod mechanics;
mod mechanism;
mod queue;
mod seek;
mod segments;
#[cfg(test)]
mod tests;
mod write_buffer;

pub use self::detailed::{
    After, CommandTimes, DetailedCache, DetailedHdd, LookAhead, LookAheadEnd, ScatteredWrite,
};
pub(crate) use self::drive::HddDisk;
pub use self::layout::{SectorLayout, SurfaceOrder, ZoneLayout};
pub use self::mechanics::Travel;
