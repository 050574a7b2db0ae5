use std::ops::RangeInclusive;

use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, choices, from_table, in_range, values};

from_table! {
    /// A solid-state disk: channels with dies that work in parallel, all behind one link.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Ssd {
        /// Number of buses between the controller and the flash. Each does one transfer at a time.
        pub channels: u32 = within(1..=64),
        /// Number of dies on each channel. Each die reads, programs or erases one page or block at
        /// a time.
        pub dies_per_channel: u32 = within(1..=64),
        /// Size of the page that a plane of a die reads or programs at once: 4 KiB to 64 KiB, a
        /// power of two.
        pub page: Bytes = power_of_two(Bytes::kib(4)..=Bytes::kib(64)),
        /// Number of parts of a die that work in step: the die reads, programs and erases a page or
        /// block of each at once, at neighbouring addresses.
        pub planes: u32 = within_or(1..=8, 1),
        /// Size of all flash together. The excess over the disk's size is over-provisioning.
        pub raw_size: Bytes = within(Bytes::mib(1)..=Bytes(20_000_000_000_000)),
        /// Times from the cells into the die's register, tR, one for each type of page (lower,
        /// middle, upper of a TLC cell). The address of a page decides its type. All values are
        /// equally frequent: a type of two thirds of the pages has two values beside the one of a
        /// type of a third.
        pub read_page: Vec<Nanos> = with(read_page_times),
        /// Time to program a page, tProg.
        pub program_page: Nanos = within(Nanos::from_micros(10)..=Nanos::from_millis(100)),
        /// Time to erase a block, tBERS.
        pub erase_block: Nanos = within(Nanos::from_micros(100)..=Nanos::from_secs(1)),
        /// Number of pages of a block in each plane.
        pub pages_per_block: u32 = within(16..=16_384),
        /// Time that a die takes to interrupt a program or an erase for a read, and the same time
        /// again to resume. `None`: the die does not interrupt them.
        pub suspend: Option<Nanos> = lenient_within(Nanos(1)..=Nanos::from_millis(10)),
        pub slc: Option<Slc> = lenient_table(Slc::from_table),
        /// Rate of one channel.
        pub channel: Rate = within(CHANNELS_RATE),
        /// Rate of the interface to the host, after its encoding: about 550 MB/s for SATA at 6
        /// Gb/s.
        pub link: Rate = within(Rate(10_000_000)..=Rate(64_000_000_000)),
        /// Time that the link takes for each command besides its data; it does no other transfer in
        /// that time. Together with the transfer it limits the requests per second: 2.7 us and 4
        /// KiB at 550 MB/s allow 98 000.
        pub link_command: Nanos = within(Nanos::ZERO..=Nanos::from_millis(1)),
        /// Time that the link takes for each read besides its data; `None` means that it is
        /// `link_command`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub link_command_read: Option<Nanos> =
            lenient_within(Nanos::ZERO..=Nanos::from_millis(1)),
        /// Time of the controller for each command. Many commands are in this stage at once.
        pub command_overhead: Nanos = within(Nanos::ZERO..=Nanos::from_millis(10)),
        /// Number of requests that the disk takes at once: 32 for SATA.
        pub queue_depth: u32 = within(1..=4096),
        /// Size of the write buffer. A write completes once it is in the buffer.
        pub write_buffer: Bytes = within(Bytes::kib(64)..=Bytes::gib(64)),
        /// Once the buffer is full, the disk takes no write before this much of it is free. `None`:
        /// the disk takes a write as soon as it has room.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub write_drain: Option<Bytes> = lenient_within(Bytes::kib(4)..=Bytes::gib(64)),
        /// Time of a flush besides emptying the buffer.
        pub flush: Nanos = within(Nanos::ZERO..=Nanos::from_secs(1)),
        /// Whether other commands go on during a flush. SATA disks do not continue them.
        pub queued_flush: bool = required(),
        /// Whether the buffer survives a power cut. If it does, a flush has nothing to wait for.
        pub power_loss_protection: bool = with_default(false),
        pub preconditioned: Preconditioned = with_default(Preconditioned::InOrder),
    }
}

choices! {
    /// The way in which the whole disk was written before the trial; the workload's data is part of
    /// it.
    pub enum Preconditioned: "state of an SSD" {
        /// The disk was written once, from its first sector to its last.
        InOrder = "in order",
        /// The disk was written at random until garbage collection reached its steady state.
        AtRandom = "at random",
    }
}

