use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::read::Table;

/// A solid-state disk: dies that work in parallel behind channels, behind one link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ssd {
    /// Buses between the controller and the flash; one transfer at a time each.
    pub channels: u32,
    /// Each die reads, programs or erases one page or block at a time.
    pub dies_per_channel: u32,
    /// What a die reads or programs at once: 4 KiB to 64 KiB, a power of two.
    pub page: Bytes,
    /// tR, from the cells into the die's register. One value for each type of page (lower, middle, upper of a TLC
    /// cell); which one a page is depends on its address.
    pub read_page: Vec<Nanos>,
    /// tProg.
    pub program_page: Nanos,
    /// tBERS.
    pub erase_block: Nanos,
    pub pages_per_block: u32,
    /// Of one channel.
    pub channel: Rate,
    /// Of the interface to the host, after its encoding: about 550 MB/s for SATA at 6 Gb/s.
    pub link: Rate,
    /// The link's time for what surrounds the data of each command; no other transfer goes on meanwhile. With the
    /// transfer itself it bounds the requests a second: 2.7 us and 4 KiB at 550 MB/s make 98 000.
    pub link_command: Nanos,
    /// Controller, for each command. Many commands are in this stage at once.
    pub command_overhead: Nanos,
    /// 32 for SATA.
    pub queue_depth: u32,
    /// Writes are done for the host once they are in here.
    pub write_buffer: Bytes,
    /// What a flush takes besides emptying the buffer.
    pub flush: Nanos,
    /// Whether other commands go on during a flush. No for SATA.
    pub queued_flush: bool,
}

impl Ssd {
    pub(super) fn read(table: &Table<'_, '_>) -> Option<Self> {
        let channels = table.within("channels", 1..=64);
        let dies_per_channel = table.within("dies_per_channel", 1..=64);
        let page = read_page_size(table);
        let read_page = read_page_times(table);
        let program_page = table.within("program_page", Nanos::from_micros(10)..=Nanos::from_millis(100));
        let erase_block = table.within("erase_block", Nanos::from_micros(100)..=Nanos::from_secs(1));
        let pages_per_block = table.within("pages_per_block", 16..=16_384);
        let channel = table.within("channel", Rate(10_000_000)..=Rate(10_000_000_000));
        let link = table.within("link", Rate(10_000_000)..=Rate(64_000_000_000));
        let link_command = table.within("link_command", Nanos::ZERO..=Nanos::from_millis(1));
        let command_overhead = table.within("command_overhead", Nanos::ZERO..=Nanos::from_millis(10));
        let queue_depth = table.within("queue_depth", 1..=4096);
        let write_buffer = table.within("write_buffer", Bytes::kib(64)..=Bytes::gib(64));
        let flush = table.within("flush", Nanos::ZERO..=Nanos::from_secs(1));
        let queued_flush = table.required("queued_flush");
        Some(Self {
            channels: channels?,
            dies_per_channel: dies_per_channel?,
            page: page?,
            read_page: read_page?,
            program_page: program_page?,
            erase_block: erase_block?,
            pages_per_block: pages_per_block?,
            channel: channel?,
            link: link?,
            link_command: link_command?,
            command_overhead: command_overhead?,
            queue_depth: queue_depth?,
            write_buffer: write_buffer?,
            flush: flush?,
            queued_flush: queued_flush?,
        })
    }
}

fn read_page_size(table: &Table<'_, '_>) -> Option<Bytes> {
    let page = table.within("page", Bytes::kib(4)..=Bytes::kib(64))?;
    if !page.0.is_power_of_two() {
        table.wrong("page", format!("{page} is not a power of two"));
        return None;
    }
    Some(page)
}

fn read_page_times(table: &Table<'_, '_>) -> Option<Vec<Nanos>> {
    let (shortest, longest) = (Nanos::from_micros(1), Nanos::from_millis(10));
    let times = table.required_list::<Nanos>("read_page");
    if times.is_empty() {
        return None;
    }
    if times.len() > 4 {
        table.wrong(
            "read_page",
            "at most four times, one for each type of page: [\"50us\", \"80us\", \"110us\"]",
        );
    }
    let sensible = shortest..=longest;
    for time in times.iter().filter(|time| !sensible.contains(&time.value)) {
        table.wrong_at(
            &time.place,
            format!("{} is not sensible: from {shortest} to {longest} is", time.value),
        );
    }
    Some(times.into_iter().map(|time| time.value).collect())
}
