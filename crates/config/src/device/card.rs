use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, from_table};

from_table! {
    /// A memory card or an eMMC. It does one command at a time and has no write cache. It manages
    /// its flash in large units, few of which can be written at once (Linaro's flash card survey,
    /// flashbench).
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Card {
        /// The unit that the card rewrites as a whole: 4 MiB with most cards of 4 GB and more.
        pub allocation_unit: Bytes = power_of_two(Bytes::kib(64)..=Bytes::mib(64)),
        /// Number of allocation units that can be written at the same time. A program that writes
        /// to more of them pays a copy for each change of unit.
        pub open_units: u32 = within(1..=64),
        /// Whether an open unit takes its pages in any order. If not, a write before the last
        /// written page costs a copy of the unit.
        pub any_order: bool = required(),
        /// The smallest programmed unit. A smaller write costs as much.
        pub page: Bytes = power_of_two(Bytes::kib(4)..=Bytes::kib(64)),
        /// Time from a command to the first data of a read.
        pub read_access: Nanos = within(ACCESS),
        /// Bandwidth of reads.
        pub read_rate: Rate = within(RATES),
        /// Time of a write without the transfer of its data.
        pub write_access: Nanos = within(ACCESS),
        /// Rate of sequential writes: that of the card's speed class, or more.
        pub write_rate: Rate = within(RATES),
        /// Rate of copying within the card, where data is read and programmed again.
        pub copy_rate: Rate = within(RATES),
        /// Time to erase an allocation unit.
        pub erase_unit: Nanos = within(Nanos::from_micros(100)..=Nanos::from_secs(1)),
    }
}

const ACCESS: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_millis(100);
const RATES: std::ops::RangeInclusive<Rate> = Rate(100_000)..=Rate(2_000_000_000);

impl Card {
    pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let card = Self::from_table(table)?;
        let Self { allocation_unit, page, .. } = card;
        table.refuse_if(allocation_unit < page, "allocation_unit", || {
            format!("{allocation_unit} is less than a page: {page}")
        });
        (page <= allocation_unit).then_some(card)
    }
}
