//! Files past the page cache, and buffers that begin where that wants them.

use disklab_units::Random;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// A filesystem's block, and what direct I/O is aligned to.
pub const BLOCK: usize = 4096;

/// A new file, for writing.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).custom_flags(flag()).open(path)
}

/// A file that is there, for reading.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flag()).open(path)
}

fn flag() -> i32 {
    OFlags::DIRECT.bits().cast_signed()
}

/// Fills whole words of 8 bytes with what is drawn.
pub fn fill(bytes: &mut [u8], random: &mut Random) {
    bytes
        .chunks_exact_mut(8)
        .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
}

/// Zeroes, or what has been read into it.
pub struct Buffer {
    memory: Vec<u8>,
    length: usize,
}

impl Buffer {
    pub fn zeroes(length: usize) -> Self {
        Self { memory: vec![0; length + BLOCK], length }
    }

    pub fn bytes(&self) -> &[u8] {
        let skip = self.memory.as_ptr().align_offset(BLOCK);
        &self.memory[skip..skip + self.length]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let skip = self.memory.as_ptr().align_offset(BLOCK);
        &mut self.memory[skip..skip + self.length]
    }
}
