//! Facts that only writing shows: what a program and a flush take, and how much the buffer holds
//! where the dies are slower than the link. Destroys what is written over.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;
use crate::numbers::{mean, median, rms, spread};
use crate::target::{Probe, ends};

/// Long enough for the dies to become idle.
const CALM: Nanos = Nanos::from_millis(30);
/// A median of so many is off by a quarter of what single ones are.
const TRIES: usize = 30;
/// 128 KiB.
const REQUEST: u32 = 256;
/// Single requests are no further than this part of the buffer from a line: eight under way are so
/// much of 20 MiB.
const STRAIGHT: f64 = 0.05;
const DEPTH: usize = 8;
/// From 32 MiB to 1 GiB to find the buffer's end.
const FIRST: u64 = 256;
const REQUESTS: u64 = 8192;

/// Nanoseconds.
pub(crate) struct WriteTimes {
    /// The time of a write of 4 KiB into the buffer.
    pub buffered: f64,
    /// By how much longer a read takes that finds all dies programming, and how far from that half
    /// of them are.
    pub programs: f64,
    pub programs_error: f64,
    /// The same half of that time later: less by as much, unless what is programmed is interrupted
    /// by the read.
    pub later: f64,
    /// The time of a flush after a write of 4 KiB, and how far away from it half of them are, as a
    /// part of it.
    pub flush: f64,
    pub flush_error: f64,
}

/// `stripe`: one page of each die, in sectors.
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

/// By how much longer a read takes so long after a stripe was written, and how far from that half
/// of them are.
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

/// The median, and how far from it half of the values are.
fn middle(values: &[f64]) -> (f64, f64) {
    let middle = median(values);
    (middle, spread(values, middle))
}

pub(crate) struct Sustained {
    /// Bytes that went in faster than they could go on, where a point shows from which on it is
    /// slower; and the error of that, as a part of it.
    pub buffer: Option<(u64, f64)>,
    /// Bytes a second at the end.
    pub rate: f64,
}

/// Writes in sequence, and looks where that becomes slower. First a little, and each time twice as
/// much: a disk that has little to spare collects garbage soon, and that is slower too.
pub(crate) fn sustained(bench: &mut TestBench<'_>) -> Result<Sustained> {
    let most = REQUESTS.min(bench.size() / u64::from(REQUEST) / 2);
    let bytes = |requests: usize| requests as u64 * u64::from(REQUEST) * 512;
    let mut count = FIRST;
    loop {
        let (knee, pace) = in_sequence(bench, count.min(most))?;
        // Where the knee lies in the second half itself, that is no line, and what comes out is far
        // from single requests.
        let clear =
            knee.is_some_and(|(requests, error)| requests as u64 * 3 < count && error < STRAIGHT);
        if clear || count >= most {
            let buffer = knee.map(|(requests, error)| (bytes(requests), error));
            return Ok(Sustained { buffer, rate: pace * bytes(1) as f64 });
        }
        count *= 2;
    }
}

/// Finds where so many requests side by side become slower, and how many a second they are in the
/// end.
fn in_sequence(bench: &mut TestBench<'_>, count: u64) -> Result<(Option<(usize, f64)>, f64)> {
    bench.one(Probe::flush())?;
    bench.idle(CALM);
    let start = bench.place(count * u64::from(REQUEST));
    let done = ends(&bench.serve(DEPTH, &Probe::write(start, REQUEST).in_sequence(count))?);
    bench.one(Probe::flush())?;
    Ok((knee(&done), pace(&done[done.len() / 2..])))
}

/// Requests a second.
fn pace(done: &[f64]) -> f64 {
    match (done.first(), done.last()) {
        (Some(first), Some(last)) if last > first => (done.len() - 1) as f64 * 1e9 / (last - first),
        _ => 0.0,
    }
}

/// How many requests the buffer took ahead of what goes on behind it: where the line of the end
/// meets that of the beginning, as far as the first is above the second there; and how far single
/// requests are away from that, as a part of it. `None` if there is one line only.
fn knee(done: &[f64]) -> Option<(usize, f64)> {
    let half = done.len() / 2;
    let begun = done.first()?;
    let late = pace(&done[half..]);
    let early = pace(&done[..(done.len() / 50).max(8).min(done.len())]);
    // A beginning that is quicker by less may be chance.
    if early < 1.15 * late {
        return None;
    }
    let ahead: Vec<f64> = done[half..]
        .iter()
        .enumerate()
        .map(|(at, end)| (half + at) as f64 - (end - begun) / 1e9 * late)
        .collect();
    let found = mean(&ahead).max(1.0);
    // Dies end their programs together, and requests come in as many at once: half of those under
    // way are not seen.
    let beside = rms(ahead.iter().map(|ahead| ahead - found)).max(DEPTH as f64 / 2.0);
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
