//! Marks of the units that are no longer in a block, a bit for each unit that the block can hold.
//!
//! If the position of a unit in its block is known, it is the number of the unit's bit. Otherwise a
//! hash of the unit's number selects a bit, which several units may share. Such a mark says only
//! that a unit may be gone.

use prefetch_index::prefetch_index;

use super::shape::BlockId;

#[derive(Clone)]
pub(crate) struct GoneMarks {
    words: Vec<u64>,
    words_per_block: usize,
    units_per_block: u32,
}

impl GoneMarks {
    pub fn new(blocks: usize, units_per_block: u32) -> Self {
        let words_per_block = units_per_block.div_ceil(64) as usize;
        Self { words: vec![0; blocks * words_per_block], words_per_block, units_per_block }
    }

    /// Marks the unit at position `before` of a block, or with that drawn bit, as gone.
    pub fn mark(&mut self, block: BlockId, before: u32) {
        let (word, bit) = self.find(block, before);
        self.words[word] |= bit;
    }

    /// Fetches the memory of a mark that will be set soon.
    pub fn expect(&self, block: BlockId, before: u32) {
        prefetch_index(&self.words, self.find(block, before).0);
    }

    pub fn is_marked(&self, block: BlockId, before: u32) -> bool {
        let (word, bit) = self.find(block, before);
        self.words[word] & bit != 0
    }

    /// Marks a unit as gone whose position in the block is not known.
    pub fn mark_any(&mut self, block: BlockId, unit: u32) {
        self.mark(block, self.drawn(unit));
    }

    /// Clears all marks of a block, which is empty now.
    pub fn forget(&mut self, block: BlockId) {
        let first = block as usize * self.words_per_block;
        self.words[first..first + self.words_per_block].fill(0);
    }

    fn find(&self, block: BlockId, bit: u32) -> (usize, u64) {
        (block as usize * self.words_per_block + (bit / 64) as usize, 1 << (bit % 64))
    }

    /// Returns the bit of a unit whose position in its block is not known.
    pub fn drawn(&self, unit: u32) -> u32 {
        let number = u64::from(unit.wrapping_mul(0x9e37_79b1));
        ((number * u64::from(self.units_per_block)) >> 32) as u32
    }
}
