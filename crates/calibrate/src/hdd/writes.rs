//! Facts that only writing shows: whether a write is done once it is in the buffer, how much the
//! buffer takes, and what a flush costs. Destroys what is written over.

use disklab_units::Nanos;

use crate::bench::TestBench;
use crate::error::Result;
use crate::hdd::cache::Bounds;
use crate::numbers::median;
use crate::target::Probe;

/// Long enough for a few writes to reach the medium.
const CALM: Nanos = Nanos::from_millis(300);
/// 32 KiB: small beside a buffer, and many times faster than the medium takes them.
const REQUEST: u32 = 64;
/// At most 256 MiB are written to find the buffer's end.
const MOST: usize = 8192;
/// How many writes go to the medium at its own pace before that pace is believed.
const PACED: usize = 48;
const FLUSHED: usize = 16;

/// Whether single writes are done before the platters could have turned to them. `turn` in
/// nanoseconds.
pub(crate) fn cached(bench: &mut TestBench<'_>, turn: f64) -> Result<bool> {
    let mut latencies = Vec::new();
    for probe in bench.blocks(9, Probe::write) {
        latencies.push(bench.one(probe)?.nanos());
        bench.idle(CALM);
    }
    Ok(median(&latencies) < turn / 4.0)
}

/// How much fits in before a write has to wait, in sectors; `None` if none did.
pub(crate) fn buffer(bench: &mut TestBench<'_>, turn: f64) -> Result<Option<Bounds>> {
    bench.one(Probe::flush())?;
    let mut begun = None;
    let mut taken = 0;
    let mut ends: Vec<f64> = Vec::new();
    for index in 0..MOST {
        let place = bench.place(u64::from(REQUEST));
        let timed = bench.one(Probe::write(place, REQUEST))?;
        let begun = *begun.get_or_insert(timed.submitted.0 as f64);
        if ends.is_empty() && timed.nanos() < turn / 4.0 {
            continue;
        }
        if ends.is_empty() {
            taken = index;
        }
        ends.push(timed.done.0 as f64 - begun);
        if ends.len() > PACED {
            break;
        }
    }
    bench.one(Probe::flush())?;
    let (Some(&first), Some(&last)) = (ends.first(), ends.last()) else { return Ok(None) };
    if ends.len() <= PACED {
        return Ok(None);
    }
    // The medium has taken some meanwhile, as fast as it goes on to.
    let pace = (last - first) / PACED as f64;
    let left = first / pace;
    let room = (taken as f64 + 1.0 - left).max(1.0);
    // By a request and a half: one may just have fitted in, and another just have gone.
    let bound = |requests: f64| (requests.max(1.0) * f64::from(REQUEST)) as u64;
    Ok(Some(Bounds { low: bound(room - 1.5), high: bound(room + 1.5) }))
}

/// Measures the time of a flush for each of a few writes far apart, in nanoseconds.
pub(crate) fn flush(bench: &mut TestBench<'_>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..5 {
        let mut probes = bench.blocks(FLUSHED, Probe::write);
        probes.push(Probe::flush());
        let served = bench.serve(1, &probes)?;
        times.push(served.last().map_or(0.0, |flush| flush.nanos()) / FLUSHED as f64);
    }
    Ok(median(&times))
}
