//! Direct I/O to files, with aligned buffers.

use disklab_units::Random;
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Block of a filesystem, and alignment of direct I/O.
pub const BLOCK: usize = 4096;

/// Creates a file for writing.
pub fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).custom_flags(flag()).open(path)
}

/// Opens an existing file for reading.
pub fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).custom_flags(flag()).open(path)
}

fn flag() -> i32 {
    OFlags::DIRECT.bits().cast_signed()
}

/// Fills words of 8 bytes with random numbers.
pub fn fill(bytes: &mut [u8], random: &mut Random) {
    bytes
        .chunks_exact_mut(8)
        .for_each(|word| word.copy_from_slice(&random.next_u64().to_le_bytes()));
}

/// An aligned buffer, which begins as zeroes.
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
