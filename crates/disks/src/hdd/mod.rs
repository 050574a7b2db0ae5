//! A hard disk.
//!
//! A command is decoded, then served from the cache, or taken into the write buffer, or queued for
//! the mechanism, which does one thing at a time: [`drive`] holds the drive's state and what
//! happens to a command that arrives; [`mechanism`] chooses and does what the arm does. Only
//! two things ever happen, a command has been decoded and the mechanism is done, so the drive needs
//! no calendar.
//!
//! Not modelled: sectors larger than 512 bytes that must be read before a part of them is written,
//! spindown.

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
