//! The blocks of one die: the choice of the block for the next row, and of the block to empty when
//! room is short.
//!
//! Collection is greedy: it reads the full block with the fewest valid units, writes those units
//! again, and erases the block. It begins when few empty blocks are left. From then on the host
//! gets as many rows as collection gains, so that writing slows down and never stops for long.
//!
//! A drive with an SLC cache writes the host's data to blocks that hold one bit in each cell. It
//! empties them into ordinary blocks when no commands come, or like any other block when room is
//! short.

use std::collections::VecDeque;

use disklab_units::Bytes;

use super::map::{FlashMap, Rows};
use super::shape::{BlockId, FEW, KeptUnit, UNIT};
use super::write_log::PADDING;

/// Number of empty blocks that are reserved for collection, which needs one to write to before it
/// can free another.
const RESERVE: usize = 1;

/// The shape of the SLC cache's blocks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SlcBlocks {
    /// Number of rows of such a block.
    pub rows: u32,
    /// The largest number of a die's blocks that the cache uses.
    pub blocks: u32,
}

#[derive(Clone)]
pub(crate) struct Space {
    die: u32,
    /// Empty blocks in the order in which they will be used, so that all wear equally.
    empty: VecDeque<BlockId>,
    /// The block to which rows are written.
    open: OpenBlock,
    /// The block of the SLC cache to which the host's rows are written while there is room.
    open_fast: OpenBlock,
    fast: Option<SlcBlocks>,
    /// For each block of the die, whether the SLC cache uses it, the open one included.
    /// `fast_blocks` is how many it uses.
    is_fast: Vec<bool>,
    fast_blocks: u32,
    collection: Option<Collection>,
    /// Number of units that the host may write while empty blocks are few.
    credit: u64,
}

/// A block that is being written.
#[derive(Clone)]
struct OpenBlock {
    block: Option<BlockId>,
    rows_left: u32,
    units: Vec<u32>,
}

#[derive(Clone)]
struct Collection {
    victim: BlockId,
    rows: Rows,
    /// Units that were read and not written again yet.
    gathered: Vec<KeptUnit>,
    /// Number of units that were valid when collection began, from which its gain was computed.
    valid: u64,
    gain: u64,
    /// The part of the gain, in units, that the host has been given.
    given: u64,
}

/// The block that a row goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowTarget {
    pub block: BlockId,
    pub fast: bool,
}

/// The next step of collection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectionStep {
    /// Reads the valid units of a row.
    Read { block: BlockId, unit: u32, bytes: Bytes },
    /// Writes a row of the gathered units.
    Write,
    /// Erases the block.
    Erase,
}

impl Space {
    pub fn new(die: u32, map: &FlashMap, fast: Option<SlcBlocks>) -> Self {
        Self {
            die,
            empty: map.empty(die),
            open: OpenBlock::new(map.shape.rows_per_block * map.shape.units_per_row),
            open_fast: OpenBlock::new(fast.map_or(0, |fast| fast.rows * map.shape.units_per_row)),
            fast,
            is_fast: vec![false; map.shape.blocks_per_die as usize],
            fast_blocks: 0,
            collection: None,
            credit: 0,
        }
    }

    fn is_short(&self) -> bool {
        self.empty.len() < FEW
    }

    /// Returns whether this die can take a row of the host's data.
    pub fn takes_row(&self, map: &FlashMap) -> bool {
        let open = self.open.rows_left > 0 || self.open_fast.rows_left > 0;
        let room = open || self.empty.len() > RESERVE;
        room && (!self.is_short() || self.credit >= u64::from(map.shape.units_per_row))
    }

    /// Returns the place of the host's next row. [`Space::takes_row`] must have returned true.
    pub fn host_target(&mut self, map: &FlashMap) -> Option<RowTarget> {
        if self.is_short() {
            self.credit = self.credit.saturating_sub(u64::from(map.shape.units_per_row));
        }
        if let Some(fast) = self.fast {
            let more = !self.is_short() && self.fast_blocks < fast.blocks;
            if self.open_fast.block.is_none() && more {
                let block = self.empty.pop_front()?;
                self.open_fast.begin(block, fast.rows);
                self.set_fast(block, true);
            }
            if let Some(block) = self.open_fast.block {
                return Some(RowTarget { block, fast: true });
            }
        }
        self.target(map)
    }

    /// Returns the place of the next row that collection writes.
    pub fn target(&mut self, map: &FlashMap) -> Option<RowTarget> {
        if self.open.block.is_none() {
            self.open.begin(self.empty.pop_front()?, map.shape.rows_per_block);
        }
        self.open.block.map(|block| RowTarget { block, fast: false })
    }

