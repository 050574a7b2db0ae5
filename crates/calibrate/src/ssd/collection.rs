//! Measures when a full disk begins to collect garbage, and its rate of writes in the end. It
//! writes the disk once in order, then at random, until the rate no longer changes. This destroys
//! all data.

use disklab_units::Nanos;

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{mean, median};
use crate::target::Probe;

/// Size of a write in sectors: 128 KiB, as large as a stretch of a few dies' pages, so that the
/// gaps in a collected block are of that size.
const REQUEST: u32 = 256;
const DEPTH: usize = 8;
/// Number of windows into which the disk is divided. The rate of a thousandth of the disk is exact
/// enough, and the place of a change is known to that fraction.
const WINDOWS: u64 = 1000;
/// Least number of requests of a window, so that its rate is more than chance.
const LEAST: u64 = 64;
/// Fraction of the fresh rate below which a window is slow. On any disk whose spare flash is
/// smaller than its data, collection moves at least as much as it frees, so half of the rate is
/// lost. Three quarters is between that and chance.
const SLOW: f64 = 0.75;
/// Number of consecutive slow windows that mark the onset: nothing else on the machine slows so
/// many.
const LASTING: usize = 8;
/// The most random writes, in sizes of the disk. Greedy collection is near its steady state once
/// all data has been overwritten.
const TIMES: u64 = 2;
/// Greatest relative difference of the rates of two consecutive eighths of the disk in the steady
/// state.
const STEADY: f64 = 0.03;

/// The onset of collection and the rates of writes, in bytes and bytes a second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Collected {
    /// Bytes written at random until writes became slower, to within a window to either side, or
    /// `None` if they never did.
    pub onset: Option<u64>,
    pub window: u64,
    pub fresh: f64,
    /// The rate at the end; `change` is its relative difference from the eighth before.
    pub last: f64,
    pub change: f64,
}

impl Collected {
    pub fn is_steady(&self) -> bool {
        self.change < STEADY
    }
}

/// Runs the measurement. `buffer` is the number of bytes that the disk takes before the dies have
/// them. The run ends early when the time is up.
pub(crate) fn measure(bench: &mut TestBench<'_>, buffer: u64) -> Result<Collected> {
    let request = u64::from(REQUEST);
    let all = bench.size() / request;
    let each = (all / WINDOWS).max(LEAST);
    for first in (0..all).step_by(each as usize) {
        let count = each.min(all - first);
        let probes = Probe::write(first * request, REQUEST).in_sequence(count);
        bench.serve(DEPTH, &probes)?;
    }
    bench.one(Probe::flush())?;
    let mut ends = vec![bench.now()];
    let eighth = (all / 8 / each).max(LASTING as u64) as usize;
    while (ends.len() as u64 - 1) * each < TIMES * all && bench.time_left() > Nanos::ZERO {
        let places = bench.places(each as usize, request);
        // Requests are aligned to their length, as fio does it.
        let probes: Vec<Probe> =
            places.iter().map(|place| Probe::write(place / request * request, REQUEST)).collect();
        let timed = bench.serve(DEPTH, &probes)?;
        ends.push(timed.iter().map(|timed| timed.done).max().unwrap_or(bench.now()));
        let enough = (ends.len() as u64 - 1) * each >= all && ends.len() % eighth == 0;
        if enough && collected(&ends, each * request * 512, eighth, buffer).is_steady() {
            break;
        }
    }
    bench.one(Probe::flush())?;
    Ok(collected(&ends, each * request * 512, eighth, buffer))
}

/// Computes the result from the ends of windows of `window` bytes. The first entry is the beginning
/// of all.
fn collected(ends: &[Nanos], window: u64, eighth: usize, buffer: u64) -> Collected {
    let paces: Vec<f64> = ends
        .windows(2)
        .map(|pair| window as f64 * 1e9 / pair[1].saturating_sub(pair[0]).0.max(1) as f64)
        .collect();
    // The buffer takes data faster than it goes to the dies, so these windows do not count.
    let begun = ((buffer / window) as usize + 1).min(paces.len());
    let slow = |fresh: f64| {
        paces
            .windows(LASTING)
            .skip(begun)
            .position(|some| some.iter().all(|pace| *pace < SLOW * fresh))
    };
    // The first estimate of the fresh rate comes from few windows, because it is not known how long
    // that rate lasts.
    let first = &paces[begun..(begun + LASTING).min(paces.len())];
    let onset = slow(median(first)).map(|windows| windows + begun);
    let fresh = median(&paces[begun..onset.unwrap_or(paces.len()).max(begun)]);
    let part = |back: usize| {
        let end = paces.len().saturating_sub(back * eighth);
        let spans: Vec<f64> =
            paces[end.saturating_sub(eighth)..end].iter().map(|pace| 1.0 / pace).collect();
        if spans.is_empty() { 0.0 } else { 1.0 / mean(&spans) }
    };
    let (last, before) = (part(0), part(1));
    let change = if before > 0.0 { (last / before - 1.0).abs() } else { 1.0 };
    let onset = onset.map(|windows| (windows as u64 * window + window / 2).saturating_sub(buffer));
    Collected { onset, window, fresh, last, change }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ends of windows of 1 MB from their durations in ms.
    fn ends(takes: impl IntoIterator<Item = u64>) -> Vec<Nanos> {
        let mut now = Nanos::ZERO;
        let mut ends = vec![now];
        for millis in takes {
            now += Nanos::from_millis(millis);
            ends.push(now);
        }
        ends
    }

    fn found(takes: impl IntoIterator<Item = u64>, buffer: u64) -> Collected {
        collected(&ends(takes), 1_000_000, 20, buffer)
    }

    #[test]
    fn the_onset_is_where_writes_stay_slower() {
        let takes = |room: u64| (0..200).map(move |at| if at < room || at == 20 { 2 } else { 10 });
        let slow = found(takes(70), 0);
        assert!(slow.onset.unwrap().abs_diff(70_000_000) <= slow.window, "{slow:?}");
        assert!((slow.fresh - 500e6).abs() < 1.0 && (slow.last - 100e6).abs() < 1.0, "{slow:?}");
        assert!(slow.is_steady());
        // The data in the buffer had not reached the dies.
        assert!(found(takes(70), 10_000_000).onset.unwrap().abs_diff(60_000_000) <= slow.window);
    }

    #[test]
    fn a_pause_is_no_onset_and_a_falling_pace_no_steady_state() {
        let paused = found((0..200).map(|at| if (40..44).contains(&at) { 50 } else { 2 }), 0);
        assert_eq!(paused.onset, None);
        assert!(!found((0..200).map(|at| 2 + at / 10), 0).is_steady());
    }
}
