use std::ops::RangeInclusive;

use crate::raw::{self, MIRRORS_MAX, Mirror};

/// The sizes of a filesystem's blocks, in bits: 512 bytes to 64 KiB.
pub const BLOCK_BITS: RangeInclusive<u32> = 9..=16;

/// A read that is to be sent to one of its mirrors: `struct read_request`, explained in policy.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request(pub(crate) raw::Request);

impl Request {
    /// Returns a read at 0 by no thread, which the methods below change. `None` unless there are 1
    /// to [`MIRRORS_MAX`] mirrors, and the block size is in [`BLOCK_BITS`].
    pub fn new(mirrors: &[Mirror], block_bits: u32) -> Option<Self> {
        if mirrors.is_empty() || mirrors.len() > MIRRORS_MAX || !BLOCK_BITS.contains(&block_bits) {
            return None;
        }
        let mut request =
            raw::Request { block_bits, count: mirrors.len() as u32, ..raw::Request::default() };
        request.mirrors[..mirrors.len()].copy_from_slice(mirrors);
        Some(Self(request))
    }

    /// Sets where in the filesystem the read begins, and how many bytes it reads.
    #[must_use]
    pub fn place(mut self, logical: u64, length: u64) -> Self {
        (self.0.logical, self.0.length) = (logical, length);
        self
    }

    /// Sets the thread that sends the read.
    #[must_use]
    pub fn by(mut self, pid: u32) -> Self {
        self.0.pid = pid;
        self
    }

    /// Sets how many blocks the whole filesystem has read before.
    #[must_use]
    pub fn after(mut self, blocks_read: u32) -> Self {
        self.0.blocks_read = blocks_read;
        self
    }

    pub fn mirrors(&self) -> &[Mirror] {
        // As long as it is by construction.
        &self.0.mirrors[..self.0.count as usize]
    }
}
