//! Where each piece of data is: the page-mapped translation of a flash drive.
//!
//! Data is mapped by units of 4 KiB. A die's block is written in rows, one after another, and erased as a whole. The map
//! knows of each unit the block that it is in, which is all that time depends on, and of each full block the units that
//! were written to it; where within the block a unit is, it takes from the order of addresses. That is two bytes for a
//! unit of the disk and about two for one written, so that a disk of 1 TB whose every unit was written at random takes
//! 1 GB.
//!
//! What was never written since the disk was made is at [`Home`], and takes no memory.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use disklab_units::Bytes;

use super::home::Home;
use super::packed::{Cursor, Packed};

pub(crate) const UNIT: Bytes = Bytes::kib(4);

/// Which block, counted over all dies, those of each die together.
pub(crate) type BlockId = u32;

/// Where a unit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// On no medium: trimmed.
    Nowhere,
    /// In the write buffer.
    Buffer,
    Block(BlockId),
}

/// Codes of [`Map::places`]; a block's is its number and [`FIRST_BLOCK`].
const HOME: u16 = 0;
const NOWHERE: u16 = 1;
const BUFFER: u16 = 2;
const FIRST_BLOCK: u16 = 3;

const _: () =
    assert!(disklab_spec::device::MOST_BLOCKS <= (u16::MAX - FIRST_BLOCK) as u64, "each has a code");

pub(crate) struct Shape {
    /// Of the disk as the host sees it.
    pub units: u32,
    pub dies: u32,
    pub blocks_per_die: u32,
    pub rows_per_block: u32,
    pub units_per_row: u32,
}

pub(crate) struct Map {
    pub shape: Shape,
    home: Home,
    /// By unit.
    places: Vec<u16>,
    /// By block: units that are nowhere else.
    valid: Vec<u32>,
    /// By block.
    contents: Vec<Contents>,
    /// Of units whose data in the buffer was written anew there or trimmed: how many such copies are still to be programmed.
    stale: BTreeMap<u32, u32>,
}

/// What was written to a block.
enum Contents {
    /// Nothing, or it is being written.
    Unknown,
    /// What the disk was filled with when it was made.
    Home,
    Written(Packed),
}

impl Map {
    pub fn new(shape: Shape, home: Home) -> Self {
        let blocks = (shape.dies * shape.blocks_per_die) as usize;
        let mut map = Self {
            places: vec![HOME; shape.units as usize],
            valid: vec![0; blocks],
            contents: Vec::with_capacity(blocks),
            stale: BTreeMap::new(),
            shape,
            home,
        };
        for block in 0..blocks as BlockId {
            let units = map.home.count(&map.shape, map.die(block), map.index(block));
            map.valid[block as usize] = units;
            map.contents.push(if units > 0 { Contents::Home } else { Contents::Unknown });
        }
        map
    }

    pub fn place(&self, unit: u32) -> Place {
        match self.places[unit as usize] {
            HOME => Place::Block(self.home.block(&self.shape, unit)),
            NOWHERE => Place::Nowhere,
            BUFFER => Place::Buffer,
            code => Place::Block(BlockId::from(code - FIRST_BLOCK)),
        }
    }

    pub fn die(&self, block: BlockId) -> u32 {
        block / self.shape.blocks_per_die
    }

    /// Of a block among those of its die.
    fn index(&self, block: BlockId) -> u32 {
        block % self.shape.blocks_per_die
    }

