use std::ops::RangeInclusive;

use crate::raw::{self, MIRRORS_MAX, Mirror};

/// Sizes of a filesystem's blocks, as powers of two: 512 bytes to 64 KiB.
pub const BLOCK_BITS: RangeInclusive<u32> = 9..=16;

/// A read that is about to be sent to one of its mirrors: `struct read_request`, explained in
/// policy.h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request(pub(crate) raw::Request);

impl Request {
    /// Returns a read at 0 by no thread, which the methods below change. Returns `None` unless
    /// there are 1 to [`MIRRORS_MAX`] mirrors, and the block size is in [`BLOCK_BITS`].
    pub fn new(mirrors: &[Mirror], block_bits: u32) -> Option<Self> {
        if mirrors.is_empty() || mirrors.len() > MIRRORS_MAX || !BLOCK_BITS.contains(&block_bits) {
            return None;
        }
        let mut request =
            raw::Request { block_bits, count: mirrors.len() as u32, ..raw::Request::default() };
        request.mirrors[..mirrors.len()].copy_from_slice(mirrors);
        Some(Self(request))
    }

    /// Sets the offset of the read in the filesystem, and its number of bytes.
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

    /// Sets the number of blocks that the whole filesystem has read before.
    #[must_use]
    pub fn after(mut self, blocks_read: u32) -> Self {
        self.0.blocks_read = blocks_read;
        self
    }

    pub fn mirrors(&self) -> &[Mirror] {
        // The constructor has checked the count.
        &self.0.mirrors[..self.0.count as usize]
    }
}
