//! Folders of fragmented files, for programs that defragment.
//!
//! The pieces of the files are written in random order, and in turn with the other files of the
//! filesystem. So they are spread all over it, as those of files that grew or were overwritten
//! during a filesystem's life.

use super::direct::{self, Buffer};
use super::steps::Failure;
use disklab_config::background::Trees;
use disklab_protocol::places::{TREES, tree};
use disklab_units::{Random, Seed};
use rustix::ioctl::{Updater, ioctl, opcode};
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Least number of extents, in per cent of the fragments. With fewer, the files are not fragmented
/// as requested. A few neighbours are written successively by chance.
const LEAST_PERCENT: u64 = 75;

/// Trees that are being made.
pub struct Scatter {
    files: Vec<(PathBuf, File)>,
    /// Pieces in the order in which they are written, numbered through all files.
    order: Vec<u32>,
    written: usize,
    in_each: u64,
    fragment: u64,
    piece: Buffer,
    /// Source of the pieces' contents, or None for zeroes.
    contents: Option<Random>,
}

impl Scatter {
    /// Makes the folders and their empty files, whose pieces will be zeroes or random.
    pub fn create(trees: &Trees, contents: Option<Seed>) -> Result<Self, Failure> {
        let mut files = Vec::new();
        let folders = std::iter::once(TREES.into()).chain((0..trees.count).map(tree));
        for folder in folders {
            fs::create_dir(&folder).map_err(|e| format!("creating {folder}: {e}"))?;
        }
        for number in 0..trees.count * trees.files {
            let path =
                PathBuf::from(tree(number / trees.files)).join((number % trees.files).to_string());
            let failed = |e| format!("creating {} of {}: {e}", path.display(), trees.file_size);
            let file = direct::create(&path).map_err(failed)?;
            file.set_len(trees.file_size.0).map_err(failed)?;
            files.push((path, file));
        }
        let pieces = u32::try_from(trees.fragments())
            .map_err(|e| format!("too many fragments ({}): {e}", trees.fragments()))?;
        Ok(Self {
            files,
            order: shuffled(pieces),
            written: 0,
            in_each: trees.file_size.0 / trees.fragment.0,
            fragment: trees.fragment.0,
            piece: Buffer::zeroes(trees.fragment.0 as usize),
            contents: contents.map(Random::new),
        })
    }

    /// Writes until `done` parts of `all` are there.
    pub fn write(&mut self, done: u64, all: u64) -> Result<(), Failure> {
        let until = (self.order.len() as u64 * done / all.max(1)) as usize;
        for &piece in &self.order[self.written..until] {
            let (path, file) = &self.files[(u64::from(piece) / self.in_each) as usize];
            let at = u64::from(piece) % self.in_each * self.fragment;
            if let Some(random) = &mut self.contents {
                direct::fill(self.piece.bytes_mut(), random);
            }
            file.write_all_at(self.piece.bytes(), at).map_err(|e| {
                format!("writing {} bytes at {at} of {}: {e}", self.fragment, path.display())
            })?;
        }
        self.written = until;
        Ok(())
    }

    /// Writes the rest, and checks that the files are as fragmented as requested. Returns the
    /// number of fragments, and that of all files' extents, as the filesystem reports them.
    pub fn finish(mut self) -> Result<(u64, u64), Failure> {
        self.write(1, 1)?;
        let mut extents = 0;
        for (path, file) in &self.files {
            file.sync_all().map_err(|e| format!("syncing {}: {e}", path.display()))?;
            let found = self::extents(file)
                .map_err(|e| format!("counting the extents of {}: {e}", path.display()))?;
            if found * 100 < self.in_each * LEAST_PERCENT {
                return Err(format!(
                    "{} is not fragmented: it was written in {} pieces and has {found} extents",
                    path.display(),
                    self.in_each
                ));
            }
            extents += found;
        }
        Ok((self.order.len() as u64, extents))
    }
}

/// Returns 0, 1, ... below `count` in an order that is always the same.
fn shuffled(count: u32) -> Vec<u32> {
    let mut random = Random::new(Seed(0).derive("fragments"));
    let mut order: Vec<u32> = (0..count).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    order
}

/// The structure `fiemap` of linux/fiemap.h, without room for extents, which are only counted.
#[repr(C)]
#[derive(Default)]
struct Fiemap {
    start: u64,
    length: u64,
    flags: u32,
    mapped_extents: u32,
    extent_count: u32,
    reserved: u32,
}

/// Returns the number of a file's extents. Adjacent extents on the disk count once.
fn extents(file: &File) -> rustix::io::Result<u64> {
    const COUNT: rustix::ioctl::Opcode = opcode::read_write::<Fiemap>(b'f', 11);
    let mut map = Fiemap { length: u64::MAX, ..Fiemap::default() };
    // SAFETY: FS_IOC_FIEMAP reads and writes one `struct fiemap`, and as many extents as
    // `extent_count` says: none.
    unsafe { ioctl(file, Updater::<COUNT, Fiemap>::new(&mut map)) }?;
    Ok(u64::from(map.mapped_extents))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_comes_once_and_hardly_one_behind_its_neighbour() {
        let order = shuffled(4096);
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..4096));
        assert_eq!(order, shuffled(4096));
        assert!(order.windows(2).filter(|pair| pair[0] + 1 == pair[1]).count() < 10);
    }
}
