//! Writes that a disk has not promised to keep, and that a power cut may undo.
//!
//! A disk with a write-back cache ends a write before it is on the medium. Until a later flush has
//! ended, a power cut can undo it, block by block, and in any order: the medium may hold the newest
//! content of a block, an older one, or that of the last flush. The cache has a limited size, so
//! that the oldest writes reach the medium when it is full.

use disklab_units::Bytes;
use std::collections::{BTreeMap, VecDeque};

/// Bytes that a disk writes completely or not at all: the physical block that the guest's kernel
/// knows.
pub const BLOCK: u64 = 4096;

/// Content of a block; None is zeroes.
pub type Content = Option<Box<[u8]>>;

/// The unkept writes of a disk.
#[derive(Debug, Default)]
pub struct Volatile {
    /// Number of blocks that fit into the cache. With 0 there is no cache, and written data is
    /// kept.
    room: usize,
    /// Whether flushes are answered without effect.
    ignores_flushes: bool,
    /// Blocks that changed since the last flush, with the contents that the medium may hold besides
    /// the newest.
    blocks: BTreeMap<u64, UnkeptBlock>,
    /// Writes of those contents, oldest first: number and block.
    order: VecDeque<(u64, u64)>,
    /// Number of writes that have ended, which is also the number of the last one.
    written: u64,
    /// The number of the last write that had ended when each flush came, by the flush's tag.
    flushes: BTreeMap<u32, u64>,
}

#[derive(Debug, Default)]
struct UnkeptBlock {
    /// Number of the write of the content that the disk returns.
    newest: u64,
    /// Older contents, each with the number of its write. The first is on the medium, whichever
    /// write made it.
    older: VecDeque<(u64, Content)>,
}

impl Volatile {
    pub fn new(cache: Bytes, ignores_flushes: bool) -> Self {
        Self {
            room: usize::try_from(cache.0 / BLOCK).unwrap_or(usize::MAX),
            ignores_flushes,
            ..Self::default()
        }
    }

    /// Handles a write of these blocks that ends, with their previous contents.
    pub fn write(&mut self, blocks: impl Iterator<Item = (u64, Content)>) {
        self.written += 1;
        for (number, before) in blocks {
            let block = self.blocks.entry(number).or_default();
            block.older.push_back((block.newest, before));
            block.newest = self.written;
            self.order.push_back((self.written, number));
        }
        while self.order.len() > self.room {
            self.keep_oldest();
        }
    }

    /// Handles a flush that comes.
    pub fn flush_came(&mut self, tag: u32) {
        self.flushes.insert(tag, self.written);
    }

    /// Handles a flush that ends: data written before it came is kept.
    pub fn flush_ended(&mut self, tag: u32) {
        let Some(last) = self.flushes.remove(&tag).filter(|_| !self.ignores_flushes) else {
            return;
        };
        while self.order.front().is_some_and(|&(write, _)| write <= last) {
            self.keep_oldest();
        }
    }

    /// Makes the oldest write permanent.
    fn keep_oldest(&mut self) {
        let Some((write, number)) = self.order.pop_front() else { return };
        let Some(block) = self.blocks.get_mut(&number) else { return };
        if block.newest == write {
            self.blocks.remove(&number);
        } else if let Some(at) = block.older.iter().position(|&(by, _)| by == write) {
            block.older.drain(..at);
        }
    }

    /// Returns each uncertain block: its number, the contents that the medium may hold besides the
    /// newest, each with the number of its write, and the number of the newest content's write.
    pub fn unsure(&self) -> impl Iterator<Item = (u64, &VecDeque<(u64, Content)>, u64)> {
        self.blocks.iter().map(|(&number, block)| (number, &block.older, block.newest))
    }

