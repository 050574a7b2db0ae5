//! The bytes of one disk: a sparse file, and a map of its written parts.
//!
//! A test file of 50 GiB is zeroes, and zeroes are holes: reading one is a `memset`, and writing
//! zeroes over one does nothing. The host's page cache never sees them.

use crate::volatile::Content;
use rustix::fs::{FallocateFlags, SeekFrom, copy_file_range, fallocate, ioctl_ficlone, seek};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, IoSliceMut};
use std::ops::Range;
use std::path::Path;

/// Unit of the map of written ranges in bytes, so that random writes cannot make the map large.
const GRAIN: u64 = 64 << 10;

/// Disjoint, non-adjacent ranges of bytes: start to end.
#[derive(Debug, Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn overlaps(&self, start: u64, end: u64) -> bool {
        self.0.range(..end).next_back().is_some_and(|(_, &last)| last > start)
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        if let Some((&s, &e)) = self.0.range(..=start).next_back()
            && e >= end
        {
            debug_assert!(s <= start);
            return;
        }
        while let Some((&s, &e)) = self.0.range(..=end).next_back() {
            if e < start {
                break;
            }
            self.0.remove(&s);
            start = start.min(s);
            end = end.max(e);
        }
        self.0.insert(start, end);
    }

    fn remove(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        while let Some((&s, &e)) = self.0.range(..end).next_back() {
            if e <= start {
                break;
            }
            self.0.remove(&s);
            if e > end {
                self.0.insert(end, e);
            }
            if s < start {
                self.0.insert(s, start);
            }
        }
    }
}

/// Data of a disk.
#[derive(Debug)]
pub struct Data {
    file: File,
    written: Ranges,
}

impl Data {
    /// Opens or creates the file, `bytes` long, and finds its holes.
    pub fn open(path: &Path, bytes: u64) -> io::Result<Self> {
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        if file.metadata()?.len() != bytes {
            file.set_len(bytes)?;
        }
        let mut data = Self { file, written: Ranges::default() };
        let mut end = 0;
        while let Some(extent) = next_extent(&data.file, end)? {
            end = extent.end;
            data.note(extent.start, end);
        }
        Ok(data)
    }

    fn note(&mut self, start: u64, end: u64) {
        self.written.insert(start / GRAIN * GRAIN, end.next_multiple_of(GRAIN));
    }

