//! Whether a disk turns: by what it does, whatever anybody says of it.

use crate::Error;
use crate::bench::{BLOCK, Bench};
use crate::hdd::rotation::{self, Rotation};
use crate::numbers::median;
use crate::sheet::{plain, time};
use crate::target::Probe;

pub(crate) enum Kind {
    Turns(Rotation),
    Still,
}

/// No arm comes to random places faster than this in the median, in nanoseconds.
const ARM: f64 = 1.5e6;
/// And no disk without an arm is slower.
const ONLY_ARMS: f64 = 4e6;
const READS: usize = 60;

pub(crate) fn measure(bench: &mut Bench<'_>) -> Result<Kind, Error> {
    bench.step("does it turn?");
    let probes: Vec<Probe> = bench
        .places(READS, u64::from(BLOCK))
        .iter()
        .map(|&place| Probe::read(place, BLOCK))
        .collect();
    let timed = bench.serve(1, &probes)?;
    let usual = median(&timed.iter().map(|timed| timed.latency().0 as f64).collect::<Vec<_>>());
    if usual < ARM {
        return Ok(Kind::Still);
    }
    bench.step("rotation");
    match rotation::measure(bench)? {
        Some(rotation) => Ok(Kind::Turns(rotation)),
        None if usual < ONLY_ARMS => Ok(Kind::Still),
        None => Err(Error::Unclear(format!(
            "random reads take {} in the median, as only an arm does, but no rotation shows in them; is something else \
             using the disk?",
            plain(&time(usual))
        ))),
    }
}
