use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::TomlTable;

/// A memory card or an eMMC: one command at a time, no write cache, and flash that is managed by
/// large units of which few can be written at once (Linaro's flash card survey, flashbench).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// What is written anew as a whole: 4 MiB with most cards of 4 GB and more.
    pub allocation_unit: Bytes,
    /// How many allocation units can be under way at once. Who writes to more of them pays a copy
    /// for each change.
    pub open_units: u32,
    /// Whether an open unit takes its pages in any order. If not, a write that goes back in it
    /// costs a copy of it.
    pub any_order: bool,
    /// The least that is programmed: what is smaller costs as much.
    pub page: Bytes,
    /// From a command to the first data of a read.
    pub read_access: Nanos,
    pub read_rate: Rate,
    /// What a write takes besides its data.
    pub write_access: Nanos,
    /// Of data in order: what the card's speed class promises, or more.
    pub write_rate: Rate,
    /// Copying within the card, read and programmed again.
    pub copy_rate: Rate,
    /// Of an allocation unit.
    pub erase_unit: Nanos,
}

impl Card {
    pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let rates = Rate(100_000)..=Rate(2_000_000_000);
        let longest = Nanos::from_millis(100);
        let allocation_unit = table.within("allocation_unit", Bytes::kib(64)..=Bytes::mib(64));
        let open_units = table.within("open_units", 1..=64);
        let any_order = table.required("any_order");
        let page = table.within("page", Bytes::kib(4)..=Bytes::kib(64));
        let read_access = table.within("read_access", Nanos::from_micros(1)..=longest);
        let read_rate = table.within("read_rate", rates.clone());
        let write_access = table.within("write_access", Nanos::from_micros(1)..=longest);
        let write_rate = table.within("write_rate", rates.clone());
        let copy_rate = table.within("copy_rate", rates);
        let erase_unit = table.within("erase_unit", Nanos::from_micros(100)..=Nanos::from_secs(1));
        let (allocation_unit, page) = (allocation_unit?, page?);
        for (key, size) in [("allocation_unit", allocation_unit), ("page", page)] {
            if !size.0.is_power_of_two() {
                table.wrong(key, format!("{size} is not a power of two"));
            }
        }
        if allocation_unit < page {
            table
                .wrong("allocation_unit", format!("{allocation_unit} is less than a page: {page}"));
        }
        let possible = [allocation_unit, page].iter().all(|size| size.0.is_power_of_two())
            && page <= allocation_unit;
        possible.then_some(Self {
            allocation_unit,
            open_units: open_units?,
            any_order: any_order?,
            page,
            read_access: read_access?,
            read_rate: read_rate?,
            write_access: write_access?,
            write_rate: write_rate?,
            copy_rate: copy_rate?,
            erase_unit: erase_unit?,
        })
    }
}
