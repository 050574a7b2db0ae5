//! The page-mapped translation layer of a flash drive, which records the place of all data.
//!
//! Data is mapped in units of 4 KiB. A die's block is written in rows, one after another, and
//! erased as a whole. For each unit the map records only the block that the unit is in, because no
//! time depends on more. For each full block it records the units that were written to it. The
//! position of a unit within its block follows from the order of addresses. The map takes two bytes
//! for a unit of the disk, about two for a written unit, and a bit for a unit of the flash: 1032
//! MiB for a disk of 1 TB whose every unit was written at random (`cargo xtask bench full-disk`).
//!
//! In its steady state, a drive mostly moves data, and the model mostly waits for the memory of so
//! large a map. Therefore it is not the map that says which units of a block are valid: marks
//! beside the block say which units have left it ([`super::gone`]). The entries that the host's
//! next requests need are prefetched.
//!
//! Data that was not written since the disk was made is at [`HomeBlocks`], which takes no memory.
//! Data moved away from a home block stays in order, so a few numbers record its place until it is
//! moved once more.

#[cfg(test)]
mod tests;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use super::codes::UnitCodes;
use super::gone::GoneMarks;
use super::home::HomeBlocks;
use super::packed::{PackedCursor, PackedNumbers};
use super::shape::{BlockId, FlashShape, KeptUnit};

/// The place of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnitPlace {
    /// The unit was trimmed and has no data.
    Nowhere,
    /// The unit is in the write buffer.
    Buffer,
    Block(BlockId),
}

/// The codes in [`UnitCodes`]. The code of a block is its number plus [`FIRST_BLOCK`].
const HOME: u16 = 0;
const NOWHERE: u16 = 1;
const BUFFER: u16 = 2;
const FIRST_BLOCK: u16 = 3;

const _: () = assert!(
    disklab_config::device::MOST_BLOCKS <= (u16::MAX - FIRST_BLOCK) as u64,
    "each has a code"
);

#[derive(Clone)]
pub(crate) struct FlashMap {
    pub shape: FlashShape,
    home: HomeBlocks,
    codes: UnitCodes,
    /// For each block, the number of its valid units.
    valid: Vec<u32>,
    /// The contents of each block.
    contents: Vec<BlockContents>,
    /// Marks of the units that a block's contents list and that are no longer there.
    gone: GoneMarks,
    /// For each block, whether it holds the initial data of the disk.
    is_home: Vec<bool>,
    /// For each home block, the places of the units that were moved out of it. Units behind all
    /// entries were not moved.
    moved: Vec<Vec<MovedUnits>>,
    /// For each block, whether `moved` has entries. This vector is small enough to stay in the
    /// cache.
    has_moved: Vec<bool>,
    /// For each unit, the number of stale copies that are still to be programmed: its data in the
    /// buffer was written anew there or trimmed.
    stale: BTreeMap<u32, u32>,
}

/// The new place of the units of a home block that have fewer than `before` units before them
/// there, and no fewer than the previous entry's `before`.
#[derive(Clone)]
struct MovedUnits {
    before: u32,
    to: BlockId,
}

/// The units that were written to a block.
#[derive(Clone)]
enum BlockContents {
    /// The block is empty, or is being written.
    Unknown,
    /// The units that the disk was filled with when it was made.
    Home,
    Written(PackedNumbers),
}

impl FlashMap {
    pub fn new(shape: FlashShape, home: HomeBlocks) -> Self {
        let blocks = (shape.dies * shape.blocks_per_die) as usize;
        let mut map = Self {
            codes: UnitCodes::new(shape.units),
            valid: vec![0; blocks],
            contents: Vec::with_capacity(blocks),
            gone: GoneMarks::new(blocks, shape.rows_per_block * shape.units_per_row),
            is_home: vec![false; blocks],
            moved: std::iter::repeat_with(Vec::new).take(blocks).collect(),
            has_moved: vec![false; blocks],
            stale: BTreeMap::new(),
            shape,
            home,
        };
        for block in 0..blocks as BlockId {
            let units = map.home.count(&map.shape, map.die(block), map.index(block));
            map.valid[block as usize] = units;
            map.is_home[block as usize] = units > 0;
            map.contents.push(if units > 0 { BlockContents::Home } else { BlockContents::Unknown });
        }
        map
    }

    pub fn place(&self, unit: u32) -> UnitPlace {
        match self.codes.get(unit) {
            HOME => UnitPlace::Block(self.place_from_home(unit).0),
            NOWHERE => UnitPlace::Nowhere,
            BUFFER => UnitPlace::Buffer,
            code => UnitPlace::Block(BlockId::from(code - FIRST_BLOCK)),
        }
    }