    /// Returns the number of writes that have ended, which is also the number of the last one.
    pub fn written(&self) -> u64 {
        self.written
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn content(byte: u8) -> Content {
        (byte > 0).then(|| vec![byte; 8].into())
    }

    /// A disk of a few blocks, each one byte, and its answers.
    struct SmallDisk {
        volatile: Volatile,
        data: [u8; 4],
    }

    impl SmallDisk {
        fn new(cache: u64, deaf: bool) -> Self {
            Self { volatile: Volatile::new(Bytes(cache * BLOCK), deaf), data: [0; 4] }
        }

        fn write(&mut self, block: usize, byte: u8) {
            let before = content(self.data[block]);
            self.volatile.write([(block as u64, before)].into_iter());
            self.data[block] = byte;
        }

        fn flush(&mut self) {
            self.volatile.flush_came(0);
            self.volatile.flush_ended(0);
        }

        /// Returns the contents of a block that the medium may hold, oldest first.
        fn may_hold(&self, block: usize) -> Vec<u8> {
            let byte = |(_, content): &(u64, Content)| content.as_ref().map_or(0, |bytes| bytes[0]);
            let unsure = self.volatile.unsure().find(|(number, ..)| *number == block as u64);
            let older =
                unsure.map_or_else(Vec::new, |(_, older, _)| older.iter().map(byte).collect());
            [older, vec![self.data[block]]].concat()
        }
    }

    #[test]
    fn a_flush_keeps_what_had_ended_when_it_came() {
        let mut disk = SmallDisk::new(100, false);
        disk.write(0, 1);
        disk.volatile.flush_came(7);
        disk.write(0, 2);
        disk.write(1, 3);
        assert_eq!((disk.may_hold(0), disk.may_hold(1)), (vec![0, 1, 2], vec![0, 3]));
        disk.volatile.flush_ended(7);
        assert_eq!((disk.may_hold(0), disk.may_hold(1)), (vec![1, 2], vec![0, 3]));
        disk.flush();
        assert_eq!((disk.may_hold(0), disk.may_hold(1)), (vec![2], vec![3]));
    }

    #[test]
    fn a_full_cache_has_put_its_oldest_on_the_medium() {
        let mut disk = SmallDisk::new(2, false);
        for byte in 1..=3 {
            disk.write(0, byte);
        }
        assert_eq!(disk.may_hold(0), [1, 2, 3]);
        disk.write(1, 9);
        assert_eq!((disk.may_hold(0), disk.may_hold(1)), (vec![2, 3], vec![0, 9]));
    }

    #[test]
    fn without_a_cache_all_is_kept_and_a_disk_may_lie() {
        let mut disk = SmallDisk::new(0, false);
        disk.write(0, 1);
        assert_eq!(disk.may_hold(0), [1], "no cache");
        let mut disk = SmallDisk::new(9, true);
        disk.write(0, 1);
        disk.flush();
        assert_eq!(disk.may_hold(0), [0, 1], "a lie");
    }

    #[derive(Debug, Clone)]
    enum CacheStep {
        Write(usize),
        Came(u32),
        Ended(u32),
    }

    fn step() -> impl Strategy<Value = CacheStep> {
        prop_oneof![
            4 => (0..4usize).prop_map(CacheStep::Write),
            1 => (0..3u32).prop_map(CacheStep::Came),
            1 => (0..3u32).prop_map(CacheStep::Ended),
        ]
    }

    proptest! {
        /// Compares with the whole history of each block: a block is never older than promised, and
        /// never holds unwritten data.
        #[test]
        fn what_was_promised_stays(
            cache in 1u64..9,
            steps in prop::collection::vec(step(), 1..120),
        ) {
            let mut disk = SmallDisk::new(cache, false);
            // For each block, its contents in order, and the oldest that may be found.
            let mut history: [Vec<u8>; 4] = std::array::from_fn(|_| vec![0]);
            let mut oldest = [0usize; 4];
            let mut flushes: BTreeMap<u32, [usize; 4]> = BTreeMap::new();
            let mut last = 0;
            for step in steps {
                match step {
                    CacheStep::Write(block) => {
                        last += 1;
                        disk.write(block, last);
                        history[block].push(last);
                    }
                    CacheStep::Came(tag) => {
                        disk.volatile.flush_came(tag);
                        flushes.insert(tag, std::array::from_fn(|block| history[block].len() - 1));
                    }
                    CacheStep::Ended(tag) => {
                        disk.volatile.flush_ended(tag);
                        let kept = flushes.remove(&tag).unwrap_or_default();
                        (0..4).for_each(|block| oldest[block] = oldest[block].max(kept[block]));
                    }
                }
                for block in 0..4 {
                    let may = disk.may_hold(block);
                    prop_assert!(history[block].ends_with(&may), "{may:?} of {:?}", history[block]);
                    let most = history[block].len() - oldest[block];
                    prop_assert!(may.len() <= most, "{may:?} after {oldest:?}");
                }
                let unkept: usize = (0..4).map(|block| disk.may_hold(block).len() - 1).sum();
                prop_assert!(unkept as u64 <= cache);
            }
        }
    }
}
