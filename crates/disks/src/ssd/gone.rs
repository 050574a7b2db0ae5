//! Marks of what is no longer in a block, a bit for each unit that the block holds.
//!
//! Where it is known how many units are before one in its block, that is its bit. Where it is not,
//! its bit is drawn by its number, and several have the same: such a mark says of a unit only that
//! it may be gone.

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

    /// The unit with `before` units before it is gone.
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

    /// This unit is gone, wherever in the block it was.
    pub fn mark_any(&mut self, block: BlockId, unit: u32) {
        self.mark(block, self.drawn(unit));
    }

    /// The block is empty.
    pub fn forget(&mut self, block: BlockId) {
        let first = block as usize * self.words_per_block;
        self.words[first..first + self.words_per_block].fill(0);
    }

    fn find(&self, block: BlockId, bit: u32) -> (usize, u64) {
        (block as usize * self.words_per_block + (bit / 64) as usize, 1 << (bit % 64))
    }

    /// The bit of a unit of which it is not known how many are before it.
    pub fn drawn(&self, unit: u32) -> u32 {
        let number = u64::from(unit.wrapping_mul(0x9e37_79b1));
        ((number * u64::from(self.units_per_block)) >> 32) as u32
    }
}
