//! The places of all data when the disk was made. They are computed and take no memory.
//!
//! There are two initial states. `in order` is that of a disk written once from its first sector to
//! its last, row by row over the dies. `at random` is that of a disk written at random for so long
//! that collection has reached its steady state. In the latter, the younger a block the fuller it
//! is. The fraction of valid units is `u` in the least full block and rho = (u - 1) / ln u over the
//! blocks in use (Desnoyers, "Analytic modeling of SSD write performance", 2012).

use std::ops::Range;

use disklab_config::device::Preconditioned;
use disklab_units::{Random, Seed};

use super::shape::{BlockId, FEW, FlashShape, KeptUnit};

#[derive(Clone)]
pub(crate) enum HomeBlocks {
    InOrder,
    AtRandom { shuffle: Shuffle, age: BlockAges },
}

/// The numbers of valid units in the blocks of each die after long random writing.
#[derive(Clone)]
pub(crate) struct BlockAges {
    /// The first unit of each block of the die, the oldest block first, counted among the units of
    /// the die. The last entry is the number of all of them.
    first_units: Vec<u32>,
    /// The block of each unit of the die whose number is a multiple of `2^guide_step`; a search
    /// begins there.
    guide: Vec<u32>,
    guide_step: u32,
}

impl HomeBlocks {
    pub fn new(how: Preconditioned, shape: &FlashShape, seed: Seed) -> Self {
        match how {
            Preconditioned::InOrder => Self::InOrder,
            Preconditioned::AtRandom => Self::AtRandom {
                shuffle: Shuffle::new(shape.units, seed.derive("home")),
                age: BlockAges::new(shape),
            },
        }
    }

    /// Returns the block in which a unit was, and the number of units before it there.
    pub fn place(&self, shape: &FlashShape, unit: u32) -> (BlockId, u32) {
        let (die, index, before) = match self {
            Self::InOrder => {
                let (row, column) = (unit / shape.units_per_row, unit % shape.units_per_row);
                let (die, row) = (row % shape.dies, row / shape.dies);
                let before = row % shape.rows_per_block * shape.units_per_row + column;
                (die, row / shape.rows_per_block, before)
            }
            Self::AtRandom { shuffle, age } => {
                let place = shuffle.place(unit);
                let (die, on_die) = (place % shape.dies, place / shape.dies);
                let index = age.block(on_die);
                (die, index, on_die - age.units(index).start)
            }
        };
        (die * shape.blocks_per_die + index, before)
    }

    /// Returns the units that one block of each die holds together, if they are consecutive and
    /// begin with `unit`.
    pub fn stripe(&self, shape: &FlashShape, unit: u32) -> Option<Range<u32>> {
        let Self::InOrder = self else { return None };
        let length = u64::from(shape.dies)
            * u64::from(shape.rows_per_block)
            * u64::from(shape.units_per_row);
        let end = (u64::from(unit) + length).min(u64::from(shape.units)) as u32;
        u64::from(unit).is_multiple_of(length).then_some(unit..end)
    }

    /// Returns the number of units that a die's block of this index held.
    pub fn count(&self, shape: &FlashShape, die: u32, index: u32) -> u32 {
        let first = index * shape.rows_per_block;
        match self {
            Self::InOrder => {
                // The die's rows that hold data. Only the last row of the disk can be less than
                // full.
                let used = shape
                    .units
                    .div_ceil(shape.units_per_row)
                    .saturating_sub(die)
                    .div_ceil(shape.dies);
                match used.min(first + shape.rows_per_block).saturating_sub(first) {
                    0 => 0,
                    rows => {
                        let last = row_in_order(shape, die, first + rows - 1);
                        (rows - 1) * shape.units_per_row + last.len() as u32
                    }
                }
            }
            Self::AtRandom { age, .. } => {
                let here = age.units(index);
                let on_die = shape.units.saturating_sub(die).div_ceil(shape.dies);
                here.end.min(on_die).saturating_sub(here.start)
            }
        }
    }

    /// Appends the units that were in row `row` of a die's block of this index, if `passes` accepts
    /// the number of units before them there.
    pub fn row(
        &self,
        shape: &FlashShape,
        (die, index, row): (u32, u32, u32),
        units: &mut Vec<KeptUnit>,
        passes: impl Fn(u32) -> bool,
    ) {
        match self {
            Self::InOrder => {
                let here = row_in_order(shape, die, index * shape.rows_per_block + row);
                let before = row * shape.units_per_row..;
                let here = here.zip(before).map(|(unit, mark)| KeptUnit { unit, mark });
                units.extend(here.filter(|kept| passes(kept.mark)));
            }
            Self::AtRandom { shuffle, age } => {
                let start = age.units(index).start;
                // The invalid units were spread evenly, so each row has its share of the valid
                // ones.
                let count = u64::from(self.count(shape, die, index));
                let until =
                    |row: u32| (count * u64::from(row) / u64::from(shape.rows_per_block)) as u32;
                let here = until(row)..until(row + 1);
                let unit =
                    |mark| KeptUnit { unit: shuffle.unit((start + mark) * shape.dies + die), mark };
                units.extend(here.filter(|&before| passes(before)).map(unit));
            }
        }
    }
}

/// Returns the units in this row of the die. Rows are counted over all blocks of the die.
fn row_in_order(shape: &FlashShape, die: u32, row: u32) -> Range<u32> {
    let first =
        (u64::from(row) * u64::from(shape.dies) + u64::from(die)) * u64::from(shape.units_per_row);
    let end = |unit: u64| unit.min(u64::from(shape.units)) as u32;
    end(first)..end(first + u64::from(shape.units_per_row))
}

