//! The page-mapped translation of a flash drive: where each piece of data is.
//!
//! Data is mapped by units of 4 KiB. A die's block is written in rows, one after another, and
//! erased as a whole. The map knows of each unit the block that it is in, which is all that time
//! depends on, and of each full block the units that were written to it; where within the block a
//! unit is, it takes from the order of addresses. That is two bytes for a unit of the disk, about
//! two for one written and a bit for one of the flash, so that a disk of 1 TB whose every unit was
//! written at random takes 1032 MiB (`cargo xtask bench full-disk`).
//!
//! Nearly all of a drive's work in its steady state is to move data, and nearly all that costs is
//! to wait for memory of a map so large. So it is not looked up there what of a block is valid:
//! what left a block is marked beside it ([`super::gone`]). And what the host's next requests will
//! look up is asked for before they are served.
//!
//! What was never written since the disk was made is at [`HomeBlocks`], and takes no memory. As all
//! that is moved away from a home block goes on in order, a few numbers say where it is then, until
//! it is moved once more.

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
    /// On no medium: trimmed.
    Nowhere,
    /// In the write buffer.
    Buffer,
    Block(BlockId),
}

/// Codes of [`UnitCodes`]; a block's is its number and [`FIRST_BLOCK`].
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
    /// By block: units that are nowhere else.
    valid: Vec<u32>,
    /// By block.
    contents: Vec<BlockContents>,
    /// Marks of the units that a block's contents list and that are no longer there.
    gone: GoneMarks,
    /// By block: it holds what the disk was filled with when it was made.
    is_home: Vec<bool>,
    /// By block: where units went whose home it was. Those that are not behind any are where they
    /// were.
    moved: Vec<Vec<MovedUnits>>,
    /// By block: whether there are such. Unlike these it is small enough to be near at hand.
    has_moved: Vec<bool>,
    /// The number of stale copies that are still to be programmed, by unit: its data in the buffer
    /// was written anew there or trimmed.
    stale: BTreeMap<u32, u32>,
}

