//! A solid-state disk.
//!
//! A command is decoded and cut into rows, which are read in parallel from the dies ([`flash`]).
//! Its data leaves over the one link, row by row. A write completes once it is in the buffer. The
//! dies empty the buffer, a [`write_log`], by whole rows, wherever there is room ([`space`]). The
//! [`map`] records the place of all data.
//!
//! The model leaves out: joining of writes in the buffer (two writes of the same place are both
//! programmed), reading the rest of 4 KiB of which a part is written, wear and its levelling, read
//! retries, and the map's own reads and writes.

mod agenda;
mod channel;
mod codes;
mod die;
mod drive;
mod flash;
mod gone;
mod home;
mod map;
mod packed;
mod shape;
mod space;
mod write_log;

pub(crate) use self::drive::SsdDisk;
