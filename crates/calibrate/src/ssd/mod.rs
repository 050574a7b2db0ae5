//! A disk without moving parts: part by part, later ones on what earlier ones found.

mod changes;
mod collection;
mod latency;
mod parallel;
mod reads;
mod sizes;
mod work;
mod writes;

use self::work::SsdWork;
use crate::bench::TestBench;
use crate::error::Error;
use crate::plan::Hints;
use crate::sheet::Sheet;

/// In the order of a device's file.
const KEYS: [&str; 16] = [
    "channels",
    "dies_per_channel",
    "page",
    "raw_size",
    "read_page",
    "program_page",
    "erase_block",
    "pages_per_block",
    "channel",
    "link",
    "link_command",
    "command_overhead",
    "queue_depth",
    "write_buffer",
    "flush",
    "queued_flush",
];

/// How many times [`TestBench::step`] is called here.
pub(crate) const STEPS: u32 = 6;

pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    hints: Hints,
) -> Result<(Sheet, Vec<String>), Error> {
    let mut work = SsdWork::begin(bench, hints)?;
    work.command()?;
    work.flash()?;
    work.bus();
    work.queue();
    work.changes()?;
    work.sheet.sort(&KEYS);
    Ok((work.sheet, work.remarks))
}