    /// Returns the block of a unit that was not written since the disk was made. If that block is
    /// the unit's home, also returns the number of units before it there.
    fn place_from_home(&self, unit: u32) -> (BlockId, Option<u32>) {
        let (block, before) = self.home.place(&self.shape, unit);
        if !self.has_moved[block as usize] {
            return (block, Some(before));
        }
        let moved = self.moved[block as usize].iter().find(|moved| before < moved.before);
        moved.map_or((block, Some(before)), |moved| (moved.to, None))
    }

    pub fn die(&self, block: BlockId) -> u32 {
        block / self.shape.blocks_per_die
    }

    /// Returns the index of a block among the blocks of its die.
    fn index(&self, block: BlockId) -> u32 {
        block % self.shape.blocks_per_die
    }

    /// Returns whether the block holds initial data of the disk.
    pub fn is_home(&self, block: BlockId) -> bool {
        self.is_home[block as usize]
    }

    /// Notes that the unit is written anew, into the buffer.
    pub fn buffer(&mut self, unit: u32) {
        self.leave(unit, BUFFER);
    }

    /// Discards the data of these units.
    pub fn trim(&mut self, units: Range<u32>) {
        let mut unit = units.start;
        while unit < units.end {
            if let Some(stripe) = self.untouched(unit).filter(|stripe| stripe.end <= units.end) {
                // A whole disk consists of many stripes, and to compute the block of every single
                // unit would take long.
                for die in 0..self.shape.dies {
                    let block = self.home_in_order(unit, die);
                    if matches!(self.contents[block], BlockContents::Home) {
                        self.valid[block] = 0;
                    }
                }
                unit = stripe.end;
                self.codes.fill(stripe, NOWHERE);
            } else {
                self.leave(unit, NOWHERE);
                unit += 1;
            }
        }
    }

    /// Returns the units of a block of each die, if they begin at `unit` and none of them was
    /// written or trimmed since the disk was made.
    fn untouched(&self, unit: u32) -> Option<Range<u32>> {
        let stripe = self.home.stripe(&self.shape, unit)?;
        let whole = |die: u32| {
            let block = self.home_in_order(unit, die);
            let units = self.home.count(&self.shape, die, self.index(block as BlockId));
            // All valid units of a block that was never collected are initial data.
            units == 0
                || matches!(self.contents[block], BlockContents::Home) && self.valid[block] == units
        };
        (0..self.shape.dies).all(whole).then_some(stripe)
    }

    /// Returns the block of `die` in the stripe of `unit`.
    fn home_in_order(&self, unit: u32, die: u32) -> usize {
        let index = unit / self.shape.units_per_row / self.shape.dies / self.shape.rows_per_block;
        (die * self.shape.blocks_per_die + index) as usize
    }

    fn leave(&mut self, unit: u32, code: u16) {
        let before = self.codes.get(unit);
        self.codes.set(unit, code);
        if before == BUFFER {
            *self.stale.entry(unit).or_default() += 1;
        }
        if let Some((block, mark)) = self.mark(unit, before) {
            self.valid[block as usize] -= 1;
            self.gone.mark(block, mark);
        }
    }

    /// Returns the block of a unit with this code, and the mark that says that the unit has left
    /// it.
    fn mark(&self, unit: u32, code: u16) -> Option<(BlockId, u32)> {
        let (block, before) = match code {
            HOME => self.place_from_home(unit),
            NOWHERE | BUFFER => return None,
            code => (BlockId::from(code - FIRST_BLOCK), None),
        };
        Some((block, before.unwrap_or_else(|| self.gone.drawn(unit))))
    }

    /// Notes that the unit was programmed from the buffer to `block`. If it was written anew or
    /// trimmed meanwhile, this copy is stale. (If two dies program two copies at once, the one that
    /// ends last counts.)
    pub fn settle(&mut self, unit: u32, block: BlockId) {
        if let Entry::Occupied(mut stale) = self.stale.entry(unit) {
            *stale.get_mut() -= 1;
            if *stale.get() == 0 {
                stale.remove();
            }
            return self.gone.mark_any(block, unit);
        }
        // All copies but the last are stale, so this is the last. A look into the map would confirm
        // it, but would wait for memory.
        debug_assert_eq!(self.codes.get(unit), BUFFER);
        self.codes.set(unit, code(block));
        self.valid[block as usize] += 1;
    }

    /// Prefetches the entry of a unit that will be looked up soon.
    pub fn expect(&self, unit: u32) {
        self.codes.expect(unit);
    }

    /// Prefetches the mark that a write of this unit will set very soon. [`FlashMap::expect`] was
    /// called for the unit before.
    pub fn expect_write(&self, unit: u32) {
        if let Some((block, mark)) = self.mark(unit, self.codes.get(unit)) {
            self.gone.expect(block, mark);
        }
    }

