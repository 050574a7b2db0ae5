//! The measurement of a disk without moving parts, part by part. Later parts build on the results
//! of earlier ones.

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

/// Number of calls of [`TestBench::step`] here.
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
