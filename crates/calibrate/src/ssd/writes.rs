//! Measures what only writes show: the times of a program and a flush, and the size of the buffer
//! if the dies are slower than the link. It overwrites data.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;
use crate::numbers::{mean, median, rms, spread};
use crate::target::{Probe, ends};

/// A pause long enough for the dies to become idle.
const CALM: Nanos = Nanos::from_millis(30);
/// Number of tries, of which the median is taken. Its error is a quarter of that of a single one.
const TRIES: usize = 30;
/// Size of a sequential write, in sectors: 128 KiB.
const REQUEST: u32 = 256;
/// Greatest deviation of single requests from a line, as a fraction of the buffer: eight requests
/// under way are this fraction of 20 MiB.
const STRAIGHT: f64 = 0.05;
const DEPTH: usize = 8;
/// Least and most requests to find the buffer's end: 32 MiB to 1 GiB.
const FIRST: u64 = 256;
const REQUESTS: u64 = 8192;

/// The times of writes, programs and flushes, in ns.
pub(crate) struct WriteTimes {
    /// The time of a write of 4 KiB into the buffer.
    pub buffered: f64,
    /// Additional time of a read that finds all dies programming; `programs_error` is its median
    /// deviation.
    pub programs: f64,
    pub programs_error: f64,
    /// Additional time of a read that comes half of that time later. It is less by as much, unless
    /// the read interrupts the program.
    pub later: f64,
    /// The time of a flush after a write of 4 KiB; `flush_error` is its relative median deviation.
    pub flush: f64,
    pub flush_error: f64,
}

/// Measures writes, programs and flushes. `stripe` is the size of one page of each die, in sectors.
pub(crate) fn measure(bench: &mut TestBench<'_>, stripe: u32) -> Result<WriteTimes> {
    let (mut buffered, mut flush) = (Vec::new(), Vec::new());
    for _ in 0..TRIES {
        let small = bench.place(u64::from(BLOCK));
        let timed = bench.serve(1, &[Probe::write(small, BLOCK), Probe::flush()])?;
        let [write, flushed] =
            [0, 1].map(|index| timed.get(index).map_or(0.0, |timed| timed.nanos()));
        buffered.push(write);
        flush.push(flushed);
        bench.idle(CALM);
    }
    let (programs, programs_error) = behind(bench, stripe, Nanos::ZERO)?;
    let (later, _) = behind(bench, stripe, Nanos((programs.max(0.0) / 2.0) as u64))?;
    let (flush, away) = middle(&flush);
    let flush_error = away / flush.max(1.0);
    Ok(WriteTimes {
        buffered: median(&buffered),
        programs,
        programs_error,
        later,
        flush,
        flush_error,
    })
}

/// Measures the additional time of a read that comes `later` after a stripe was written, and its
/// median deviation, in ns.
fn behind(bench: &mut TestBench<'_>, stripe: u32, later: Nanos) -> Result<(f64, f64)> {
    let mut behind = Vec::new();
    for _ in 0..TRIES {
        let [large, read] = [stripe, BLOCK].map(|room| bench.place(u64::from(room)));
        let lone = bench.read(read, BLOCK)?.nanos();
        bench.one(Probe::write(large, stripe))?;
        if later > Nanos::ZERO {
            bench.idle(later);
        }
        behind.push(bench.read(read, BLOCK)?.nanos() - lone);
        bench.idle(CALM);
    }
    Ok(middle(&behind))
}

/// Returns the median and the median absolute deviation from it.
fn middle(values: &[f64]) -> (f64, f64) {
    let middle = median(values);
    (middle, spread(values, middle))
}

pub(crate) struct Sustained {
    /// The buffer's size, if a point shows from which on writes are slower: the bytes that went in
    /// faster than the dies take them. The second number is its relative error.
    pub buffer: Option<(u64, f64)>,
    /// The rate at the end, in bytes a second.
    pub rate: f64,
}

/// Writes sequentially and finds where that becomes slower. It begins with a short run and doubles
/// it each time, because a disk with little spare flash soon collects garbage, which is slower too.
pub(crate) fn sustained(bench: &mut TestBench<'_>) -> Result<Sustained> {
    let most = REQUESTS.min(bench.size() / u64::from(REQUEST) / 2);
    let bytes = |requests: usize| requests as u64 * u64::from(REQUEST) * 512;
    let mut count = FIRST;
    loop {
        let (knee, pace) = in_sequence(bench, count.min(most))?;
        // If the knee lies in the second half, that half is not a line, and the result is far from
        // single requests.
        let clear =
            knee.is_some_and(|(requests, error)| requests as u64 * 3 < count && error < STRAIGHT);
        if clear || count >= most {
            let buffer = knee.map(|(requests, error)| (bytes(requests), error));
            return Ok(Sustained { buffer, rate: pace * bytes(1) as f64 });
        }
        count *= 2;
    }
}

/// Finds where `count` adjacent requests become slower, and how many a second are served in the
/// end.
fn in_sequence(bench: &mut TestBench<'_>, count: u64) -> Result<(Option<(usize, f64)>, f64)> {
    bench.one(Probe::flush())?;
    bench.idle(CALM);
    let start = bench.place(count * u64::from(REQUEST));
    let done = ends(&bench.serve(DEPTH, &Probe::write(start, REQUEST).in_sequence(count))?);
    bench.one(Probe::flush())?;
    Ok((knee(&done), pace(&done[done.len() / 2..])))
}

/// Returns the number of requests a second.
fn pace(done: &[f64]) -> f64 {
    match (done.first(), done.last()) {
        (Some(first), Some(last)) if last > first => (done.len() - 1) as f64 * 1e9 / (last - first),
        _ => 0.0,
    }
}

/// Returns how many requests the buffer took ahead of the steady rate, which is the height at the
/// beginning of the line through the end. Also returns the relative deviation of single requests
/// from it. Returns `None` if there is only one line.
fn knee(done: &[f64]) -> Option<(usize, f64)> {
    let half = done.len() / 2;
    let begun = done.first()?;
    let late = pace(&done[half..]);
    let early = pace(&done[..(done.len() / 50).max(8).min(done.len())]);
    // A beginning that is quicker by less than this may be chance.
    if early < 1.15 * late {
        return None;
    }
    let ahead: Vec<f64> = done[half..]
        .iter()
        .enumerate()
        .map(|(at, end)| (half + at) as f64 - (end - begun) / 1e9 * late)
        .collect();
    let found = mean(&ahead).max(1.0);
    // Dies end their programs together, and as many requests come in at once, so half of those
    // under way are not seen.
    let beside = rms(ahead.iter().map(|ahead| ahead - found)).max(DEPTH as f64 / 2.0);
    Some((found as usize, beside / found))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of requests that take `early` each until `room` of them are in the buffer,
    /// then `late` each.
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