    /// Notes that a row of the host's data was programmed.
    pub fn host_row(&mut self, map: &mut FlashMap, target: RowTarget, units: &[u32]) {
        for &unit in units.iter().filter(|&&unit| unit != PADDING) {
            map.settle(unit, target.block);
        }
        let open = if target.fast { &mut self.open_fast } else { &mut self.open };
        open.units.extend(units.iter().filter(|&&unit| unit != PADDING));
        open.row_done(map, target.block);
    }

    /// Notes that a row of collected units was programmed: those gathered first.
    pub fn collected_row(&mut self, map: &mut FlashMap, target: RowTarget) {
        let Some(collection) = &mut self.collection else { return };
        let count = collection.gathered.len().min(map.shape.units_per_row as usize);
        map.copied(&collection.gathered[..count], collection.victim, target.block);
        let due = count as u64 * collection.gain / collection.valid.max(1);
        let due = due.min(collection.gain - collection.given);
        collection.given += due;
        self.credit += due;
        let open = if target.fast { &mut self.open_fast } else { &mut self.open };
        open.units.extend(collection.gathered.drain(..count).map(|kept| kept.unit));
        open.row_done(map, target.block);
    }

    /// Returns whether the SLC cache uses `block`.
    pub fn is_fast(&self, block: BlockId) -> bool {
        self.is_fast[block as usize % self.is_fast.len()]
    }

    fn set_fast(&mut self, block: BlockId, fast: bool) {
        let index = block as usize % self.is_fast.len();
        if std::mem::replace(&mut self.is_fast[index], fast) != fast {
            self.fast_blocks = if fast { self.fast_blocks + 1 } else { self.fast_blocks - 1 };
        }
    }

    /// Returns whether [`Space::collect`] may find any work.
    pub fn may_collect(&self, resting: bool) -> bool {
        self.collection.is_some() || resting || self.is_short()
    }

    /// Returns the next step of collection, if there is one. With `resting`, when no commands come,
    /// it also empties the SLC cache.
    pub fn collect(&mut self, map: &mut FlashMap, resting: bool) -> Option<CollectionStep> {
        if self.collection.is_none() {
            self.begin_collection(map, resting);
        }
        let collection = self.collection.as_mut()?;
        let row = map.shape.units_per_row as usize;
        if collection.gathered.len() >= row {
            return Some(CollectionStep::Write);
        }
        let before = collection.gathered.len();
        let block = collection.victim;
        if map.valid(block) == 0 {
            collection.gathered.clear();
            return Some(CollectionStep::Erase);
        }
        if map.next_row(block, &mut collection.rows, &mut collection.gathered) {
            let read = &collection.gathered[before..];
            return Some(CollectionStep::Read {
                block,
                unit: read[0].unit,
                bytes: UNIT * read.len() as u64,
            });
        }
        Some(if collection.gathered.is_empty() {
            CollectionStep::Erase
        } else {
            CollectionStep::Write
        })
    }

    fn begin_collection(&mut self, map: &mut FlashMap, resting: bool) {
        let whole = map.shape.rows_per_block * map.shape.units_per_row;
        let victim = if self.is_short() {
            map.least_valid(self.die, |_| true)
        } else if resting {
            map.least_valid(self.die, |block| self.is_fast(block))
        } else {
            None
        };
        let Some(victim) = victim else { return };
        let valid = map.valid(victim);
        // The block's data takes whole rows. If it takes as many as the block has, collection gains
        // nothing.
        let gain = whole.saturating_sub(valid.next_multiple_of(map.shape.units_per_row));
        if gain == 0 {
            return;
        }
        self.collection = Some(Collection {
            victim,
            rows: map.collect(victim),
            gathered: Vec::new(),
            valid: u64::from(valid),
            gain: u64::from(gain),
            given: 0,
        });
    }

    /// Notes that the collected block was erased.
    pub fn erased(&mut self, map: &mut FlashMap) {
        if let Some(collection) = self.collection.take() {
            map.erased(collection.victim);
            self.credit += collection.gain - collection.given;
            self.set_fast(collection.victim, false);
            self.empty.push_back(collection.victim);
        }
        if !self.is_short() {
            self.credit = 0;
        }
    }

    /// Returns whether the SLC cache has blocks that resting can empty.
    pub fn has_fast_blocks(&self) -> bool {
        self.fast_blocks > 0
    }
}

impl OpenBlock {
    /// Returns a place for one open block, which may hold up to `units` units.
    fn new(units: u32) -> Self {
        Self { block: None, rows_left: 0, units: Vec::with_capacity(units as usize) }
    }

    fn begin(&mut self, block: BlockId, rows: u32) {
        self.block = Some(block);
        self.rows_left = rows;
        self.units.clear();
    }

    /// Notes that a row of `block` was written, and closes the block after its last row.
    fn row_done(&mut self, map: &mut FlashMap, block: BlockId) {
        self.rows_left -= 1;
        if self.rows_left == 0 {
            self.block = None;
            map.close(block, &mut self.units);
        }
    }
}
