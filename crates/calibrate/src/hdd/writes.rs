//! Measures what only writes show: whether a write completes once it is in the buffer, the size of
//! the buffer, and the time of a flush. It overwrites data.

use disklab_units::Nanos;

use crate::bench::TestBench;
use crate::error::Result;
use crate::hdd::cache::Bounds;
use crate::numbers::median;
use crate::target::Probe;

/// A pause long enough for a few writes to reach the medium.
const CALM: Nanos = Nanos::from_millis(300);
/// Size of a write in sectors: 32 KiB, small compared with a buffer, and sent many times faster
/// than the medium takes it.
const REQUEST: u32 = 64;
/// Most writes to find the buffer's end: 256 MiB.
const MOST: usize = 8192;
/// Number of writes that wait for the medium, from which its pace is computed.
const PACED: usize = 48;
const FLUSHED: usize = 16;

/// Returns whether single writes complete before the platters could have turned to them. `turn` is
/// in ns.
pub(crate) fn cached(bench: &mut TestBench<'_>, turn: f64) -> Result<bool> {
    let mut latencies = Vec::new();
    for probe in bench.blocks(9, Probe::write) {
        latencies.push(bench.one(probe)?.nanos());
        bench.idle(CALM);
    }
    Ok(median(&latencies) < turn / 4.0)
}

/// Measures how much the buffer takes before a write has to wait, in sectors. Returns `None` if no
/// write had to.
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
    // The medium has taken some writes meanwhile, at the pace of the later ones.
    let pace = (last - first) / PACED as f64;
    let left = first / pace;
    let room = (taken as f64 + 1.0 - left).max(1.0);
    // The bounds are a request and a half to either side: one may just have fitted in, and another
    // may just have left.
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