    /// Fills `pieces`, one after the other, from byte `at` on.
    pub fn read(&self, at: u64, pieces: &mut [IoSliceMut]) -> io::Result<()> {
        let length: u64 = pieces.iter().map(|p| p.len() as u64).sum();
        if !self.written.overlaps(at, at + length) {
            for piece in pieces {
                piece.fill(0);
            }
            return Ok(());
        }
        let mut done = 0;
        let mut rest = pieces;
        while done < length {
            match rustix::io::preadv(&self.file, rest, at + done) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(n) => {
                    done += n as u64;
                    IoSliceMut::advance_slices(&mut rest, n);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes `pieces`, one after the other, from byte `at` on.
    pub fn write(&mut self, at: u64, pieces: &mut [IoSlice]) -> io::Result<()> {
        let length: u64 = pieces.iter().map(|p| p.len() as u64).sum();
        if pieces.iter().all(|p| is_zero(p)) {
            return self.zero(at, length);
        }
        self.note(at, at + length);
        let mut done = 0;
        let mut rest = pieces;
        while done < length {
            match rustix::io::pwritev(&self.file, rest, at + done) {
                Ok(n) => {
                    done += n as u64;
                    IoSlice::advance_slices(&mut rest, n);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Makes `length` bytes from `at` on read as zeroes, and returns their room to the host.
    pub fn zero(&mut self, at: u64, length: u64) -> io::Result<()> {
        if !self.written.overlaps(at, at + length) {
            return Ok(());
        }
        fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, length)?;
        self.written.remove(at.next_multiple_of(GRAIN), (at + length) / GRAIN * GRAIN);
        Ok(())
    }
}

/// Reads and copies data, for power cuts.
impl Data {
    /// Returns the bytes from `at` on, or None if they are zeroes.
    pub fn content(&self, at: u64, length: u64) -> io::Result<Content> {
        if !self.written.overlaps(at, at + length) {
            return Ok(None);
        }
        let mut bytes = vec![0; length as usize];
        self.read(at, &mut [IoSliceMut::new(&mut bytes)])?;
        Ok((!is_zero(&bytes)).then(|| bytes.into()))
    }

    pub fn set_content(&mut self, at: u64, length: u64, content: &Content) -> io::Result<()> {
        match content {
            None => self.zero(at, length),
            Some(bytes) => self.write(at, &mut [IoSlice::new(bytes)]),
        }
    }

    /// Returns the blocks of `block` bytes that overlap `start` to `end` and may hold data other
    /// than zeroes.
    pub fn written_blocks(&self, start: u64, end: u64, block: u64) -> Vec<u64> {
        let mut blocks = Vec::new();
        for at in (start / GRAIN..end.div_ceil(GRAIN)).map(|grain| grain * GRAIN) {
            if self.written.overlaps(at, at + GRAIN) {
                blocks.extend(at.max(start) / block..(at + GRAIN).min(end).div_ceil(block));
            }
        }
        blocks
    }

    /// Makes a copy in a file that must not exist.
    pub fn copy(&self, path: &Path) -> io::Result<Self> {
        let file = File::create_new(path)?;
        copy(&self.file, &file)?;
        Self::open(path, file.metadata()?.len())
    }
}

/// Copies a sparse file to an empty one: a reflink if the filesystem supports it, or else the parts
/// that are not holes.
pub fn copy(source: &File, target: &File) -> io::Result<()> {
    if ioctl_ficlone(target, source).is_ok() {
        return Ok(());
    }
    target.set_len(source.metadata()?.len())?;
    let mut end = 0;
    while let Some(extent) = next_extent(source, end)? {
        end = extent.end;
        let (mut read, mut written) = (extent.start, extent.start);
        while read < end {
            let length = usize::try_from(end - read).unwrap_or(usize::MAX);
            if copy_file_range(source, Some(&mut read), target, Some(&mut written), length)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
    Ok(())
}

/// Returns the first part of a file from `from` on that is not a hole.
fn next_extent(file: &File, from: u64) -> io::Result<Option<Range<u64>>> {
    match seek(file, SeekFrom::Data(from)) {
        Ok(start) => Ok(Some(start..seek(file, SeekFrom::Hole(start))?)),
        Err(Errno::NXIO) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns true if all bytes are zero. It checks the first ones first, since other data mostly
/// shows there.
fn is_zero(bytes: &[u8]) -> bool {
    // SAFETY: Any eight bytes are a number.
    let (head, words, tail) = unsafe { bytes.align_to::<u64>() };
    let quick = words.len().min(8);
    head.iter().chain(tail).all(|&b| b == 0)
        && words[..quick].iter().all(|&w| w == 0)
        && words[quick..].chunks(64).all(|c| c.iter().fold(0, |a, w| a | w) == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::MetadataExt;

    const SIZE: u64 = 1 << 20;

    fn open(folder: &tempfile::TempDir) -> Data {
        Data::open(&folder.path().join("disk"), SIZE).unwrap()
    }

    fn read(data: &Data, at: u64, length: usize) -> Vec<u8> {
        let (mut a, mut b) = (vec![9; length / 3], vec![9; length - length / 3]);
        data.read(at, &mut [IoSliceMut::new(&mut a), IoSliceMut::new(&mut b)]).unwrap();
        a.extend(b);
        a
    }

    #[test]
    fn zeroes_take_no_room() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = Data::open(&folder.path().join("disk"), 1 << 40).unwrap();
        let zeroes = vec![0; 1 << 20];
        for i in 0..64 {
            data.write(i << 30, &mut [IoSlice::new(&zeroes)]).unwrap();
        }
        assert_eq!(folder.path().join("disk").metadata().unwrap().blocks(), 0);
        assert!(data.written.0.is_empty());
    }

    #[test]
    fn discarded_room_is_given_back() {
        let folder = tempfile::tempdir().unwrap();
        let mut data = open(&folder);
        data.write(0, &mut [IoSlice::new(&vec![7; SIZE as usize])]).unwrap();
        data.zero(0, SIZE).unwrap();
        assert!(data.written.0.is_empty());
        assert_eq!(folder.path().join("disk").metadata().unwrap().blocks(), 0);
    }

    proptest! {
        /// Compares with a plain array, also after closing and opening the file.
        #[test]
        fn reads_what_was_written(
            steps in prop::collection::vec((0..SIZE, 1..200_000u64, 0..5u8), 1..40)
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut data = open(&folder);
            let mut model = vec![0u8; SIZE as usize];
            for (at, length, what) in steps {
                let length = length.min(SIZE - at);
                let range = at as usize..(at + length) as usize;
                match what {
                    0 => { data.zero(at, length).unwrap(); model[range].fill(0); }
                    1 => {
                        data.write(at, &mut [IoSlice::new(&vec![0; length as usize])]).unwrap();
                        model[range].fill(0);
                    }
                    2 => data = open(&folder),
                    _ => {
                        let byte = |i| (i as u8) | u8::from(i % 3 == 0);
                        let bytes: Vec<u8> = (0..length).map(byte).collect();
                        let (a, b) = bytes.split_at(bytes.len() / 2);
                        data.write(at, &mut [IoSlice::new(a), IoSlice::new(b)]).unwrap();
                        model[range].copy_from_slice(&bytes);
                    }
                }
                let from = at.saturating_sub(5000);
                let to = (at + length + 5000).min(SIZE);
                let found = read(&data, from, (to - from) as usize);
                prop_assert!(found == model[from as usize..to as usize]);
            }
        }

        #[test]
        fn is_zero_finds_every_byte(length in 0..3000usize, at in 0..3000usize) {
            let mut bytes = vec![0u8; length];
            prop_assert!(is_zero(&bytes));
            if at < length {
                bytes[at] = 1;
                prop_assert!(!is_zero(&bytes));
            }
        }
    }
}