/// Units with fewer than so many units before them in their block, and not before a smaller such
/// number, went there.
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

    /// Returns the place of a unit that was not written since the disk was made, and how many units
    /// are before it there, if that is its home.
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

    /// Returns the index of a block among those of its die.
    fn index(&self, block: BlockId) -> u32 {
        block % self.shape.blocks_per_die
    }

    /// Whether what is in the block is there since the disk was made.
    pub fn is_home(&self, block: BlockId) -> bool {
        self.is_home[block as usize]
    }

    /// The unit is written anew, into the buffer.
    pub fn buffer(&mut self, unit: u32) {
        self.leave(unit, BUFFER);
    }

    /// The data of these units is no longer of interest.
    pub fn trim(&mut self, units: Range<u32>) {
        let mut unit = units.start;
        while unit < units.end {
            if let Some(stripe) = self.untouched(unit).filter(|stripe| stripe.end <= units.end) {
                // A whole disk is many such, and each unit's block would be reckoned by itself.
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

    /// The units of a block of each die, if they begin at `unit` and none of them was written or
    /// trimmed since the disk was made.
    fn untouched(&self, unit: u32) -> Option<Range<u32>> {
        let stripe = self.home.stripe(&self.shape, unit)?;
        let whole = |die: u32| {
            let block = self.home_in_order(unit, die);
            let units = self.home.count(&self.shape, die, self.index(block as BlockId));
            // Of a block that was never collected, all that is valid is what the disk was made
            // with.
            units == 0
                || matches!(self.contents[block], BlockContents::Home) && self.valid[block] == units
        };
        (0..self.shape.dies).all(whole).then_some(stripe)
    }

    /// The block of `die` in the stripe of `unit`.
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

    /// The block of a unit with this code, and which of its marks says that the unit is there no
    /// more.
    fn mark(&self, unit: u32, code: u16) -> Option<(BlockId, u32)> {
        let (block, before) = match code {
            HOME => self.place_from_home(unit),
            NOWHERE | BUFFER => return None,
            code => (BlockId::from(code - FIRST_BLOCK), None),
        };
        Some((block, before.unwrap_or_else(|| self.gone.drawn(unit))))
    }

    /// The unit was programmed from the buffer to `block`. If it was written anew or trimmed
    /// meanwhile, what is on the medium now is of no use. (Of two copies that two dies program at
    /// once, the one that is done last counts.)
    pub fn settle(&mut self, unit: u32, block: BlockId) {
        if let Entry::Occupied(mut stale) = self.stale.entry(unit) {
            *stale.get_mut() -= 1;
            if *stale.get() == 0 {
                stale.remove();
            }
            return self.gone.mark_any(block, unit);
        }
        // All copies but the last are stale, so this is the last. To see in the map that it is
        // would wait for memory.
        debug_assert_eq!(self.codes.get(unit), BUFFER);
        self.codes.set(unit, code(block));
        self.valid[block as usize] += 1;
    }

    /// This unit will be asked for soon.
    pub fn expect(&self, unit: u32) {
        self.codes.expect(unit);
    }

    /// This unit, which was expected before, will be written very soon: where it is marked as gone
    /// comes near.
    pub fn expect_write(&self, unit: u32) {
        if let Some((block, mark)) = self.mark(unit, self.codes.get(unit)) {
            self.gone.expect(block, mark);
        }
    }

    /// These units were copied. Of what was written anew or trimmed meanwhile the copy is of no
    /// use.
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

    /// Whether a unit that was written to `block` is still there.
    fn is_there(&self, KeptUnit { unit, mark }: KeptUnit, block: BlockId) -> bool {
        // Of home blocks each unit has a mark of its own.
        !self.gone.is_marked(block, mark)
            || !self.is_home(block) && self.place(unit) == UnitPlace::Block(block)
    }

    /// All with fewer than so many units before them that are there no more went to `to`, if not to
    /// where others went before.
    fn moved_from_home(&mut self, before: u32, from: BlockId, to: BlockId) {
        self.has_moved[from as usize] = true;
        let moved = &mut self.moved[from as usize];
        match moved.last_mut() {
            Some(last) if last.to == to => last.before = before,
            _ => moved.push(MovedUnits { before, to }),
        }
    }

    /// Units that are in the block and nowhere else.
    pub fn valid(&self, block: BlockId) -> u32 {
        self.valid[block as usize]
    }

    /// The block is full: these units were written to it. `units` is emptied.
    pub fn close(&mut self, block: BlockId, units: &mut Vec<u32>) {
        radsort::sort(units);
        units.dedup();
        self.contents[block as usize] = BlockContents::Written(PackedNumbers::new(units));
        units.clear();
    }

    /// The full block of `die` with the fewest valid units, among those that `may` be chosen.
    pub fn least_valid(&self, die: u32, may: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        let first = die * self.shape.blocks_per_die;
        (first..first + self.shape.blocks_per_die)
            .filter(|&block| {
                !matches!(self.contents[block as usize], BlockContents::Unknown) && may(block)
            })
            .min_by_key(|&block| self.valid[block as usize])
    }

    /// The blocks of `die` that nothing was written to yet.
    pub fn empty(&self, die: u32) -> VecDeque<BlockId> {
        let first = die * self.shape.blocks_per_die;
        let blocks = first..first + self.shape.blocks_per_die;
        blocks
            .filter(|&block| matches!(self.contents[block as usize], BlockContents::Unknown))
            .collect()
    }

    /// Takes out what was written to `block`, to be read row by row. Nobody else chooses the block
    /// meanwhile.
    pub fn collect(&mut self, block: BlockId) -> Rows {
        match std::mem::replace(&mut self.contents[block as usize], BlockContents::Unknown) {
            BlockContents::Written(units) => Rows::Written(units, PackedCursor::default()),
            _ => Rows::Home(0..self.shape.rows_per_block),
        }
    }

    /// The block was erased.
    pub fn erased(&mut self, block: BlockId) {
        self.gone.forget(block);
        self.is_home[block as usize] = false;
    }

    /// Appends the valid units of the next row of `block` that has any; `false` if there is no such
    /// row.
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
