use disklab_config::device::Preconditioned;
use disklab_units::Seed;
use proptest::prelude::*;

use super::*;

/// Returns a map of four dies with blocks of 16 rows of 4 units: 256 units in a stripe.
fn map(units: u32, how: Preconditioned) -> FlashMap {
    let shape = FlashShape {
        units,
        dies: 4,
        blocks_per_die: units.div_ceil(256) + 8,
        rows_per_block: 16,
        units_per_row: 4,
    };
    let home = HomeBlocks::new(how, &shape, Seed(1));
    FlashMap::new(shape, home)
}

/// A map, and a plain list of the place of each unit.
struct WatchedMap {
    map: FlashMap,
    places: Vec<UnitPlace>,
    /// Units that were written and not programmed yet.
    log: VecDeque<u32>,
    open: BlockId,
    written: Vec<u32>,
    empty: VecDeque<BlockId>,
}

impl WatchedMap {
    fn new(how: Preconditioned) -> Self {
        let map = map(700, how);
        let places = (0..map.shape.units).map(|unit| map.place(unit)).collect();
        let mut empty: VecDeque<BlockId> =
            (0..map.shape.dies).flat_map(|die| map.empty(die)).collect();
        let open = empty.pop_front().expect("there is room");
        Self { map, places, log: VecDeque::new(), open, written: Vec::new(), empty }
    }

    fn write(&mut self, unit: u32) {
        self.map.buffer(unit);
        self.places[unit as usize] = UnitPlace::Buffer;
        self.log.push_back(unit);
    }

    fn trim(&mut self, unit: u32) {
        self.map.trim(unit..unit + 1);
        self.places[unit as usize] = UnitPlace::Nowhere;
    }

    fn program(&mut self) {
        let Some(unit) = self.log.pop_front() else { return };
        self.map.settle(unit, self.open);
        if self.places[unit as usize] == UnitPlace::Buffer && !self.log.contains(&unit) {
            self.places[unit as usize] = UnitPlace::Block(self.open);
        }
        self.fill([unit]);
    }

    fn fill(&mut self, units: impl IntoIterator<Item = u32>) {
        self.written.extend(units);
        if self.written.len() >= 50 {
            self.map.close(self.open, &mut self.written);
            self.open = self.empty.pop_front().expect("there is room");
        }
    }

    /// Collects the block with the fewest valid units. Calls `write` between reading and writing
    /// each row.
    fn collect(&mut self, die: u32, mut write: impl FnMut(&mut Self)) {
        let Some(victim) = self.map.least_valid(die, |_| true) else { return };
        let mut rows = self.map.collect(victim);
        loop {
            let mut row = Vec::new();
            if !self.map.next_row(victim, &mut rows, &mut row) {
                break;
            }
            for &KeptUnit { unit, .. } in &row {
                assert_eq!(
                    self.places[unit as usize],
                    UnitPlace::Block(victim),
                    "unit {unit} is read from there"
                );
            }
            write(self);
            self.map.copied(&row, victim, self.open);
            for &KeptUnit { unit, .. } in &row {
                let place = &mut self.places[unit as usize];
                *place = if *place == UnitPlace::Block(victim) {
                    UnitPlace::Block(self.open)
                } else {
                    *place
                };
            }
            self.fill(row.into_iter().map(|kept| kept.unit));
        }
        assert_eq!(self.map.valid(victim), 0);
        self.map.erased(victim);
        self.empty.push_back(victim);
    }
}

proptest! {
    /// After random writes, trims and moves, each unit is where a plain list says.
    #[test]
    fn each_unit_is_where_it_went(
        steps in prop::collection::vec((0..6_u8, any::<u32>()), 1..150),
        hot in 1..700_u32,
        at_random in any::<bool>(),
    ) {
        let how = if at_random { Preconditioned::AtRandom } else { Preconditioned::InOrder };
        let mut watched = WatchedMap::new(how);
        for (kind, number) in steps {
            match kind {
                0 => watched.trim(number % hot),
                1 => watched.program(),
                2 => watched.collect(number % 4, |_| ()),
                3 => watched.collect(number % 4, |watched| watched.write(number % hot)),
                _ => watched.write(number % hot),
            }
            for unit in 0..watched.map.shape.units {
                let expected = watched.places[unit as usize];
                prop_assert_eq!(watched.map.place(unit), expected, "unit {}", unit);
            }
            for block in 0..watched.map.valid.len() as BlockId {
                let places = watched.places.iter();
                let here = places.filter(|&&place| place == UnitPlace::Block(block)).count();
                prop_assert_eq!(watched.map.valid(block) as usize, here, "block {}", block);
            }
        }
    }

    /// Trimming a range is the same as trimming its units one after another.
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
            prop_assert!((0..units).all(|unit| at_once.codes.get(unit) == singly.codes.get(unit)));
            prop_assert_eq!(&at_once.valid, &singly.valid);
            prop_assert_eq!(&at_once.stale, &singly.stale);
        }
    }
}
