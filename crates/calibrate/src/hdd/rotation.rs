//! Measures the time of a turn.
//!
//! A read from the medium ends when the head has passed the end of the sector, whatever the arm did
//! before. Reads of one sector therefore end a whole number of turns apart. Many sectors are read
//! in turn, several times, and the turn is the longest time that divides all intervals between two
//! reads of one sector. There are more sectors than most caches have segments. A read of a sector
//! that was still cached is too quick to count; if most were, more sectors are tried.

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{median, rms};
use crate::target::{Probe, Timed, latencies};

const PLACES: [usize; 2] = [150, 1200];
const VISITS: usize = 4;

/// The shortest time of a turn of any disk, in ns: 20000 rpm. `LONGEST` is that of 3000 rpm.
const SHORTEST: f64 = 3e6;
const LONGEST: f64 = 20e6;

/// Number of intervals in which a turn is searched: enough to find a turn in noise of a tenth of a
/// turn.
const SEARCHED: usize = 400;

/// Number of reads of what was just read, from which the time of a cache hit is estimated.
const AGAIN: usize = 9;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation {
    /// The time of one turn, in ns.
    pub turn: f64,
    /// Relative standard error of the turn.
    pub error: f64,
}

pub(crate) fn measure(bench: &mut TestBench<'_>) -> Result<Option<Rotation>> {
    for places in PLACES {
        if let Some(rotation) = turn(&visited(bench, places)?) {
            return Ok(Some(rotation));
        }
    }
    Ok(None)
}

fn visited(bench: &mut TestBench<'_>, places: usize) -> Result<Vec<Vec<f64>>> {
    let probes = bench.blocks(places, Probe::read);
    let again = latencies(&bench.serve(1, &[probes[0]; AGAIN])?[1..]);
    // A host may be late by half of the time of a hit. The medium is slower by more, or else
    // `intervals` ignores the limit.
    let hit = 1.5 * median(&again);
    let mut visits = Vec::new();
    for _ in 0..VISITS {
        // The order differs each time: if all intervals were about the same, they could be whole
        // turns of many lengths.
        let mut order: Vec<usize> = (0..places).collect();
        order.sort_by_cached_key(|_| (bench.chance() * 1e9) as u64);
        let shuffled: Vec<Probe> = order.iter().map(|&place| probes[place]).collect();
        let mut visit = vec![Timed::NEVER; places];
        for (place, timed) in order.into_iter().zip(bench.serve(1, &shuffled)?) {
            visit[place] = timed;
        }
        visits.push(visit);
    }
    Ok(intervals(&visits, hit))
}

