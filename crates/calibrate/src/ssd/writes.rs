//! What writing shows: what a program and a flush take, and how much the buffer holds where the dies are slower than the
//! link. Destroys what is written over.

use disklab_units::Nanos;

use crate::Error;
use crate::bench::{BLOCK, Bench};
use crate::numbers::{mean, median, rms};
use crate::target::{Probe, Timed};

/// Long enough for the dies to become idle.
const CALM: Nanos = Nanos::from_millis(30);
const TRIES: usize = 30;
/// 128 KiB.
const REQUEST: u32 = 256;
/// 1 GiB at most to find the buffer's end.
const REQUESTS: u64 = 8192;

/// Nanoseconds.
pub(crate) struct Writes {
    /// Of a write of 4 KiB into the buffer.
    pub buffered: f64,
    /// By how much longer a read takes that finds all dies programming.
    pub programs: f64,
    /// Of a flush after a write of 4 KiB, and how far away from it half of them are, as a part of it.
    pub flush: f64,
    pub flush_error: f64,
}

/// `stripe`: one page of each die, in sectors.
pub(crate) fn measure(bench: &mut Bench<'_>, stripe: u32) -> Result<Writes, Error> {
    let (mut buffered, mut behind, mut flush) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let [small, large, read] = [BLOCK, stripe, BLOCK].map(|room| bench.place(u64::from(room)));
        let timed = bench.serve(1, &[Probe::write(small, BLOCK), Probe::flush()])?;
        let [write, flushed] = [0, 1].map(|index| timed.get(index).copied().map_or(0.0, nanos));
        buffered.push(write);
        flush.push(flushed);
        bench.idle(CALM);
        let lone = nanos(bench.read(read, BLOCK)?);
        let timed = bench.serve(1, &[Probe::write(large, stripe), Probe::read(read, BLOCK)])?;
        behind.push(timed.get(1).copied().map_or(0.0, nanos) - lone);
        bench.idle(CALM);
    }
    let middle = median(&flush);
    let away: Vec<f64> = flush.iter().map(|time| (time / middle.max(1.0) - 1.0).abs()).collect();
    let (buffered, programs) = (median(&buffered), median(&behind));
    Ok(Writes { buffered, programs, flush: middle, flush_error: median(&away) })
}

fn nanos(timed: Timed) -> f64 {
    timed.latency().0 as f64
}

pub(crate) struct Sustained {
    /// Bytes that went in faster than they could go on, where a point shows from which on it is slower; and the error of
    /// that, as a part of it.
    pub buffer: Option<(u64, f64)>,
    /// Bytes a second at the end.
    pub rate: f64,
    /// After so many bytes the rate fell again, to this.
    pub falls: Option<(u64, f64)>,
}

/// Writes in sequence, then at random, and looks where that becomes slower.
pub(crate) fn sustained(bench: &mut Bench<'_>) -> Result<Sustained, Error> {
    bench.one(Probe::flush())?;
    let count = REQUESTS.min(bench.size() / u64::from(REQUEST) / 2);
    let start = bench.place(count * u64::from(REQUEST));
    let probes: Vec<Probe> =
        (0..count).map(|i| Probe::write(start + i * u64::from(REQUEST), REQUEST)).collect();
    let done = ends(&bench.serve(8, &probes)?);
    let buffer = knee(&done);
    let rate = pace(&done[done.len() / 2..]);
    let places = bench.places(REQUESTS as usize, u64::from(REQUEST));
    let probes: Vec<Probe> = places.iter().map(|&place| Probe::write(place, REQUEST)).collect();
    let done = ends(&bench.serve(8, &probes)?);
    bench.one(Probe::flush())?;
    let request = f64::from(REQUEST) * 512.0;
    let bytes = |requests: usize| (requests as f64 * request) as u64;
    let last = pace(&done[done.len() * 9 / 10..]);
    let parts: Vec<f64> = done.chunks(256).map(pace).collect();
    let falls = (last < 0.7 * rate).then(|| {
        let at = parts.iter().position(|&part| part < 0.7 * rate).unwrap_or(0) * 256;
        (bytes(at), last * request)
    });
    Ok(Sustained {
        buffer: buffer.map(|(requests, error)| (bytes(requests), error)),
        rate: rate * request,
        falls,
    })
}

fn ends(timed: &[Timed]) -> Vec<f64> {
    let mut done: Vec<f64> = timed.iter().map(|timed| timed.done.0 as f64).collect();
    done.sort_unstable_by(f64::total_cmp);
    done
}

/// Requests a second.
fn pace(done: &[f64]) -> f64 {
    match (done.first(), done.last()) {
        (Some(first), Some(last)) if last > first => (done.len() - 1) as f64 * 1e9 / (last - first),
        _ => 0.0,
    }
}

/// How many requests the buffer took ahead of what goes on behind it: where the line of the end meets that of the beginning,
/// as far as the first is above the second there; and how far single requests are away from that, as a part of it. `None`
/// if there is one line only.
fn knee(done: &[f64]) -> Option<(usize, f64)> {
    let half = done.len() / 2;
    let begun = done.first()?;
    let late = pace(&done[half..]);
    let early = pace(&done[..(done.len() / 50).max(8).min(done.len())]);
    if early < 1.15 * late {
        return None;
    }
    let ahead: Vec<f64> = done[half..]
        .iter()
        .enumerate()
        .map(|(at, end)| (half + at) as f64 - (end - begun) / 1e9 * late)
        .collect();
    let found = mean(&ahead).max(1.0);
    // A request more or less is never seen.
    let beside = rms(ahead.iter().map(|ahead| ahead - found)).max(1.0);
    Some((found as usize, beside / found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ends of requests that take `early` until so many went in beyond what goes on, `late` each.
    fn drawn(room: usize, early: f64, late: f64) -> Vec<f64> {
        (0..4000).map(f64::from).map(|at| (at * early).max((at - room as f64) * late)).collect()
    }

    #[test]
    fn the_buffer_is_what_went_in_ahead() {
        let (found, error) = knee(&drawn(256, 230e3, 500e3)).unwrap();
        assert!(found.abs_diff(256) < 5 && error < 0.02, "{found}, {error}");
        assert_eq!(knee(&drawn(0, 230e3, 230e3)), None);
    }
}
