//! A solid-state disk.
//!
//! A command is decoded, cut into rows that are read in parallel from the dies ([`flash`]), and its
//! data leaves over the one link, row by row. A write is done for the host once it is in the
//! buffer, which the dies empty as a [`write_log`] by whole rows, wherever there is room
//! ([`space`]); the [`map`] knows where everything is.
//!
//! Not modelled: joining of writes in the buffer (of two for the same place both are programmed),
//! reading the rest of 4 KiB of which a part is written, wear and its levelling, read retries, the
//! map's own reads and writes.

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