/// Returns the intervals between one visit of a place and the next, in ns, one list for each place.
/// A read that takes at most `hit` ns came from the cache. If the first reads of all places are
/// that quick, the limit is ignored.
fn intervals(visits: &[Vec<Timed>], hit: f64) -> Vec<Vec<f64>> {
    let places = visits.first().map_or(0, Vec::len);
    let first = visits.first().map(|visit| latencies(visit)).unwrap_or_default();
    let hit = if hit < 0.7 * median(&first) { hit } else { 0.0 };
    let from_medium = |timed: &&Timed| timed.nanos() > hit;
    let between_visits = |place: usize| {
        let done: Vec<f64> = visits
            .iter()
            .filter_map(|visit| visit.get(place))
            .filter(from_medium)
            .map(|timed| timed.done.0 as f64)
            .collect();
        done.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    (0..places).map(between_visits).collect()
}

/// Returns the longest time that divides all intervals, if there is one.
pub(crate) fn turn(intervals: &[Vec<f64>]) -> Option<Rotation> {
    let mut single: Vec<f64> = intervals.iter().flatten().copied().collect();
    if single.len() < 30 {
        return None;
    }
    single.sort_unstable_by(f64::total_cmp);
    // The shorter intervals are enough to distinguish turns, and quicker to search.
    let coarse = longest_period(&single[..single.len().min(SEARCHED)])?;
    // The turn is refined over single intervals, in which the number of turns is certain, and then
    // over all intervals of a place together.
    let spans: Vec<f64> =
        intervals.iter().map(|of_place| of_place.iter().sum()).filter(|&span| span > 0.0).collect();
    let turn = refined(&spans, refined(&single, coarse));
    let beside = |span: &f64| span - (span / turn).round() * turn;
    let jitter = rms(single.iter().map(beside)) / turn;
    let weight: f64 = spans.iter().map(|span| (span / turn).round().powi(2)).sum();
    let error = rms(spans.iter().map(beside)) / weight.sqrt() / turn;
    // Random intervals are 0.29 of a turn (root mean square) from whole turns.
    (jitter < 0.1).then_some(Rotation { turn, error })
}

/// Returns the longest period that divides the intervals. A period's score is the mean cosine of
/// the intervals on a circle of one period: 1 if each is a whole number of periods.
fn longest_period(intervals: &[f64]) -> Option<f64> {
    let longest = intervals.iter().copied().fold(0.0, f64::max);
    let agreement = |period: f64| {
        let round = |interval: &f64| ((interval / period).fract() * std::f64::consts::TAU).cos();
        intervals.iter().map(round).sum::<f64>() / intervals.len() as f64
    };
    // Frequencies are tried in steps so small that the longest interval changes by a twelfth of a
    // turn.
    let step = 1.0 / (12.0 * longest);
    let count = ((1.0 / SHORTEST - 1.0 / LONGEST) / step) as u32;
    let found: Vec<(f64, f64)> = (0..=count)
        .map(|i| {
            let period = 1.0 / (1.0 / LONGEST + f64::from(i) * step);
            (period, agreement(period))
        })
        .collect();
    let best = found.iter().map(|&(_, score)| score).fold(0.0, f64::max);
    // The score of random intervals has mean 0 and, for 400 of them, a standard deviation of a
    // thirtieth. A score of 0.5 is therefore not chance.
    if best < 0.5 {
        return None;
    }
    // A peak between two steps of the search may be higher than the search found.
    let exact = |period: f64| {
        let period = refined(intervals, period);
        (period, agreement(period))
    };
    // Half a step from the top of a peak, the longest intervals have a score of cos(2 pi / 24),
    // 0.97 of the peak. That of all intervals together is higher.
    let candidates =
        found.iter().filter(|&&(_, score)| score > 0.8 * best).map(|&(period, _)| exact(period));
    let (period, score) = candidates.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // A half and a third of a turn divide all intervals too.
    let multiples = (1..=6).rev().map(|times| exact(period * f64::from(times)));
    // Intervals that a multiple does not divide are evenly spread over its circle, and their mean
    // is 0.
    multiples.into_iter().find(|multiple| multiple.1 > 0.85 * score).map(|multiple| multiple.0)
}

/// Refines `turn` by least squares over the number of turns in each span. `turn` must be exact
/// enough to count them.
fn refined(spans: &[f64], turn: f64) -> f64 {
    let (mut product, mut square) = (0.0, 0.0);
    for span in spans {
        let turns = (span / turn).round();
        if (span / turn - turns).abs() < 0.25 {
            product += span * turns;
            square += turns * turns;
        }
    }
    if square > 0.0 { product / square } else { turn }
}

#[cfg(test)]
mod tests {
    use disklab_units::{Random, Seed};
    use proptest::prelude::*;

    use super::*;

    /// Draws intervals of up to four seconds: whole turns, plus noise of a fraction of a turn.
    fn drawn(period: f64, noise: f64, seed: u64) -> Vec<Vec<f64>> {
        let mut random = Random::new(Seed(seed));
        let mut one = |_| {
            let turns = 1 + random.below((4e9 / period) as u64);
            (turns as f64 + noise * (random.next_f64() - 0.5)) * period
        };
        (0..PLACES[0]).map(|_| (1..VISITS).map(&mut one).collect()).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]

        #[test]
        fn finds_the_turn_and_not_a_part_of_it(
            period in 3.1e6..19.9e6_f64,
            noise in 0.0..0.1_f64,
            seed in 0..1000_u64,
        ) {
            let found = turn(&drawn(period, noise, seed)).unwrap().turn;
            prop_assert!((found / period - 1.0).abs() < 1e-4, "{found} instead of {period}");
        }

        #[test]
        fn finds_none_where_there_is_none(seed in 0..1000_u64) {
            prop_assert!(turn(&drawn(8.3e6, 1.0, seed)).is_none());
        }
    }
}
