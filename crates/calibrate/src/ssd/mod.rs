//! A disk without moving parts: part by part, later ones on what earlier ones found.

mod changes;
mod collection;
mod latency;
mod parallel;
mod reads;
mod sizes;
mod work;
mod writes;

use disklab_config::device::Ssd;

use self::work::SsdWork;
use crate::bench::TestBench;
use crate::error::Result;
use crate::plan::Hints;
use crate::sheet::Sheet;

/// How many times [`TestBench::step`] is called here.
pub(crate) const STEPS: u32 = 6;

pub(crate) fn measure(bench: &mut TestBench<'_>, hints: Hints) -> Result<(Sheet, Vec<String>)> {
    let mut work = SsdWork::begin(bench, hints)?;
    work.command()?;
    work.flash()?;
    work.bus();
    work.queue();
    work.changes()?;
    work.sheet.sort(Ssd::KEYS);
    Ok((work.sheet, work.remarks))
}