    /// Whether the unit is where it was when the disk was made.
    pub fn is_home(&self, unit: u32) -> bool {
        self.places[unit as usize] == HOME
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
                    if matches!(self.contents[block], Contents::Home) {
                        self.valid[block] = 0;
                    }
                }
                unit = stripe.end;
                self.places[stripe.start as usize..stripe.end as usize].fill(NOWHERE);
            } else {
                self.leave(unit, NOWHERE);
                unit += 1;
            }
        }
    }

    /// The units of a block of each die, if they begin at `unit` and none of them was written or trimmed since the disk was made.
    fn untouched(&self, unit: u32) -> Option<Range<u32>> {
        let stripe = self.home.stripe(&self.shape, unit)?;
        let whole = |die: u32| {
            let block = self.home_in_order(unit, die);
            let units = self.home.count(&self.shape, die, self.index(block as BlockId));
            // Of a block that was never collected, all that is valid is what the disk was made with.
            units == 0 || matches!(self.contents[block], Contents::Home) && self.valid[block] == units
        };
        (0..self.shape.dies).all(whole).then_some(stripe)
    }

    /// The block of `die` in the stripe of `unit`.
    fn home_in_order(&self, unit: u32, die: u32) -> usize {
        let index = unit / self.shape.units_per_row / self.shape.dies / self.shape.rows_per_block;
        (die * self.shape.blocks_per_die + index) as usize
    }

    fn leave(&mut self, unit: u32, code: u16) {
        match self.place(unit) {
            Place::Block(block) => self.valid[block as usize] -= 1,
            Place::Buffer => *self.stale.entry(unit).or_default() += 1,
            Place::Nowhere => {}
        }
        self.places[unit as usize] = code;
    }

    /// The unit was programmed from the buffer to `block`. If it was written anew or trimmed meanwhile, what is on the
    /// medium now is of no use. (Of two copies that two dies program at once, the one that is done last counts.)
    pub fn settle(&mut self, unit: u32, block: BlockId) {
        if let Entry::Occupied(mut stale) = self.stale.entry(unit) {
            *stale.get_mut() -= 1;
            if *stale.get() == 0 {
                stale.remove();
            }
        } else if self.places[unit as usize] == BUFFER {
            self.enter(unit, block);
        }
    }

    /// The unit was copied. If it was written anew or trimmed meanwhile, the copy is of no use.
    pub fn copied(&mut self, unit: u32, from: BlockId, to: BlockId) {
        if self.place(unit) == Place::Block(from) {
            self.valid[from as usize] -= 1;
            self.enter(unit, to);
        }
    }

    fn enter(&mut self, unit: u32, block: BlockId) {
        self.places[unit as usize] = FIRST_BLOCK + block as u16;
        self.valid[block as usize] += 1;
    }

    pub fn valid(&self, block: BlockId) -> u32 {
        self.valid[block as usize]
    }

    /// The block is full: these units were written to it. `units` is emptied.
    pub fn close(&mut self, block: BlockId, units: &mut Vec<u32>) {
        units.sort_unstable();
        units.dedup();
        self.contents[block as usize] = Contents::Written(Packed::new(units));
        units.clear();
    }

    /// The full block of `die` with the fewest valid units, among those that `may` be chosen.
    pub fn least_valid(&self, die: u32, may: impl Fn(BlockId) -> bool) -> Option<BlockId> {
        let first = die * self.shape.blocks_per_die;
        (first..first + self.shape.blocks_per_die)
            .filter(|&block| !matches!(self.contents[block as usize], Contents::Unknown) && may(block))
            .min_by_key(|&block| self.valid[block as usize])
    }

    /// The blocks of `die` that nothing was written to yet.
    pub fn empty(&self, die: u32) -> VecDeque<BlockId> {
        let first = die * self.shape.blocks_per_die;
        let blocks = first..first + self.shape.blocks_per_die;
        blocks.filter(|&block| matches!(self.contents[block as usize], Contents::Unknown)).collect()
    }

    /// Takes out what was written to `block`, to be read row by row. Nobody else chooses the block meanwhile.
    pub fn collect(&mut self, block: BlockId) -> Rows {
        match std::mem::replace(&mut self.contents[block as usize], Contents::Unknown) {
            Contents::Written(units) => Rows::Written(units, Cursor::default()),
            _ => Rows::Home(0..self.shape.rows_per_block),
        }
    }

    /// Appends the valid units of the next row of `block` that has any; `false` if there is no such row.
    pub fn next_row(&self, block: BlockId, rows: &mut Rows, valid: &mut Vec<u32>) -> bool {
        let before = valid.len();
        let code = FIRST_BLOCK + block as u16;
        let is = |unit: u32, code: u16| self.places[unit as usize] == code;
        loop {
            match rows {
                Rows::Written(units, cursor) => {
                    let Some(first) = units.next(cursor) else { return false };
                    let rest = (1..self.shape.units_per_row).map_while(|_| units.next(cursor));
                    valid.extend(std::iter::once(first).chain(rest).filter(|&unit| is(unit, code)));
                }
                Rows::Home(rows) => {
                    let Some(row) = rows.next() else { return false };
                    let place = (self.die(block), self.index(block), row);
                    self.home.row(&self.shape, place, valid, |unit| is(unit, HOME));
                }
            }
            if valid.len() > before {
                return true;
            }
        }
    }
}

/// What is left of a block to be read.
pub(crate) enum Rows {
    Home(Range<u32>),
    Written(Packed, Cursor),
}

#[cfg(test)]
mod tests {
    use disklab_spec::device::Preconditioned;
    use disklab_units::Seed;
    use proptest::prelude::*;

    use super::*;

    /// Four dies with blocks of 16 rows of 4 units: 256 units in a stripe.
    fn map(units: u32, how: Preconditioned) -> Map {
        let shape = Shape {
            units,
            dies: 4,
            blocks_per_die: units.div_ceil(256) + 8,
            rows_per_block: 16,
            units_per_row: 4,
        };
        let home = Home::new(how, &shape, Seed(1));
        Map::new(shape, home)
    }

    proptest! {
        /// A range at once is what its units are one after another.
        #[test]
        fn ranges_are_trimmed_as_single_units_are(
            units in 1..3_000_u32,
            written in prop::collection::vec((any::<u32>(), any::<bool>()), 0..30),
            ranges in prop::collection::vec((any::<u32>(), any::<u32>()), 1..5),
            at_random in any::<bool>(),
        ) {
            let how = if at_random { Preconditioned::AtRandom } else { Preconditioned::InOrder };
            let (mut at_once, mut singly) = (map(units, how), map(units, how));
            for map in [&mut at_once, &mut singly] {
                for &(unit, programmed) in &written {
                    map.buffer(unit % units);
                    if programmed {
                        map.settle(unit % units, map.shape.blocks_per_die - 1);
                    }
                }
            }
            for (one, other) in ranges.into_iter().chain([(0, units)]) {
                let (one, other) = (one % (units + 1), other % (units + 1));
                let range = one.min(other)..one.max(other);
                at_once.trim(range.clone());
                range.for_each(|unit| singly.leave(unit, NOWHERE));
                prop_assert_eq!(&at_once.places, &singly.places);
                prop_assert_eq!(&at_once.valid, &singly.valid);
                prop_assert_eq!(&at_once.stale, &singly.stale);
            }
        }
    }
}
