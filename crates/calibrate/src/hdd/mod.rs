//! The measurement of a hard disk, part by part. Each part has its own file, and later parts build
//! on the results of earlier ones.

mod cache;
mod electronics;
mod mechanics;
mod port;
mod queue;
mod reach;
pub(crate) mod rotation;
mod seek;
pub(crate) mod tracks;
mod work;
mod writes;
mod zones;

use disklab_config::device::Hdd;

use self::rotation::Rotation;
use self::work::HddWork;
use crate::bench::TestBench;
use crate::error::Result;
use crate::plan::Hints;
use crate::sheet::Sheet;

/// Number of calls of [`TestBench::step`] here.
pub(crate) const STEPS: u32 = 10;

/// Measures a disk that is known to rotate.
pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    rotation: &Rotation,
    hints: &Hints,
) -> Result<(Sheet, Vec<String>)> {
    let mut work = HddWork::new(bench, rotation.turn);
    work.rotation(rotation);
    work.port()?;
    let (tracks, zones) = work.surface()?;
    work.seeks(&tracks, &zones)?;
    // The parts that affect loads most come first, because time may run out.
    work.queue(hints)?;
    work.cache()?;
    work.writes(hints)?;
    let HddWork { mut sheet, remarks, .. } = work;
    sheet.sort(Hdd::KEYS);
    Ok((sheet, remarks))
}