from_table! {
    /// The SLC cache: blocks that are written with one bit per cell. They are quick, and hold less
    /// than other blocks.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Slc {
        /// Bytes of data that all blocks of the cache hold together.
        pub cache: Bytes = within(Bytes::mib(1)..=Bytes(10_000_000_000_000)),
        /// Bits per cell in all other blocks: 3 for TLC.
        pub cell_bits: u32 = within(2..=5),
        pub read_page: Nanos = within(Nanos::from_micros(1)..=Nanos::from_millis(10)),
        pub program_page: Nanos = within(Nanos::from_micros(10)..=Nanos::from_millis(100)),
    }
}

/// Size of the largest disk: its map counts units of 4 KiB with 32 bits.
const LARGEST: Bytes = Bytes(16_000_000_000_000);

/// Range of the rate of a channel between controller and flash.
pub const CHANNELS_RATE: RangeInclusive<Rate> = Rate(10_000_000)..=Rate(10_000_000_000);

/// Largest number of values of `read_page`: the model keeps shares of pages to a sixteenth.
pub const MOST_PAGE_TYPES: usize = 16;

/// Largest number of blocks that the model's map counts, over all dies together.
pub const MOST_BLOCKS: u64 = 65_532;

/// Blocks beyond the disk's size that each die needs at least, as room for collection.
const SPARE_BLOCKS: u64 = 8;

/// Blocks of a die that are empty or being written while the die collects garbage.
const IN_HAND: u64 = 5;

impl Ssd {
    pub fn dies(&self) -> u32 {
        self.channels.max(1) * self.dies_per_channel.max(1)
    }

    /// Returns the bytes that a die reads or programs at once.
    pub fn row(&self) -> Bytes {
        self.page * u64::from(self.planes)
    }

    /// Returns the bytes that a die erases at once.
    pub fn block(&self) -> Bytes {
        self.row() * u64::from(self.pages_per_block)
    }

    /// Reads the table `[ssd]`; `bytes` is the disk's size, if that could be read.
    pub(super) fn read(table: &TomlTable<'_, '_>, bytes: Option<Bytes>) -> Option<Self> {
        let ssd = Self::from_table(table)?;
        table.refuse_if(ssd.write_drain > Some(ssd.write_buffer), "write_drain", || {
            format!("is larger than `write_buffer`, {}", ssd.write_buffer)
        });
        bytes.is_none_or(|bytes| ssd.has_room(table, bytes)).then_some(ssd)
    }

    /// Returns whether there is enough flash for a disk of this size, in no more blocks than the
    /// map counts. If not, records the mistake.
    fn has_room(&self, table: &TomlTable<'_, '_>, bytes: Bytes) -> bool {
        if bytes > LARGEST {
            table.wrong("", format!("{bytes} is out of range (at most {LARGEST})"));
            return false;
        }
        let (dies, block) = (u64::from(self.dies()), self.block());
        let blocks = self.raw_size.0 / (block.0 * dies);
        let all = blocks * dies;
        table.refuse_if(all > MOST_BLOCKS, "raw_size", || {
            let advice = "make blocks larger, by more pages_per_block";
            let most = format!("at most {MOST_BLOCKS} are modelled: {advice}");
            format!("{} make {all} blocks of {block}; {most}", self.raw_size)
        });
        if all > MOST_BLOCKS {
            return false;
        }
        let needed = blocks_needed(bytes, dies, self.row(), block);
        table.refuse_if(blocks < needed, "raw_size", || {
            let least = Bytes(needed * block.0 * dies);
            let needs = format!("{needed} blocks of {block} on each die, {least} in all");
            format!("{} are not enough for {bytes}: collection needs {needs}", self.raw_size)
        });
        blocks >= needed
    }
}

/// Returns the number of blocks that each of `dies` dies needs for a disk of this size, so that
/// collecting some block always yields at least one row. If every block were full of valid units
/// except for less than a row, all blocks together would hold more than the disk has.
pub fn blocks_needed(bytes: Bytes, dies: u64, row: Bytes, block: Bytes) -> u64 {
    const UNIT: u64 = 4096;
    let units = bytes.0.div_ceil(UNIT * dies);
    let (row, block) = (row.0 / UNIT, block.0 / UNIT);
    (units / (block - row + 1) + IN_HAND + 1).max(units.div_ceil(block) + SPARE_BLOCKS)
}

fn read_page_times(table: &TomlTable<'_, '_>, key: &str) -> Option<Vec<Nanos>> {
    let times = table.required_list::<Nanos>(key);
    if times.is_empty() {
        return None;
    }
    if times.len() > MOST_PAGE_TYPES {
        let example = "[\"50us\", \"80us\", \"110us\"]";
        let most = format!("at most {MOST_PAGE_TYPES} times, one for each type of page");
        table.wrong(key, format!("{most}: {example}"));
    }
    for time in &times {
        let range = Nanos::from_micros(1)..=Nanos::from_millis(10);
        if let Err(message) = in_range(&time.value, &range) {
            table.wrong_at(&time.place, message);
        }
    }
    Some(values(times))
}