    /// Notes that these units were copied. The copy of a unit that was written anew or trimmed
    /// meanwhile is stale.
    pub fn copied(&mut self, kept: &[KeptUnit], from: BlockId, to: BlockId) {
        let is_home = self.is_home(from);
        let mut copied = 0;
        for &kept in kept {
            if !self.is_there(kept, from) {
                self.gone.mark_any(to, kept.unit);
                continue;
            }
            copied += 1;
            if !is_home {
                self.codes.set(kept.unit, code(to));
            }
        }
        if let (true, Some(last)) = (is_home, kept.last()) {
            self.moved_from_home(last.mark + 1, from, to);
        }
        self.valid[from as usize] -= copied;
        self.valid[to as usize] += copied;
    }

    /// Returns whether a unit that was written to `block` is still there.
    fn is_there(&self, KeptUnit { unit, mark }: KeptUnit, block: BlockId) -> bool {
        // In home blocks each unit has a mark of its own.
        !self.gone.is_marked(block, mark)
            || !self.is_home(block) && self.place(unit) == UnitPlace::Block(block)
    }

    /// Notes that all units of `from` with fewer than `before` units before them, and not moved
    /// earlier, went to `to`.
    fn moved_from_home(&mut self, before: u32, from: BlockId, to: BlockId) {
        self.has_moved[from as usize] = true;
        let moved = &mut self.moved[from as usize];
        match moved.last_mut() {
            Some(last) if last.to == to => last.before = before,
            _ => moved.push(MovedUnits { before, to }),
        }
    }

    /// Returns the number of valid units in the block.
    pub fn valid(&self, block: BlockId) -> u32 {
        self.valid[block as usize]
    }

    /// Notes that the block is full and that these units were written to it. Empties `units`.
    pub fn close(&mut self, block: BlockId, units: &mut Vec<u32>) {
        radsort::sort(units);
        units.dedup();
        self.contents[block as usize] = BlockContents::Written(PackedNumbers::new(units));
        units.clear();
    }

    /// Returns the full block of `die` with the fewest valid units, among those that `may` accepts.
    pub fn least_valid(&self, die: u32, may: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        let first = die * self.shape.blocks_per_die;
        (first..first + self.shape.blocks_per_die)
            .filter(|&block| {
                !matches!(self.contents[block as usize], BlockContents::Unknown) && may(block)
            })
            .min_by_key(|&block| self.valid[block as usize])
    }

    /// Returns the blocks of `die` to which nothing was written yet.
    pub fn empty(&self, die: u32) -> VecDeque<BlockId> {
        let first = die * self.shape.blocks_per_die;
        let blocks = first..first + self.shape.blocks_per_die;
        blocks
            .filter(|&block| matches!(self.contents[block as usize], BlockContents::Unknown))
            .collect()
    }

    /// Removes and returns the record of the units written to `block`, to be read row by row. The
    /// block is not chosen again meanwhile.
    pub fn collect(&mut self, block: BlockId) -> Rows {
        match std::mem::replace(&mut self.contents[block as usize], BlockContents::Unknown) {
            BlockContents::Written(units) => Rows::Written(units, PackedCursor::default()),
            _ => Rows::Home(0..self.shape.rows_per_block),
        }
    }

    /// Notes that the block was erased.
    pub fn erased(&mut self, block: BlockId) {
        self.gone.forget(block);
        self.is_home[block as usize] = false;
    }

    /// Appends the valid units of the next row of `block` that has any. Returns whether there was
    /// such a row.
    pub fn next_row(&self, block: BlockId, rows: &mut Rows, valid: &mut Vec<KeptUnit>) -> bool {
        let before = valid.len();
        loop {
            match rows {
                Rows::Written(units, cursor) => {
                    let Some(first) = units.next(cursor) else { return false };
                    let rest = (1..self.shape.units_per_row).map_while(|_| units.next(cursor));
                    let row = std::iter::once(first).chain(rest);
                    let row = row.map(|unit| KeptUnit { unit, mark: self.gone.drawn(unit) });
                    valid.extend(row.filter(|&kept| self.is_there(kept, block)));
                }
                Rows::Home(rows) => {
                    let Some(row) = rows.next() else { return false };
                    let place = (self.die(block), self.index(block), row);
                    self.home.row(&self.shape, place, valid, |before| {
                        !self.gone.is_marked(block, before)
                    });
                }
            }
            if valid.len() > before {
                return true;
            }
        }
    }
}

fn code(block: BlockId) -> u16 {
    FIRST_BLOCK + block as u16
}

/// The rows of a block that are still to be read.
#[derive(Clone)]
pub(crate) enum Rows {
    Home(Range<u32>),
    Written(PackedNumbers, PackedCursor),
}
