//! Progress of a running guest, [`names::HEARTBEAT`]: one page that the guest writes and the
//! program reads.
//!
//! The kernel stores the virtual time there whenever it moves, and the disk library the number of
//! requests and whether they are being measured. There is no message and no lock. The first three
//! words of the page, little-endian, are each stored whole: virtual ns since boot, requests
//! completed, and 1 once a phase has begun.

use crate::names;
use disklab_files::TRIAL;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Progress of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// Virtual ns since boot.
    pub now: u64,
    /// Requests that all disks have completed.
    pub requests: u64,
    /// Whether a phase of the trial has begun; it may be over.
    pub measured: bool,
}

impl Heartbeat {
    /// Reads the heartbeat in a trial's folder. All fields are zero while the guest has not begun.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut words = [0; 24];
        disklab_files::open(&folder.join(names::HEARTBEAT), &TRIAL)?
            .read_exact_at(&mut words, 0)?;
        let word = |i: usize| u64::from_le_bytes(words[i..i + 8].try_into().unwrap_or_default());
        Ok(Self { now: word(0), requests: word(8), measured: word(16) != 0 })
    }
}