impl BlockAges {
    fn new(shape: &FlashShape) -> Self {
        let on_die = f64::from(shape.units.div_ceil(shape.dies));
        let whole = f64::from(shape.rows_per_block * shape.units_per_row);
        // These are the blocks in use one block short of where collection begins.
        let blocks = shape.blocks_per_die - FEW as u32 + 1;
        let u = least_full(on_die / (f64::from(blocks) * whole));
        // The fraction of valid units is u at the oldest end and 1 at the youngest, evenly spaced
        // on a logarithmic scale in between. This is its integral.
        let before = |block: u32| {
            on_die * (u.powf(1.0 - f64::from(block) / f64::from(blocks)) - u) / (1.0 - u)
        };
        let first_units: Vec<u32> =
            (0..=blocks).map(|block| before(block).round() as u32).collect();
        let guide_step = (shape.rows_per_block * shape.units_per_row).ilog2();
        let block = |on_die| first_units.partition_point(|&first| first <= on_die) as u32 - 1;
        let guide =
            (0..=first_units[blocks as usize] >> guide_step).map(|step| block(step << guide_step));
        Self { guide: guide.collect(), guide_step, first_units }
    }

    fn block(&self, on_die: u32) -> u32 {
        let mut block = self.guide[(on_die >> self.guide_step) as usize];
        // A block holds a large part of a step at least, so the loop passes few blocks.
        while self.first_units.get(block as usize + 1).is_some_and(|&next| next <= on_die) {
            block += 1;
        }
        block
    }

    fn units(&self, block: u32) -> Range<u32> {
        let end = |block: u32| {
            self.first_units.get(block as usize).or(self.first_units.last()).copied().unwrap_or(0)
        };
        end(block)..end(block + 1)
    }
}

/// Returns the `u` in 0..1 with (u - 1) / ln u = `rho`, by bisection.
fn least_full(rho: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let u = f64::midpoint(low, high);
        if (u - 1.0) / u.ln() < rho { low = u } else { high = u }
    }
    low
}

/// A pseudo-random permutation of 0..count and its inverse. Two rounds multiply by an odd number
/// and fold the upper half of the bits into the lower, both of which can be undone. They are
/// repeated until the number is below `count`.
#[derive(Clone)]
pub(crate) struct Shuffle {
    count: u32,
    mask: u64,
    fold: u32,
    factors: [u64; 2],
    inverses: [u64; 2],
}

impl Shuffle {
    fn new(count: u32, seed: Seed) -> Self {
        let mut random = Random::new(seed);
        let bits = u64::BITS - u64::from(count).saturating_sub(1).leading_zeros();
        let factors = [0; 2].map(|_| random.next_u64() | 1);
        Self {
            count,
            mask: (1 << bits) - 1,
            fold: bits.div_ceil(2),
            factors,
            inverses: factors.map(inverse),
        }
    }

    fn place(&self, unit: u32) -> u32 {
        let mut x = u64::from(unit);
        loop {
            for factor in self.factors {
                x = x.wrapping_mul(factor) & self.mask;
                x ^= x >> self.fold;
            }
            if x < u64::from(self.count) {
                return x as u32;
            }
        }
    }

    fn unit(&self, place: u32) -> u32 {
        let mut x = u64::from(place);
        loop {
            for inverse in self.inverses.iter().rev() {
                // Folding by half of the bits or more is its own inverse.
                x ^= x >> self.fold;
                x = x.wrapping_mul(*inverse) & self.mask;
            }
            if x < u64::from(self.count) {
                return x as u32;
            }
        }
    }
}

/// Returns the inverse of an odd number modulo 2^64, by Newton's iteration. It starts with three
/// correct bits and doubles their number each time.
fn inverse(odd: u64) -> u64 {
    let step = |x: u64, _| x.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(x)));
    (0..5).fold(odd, step)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shape(units: u32) -> FlashShape {
        let (dies, rows_per_block, units_per_row) = (6, 16, 8);
        let blocks_per_die = units.div_ceil(dies * rows_per_block * units_per_row) + 8;
        FlashShape { units, dies, blocks_per_die, rows_per_block, units_per_row }
    }

    proptest! {
        /// Each unit is in exactly one row, of the block that `place` names, and `count` is the
        /// number of units in a block.
        #[test]
        fn rows_and_blocks_agree(
            units in 1..40_000_u32,
            seed in any::<u64>(),
            at_random in any::<bool>(),
        ) {
            let shape = shape(units);
            let how = if at_random { Preconditioned::AtRandom } else { Preconditioned::InOrder };
            let home = HomeBlocks::new(how, &shape, Seed(seed));
            let mut seen = vec![false; units as usize];
            for block in 0..shape.dies * shape.blocks_per_die {
                let (die, index) = (block / shape.blocks_per_die, block % shape.blocks_per_die);
                let mut here = Vec::new();
                for row in 0..shape.rows_per_block {
                    let before = here.len();
                    home.row(&shape, (die, index, row), &mut here, |_| true);
                    prop_assert!(here.len() - before <= shape.units_per_row as usize);
                }
                prop_assert_eq!(here.len() as u32, home.count(&shape, die, index));
                for (before, KeptUnit { unit, mark }) in here.into_iter().enumerate() {
                    prop_assert_eq!(mark, before as u32);
                    prop_assert_eq!(home.place(&shape, unit), (block, mark));
                    let twice = std::mem::replace(&mut seen[unit as usize], true);
                    prop_assert!(!twice, "{} twice", unit);
                }
            }
            prop_assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
