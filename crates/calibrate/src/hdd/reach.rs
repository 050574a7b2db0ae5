//! Measures the time of the arm from one sector to another, without the rotational wait.
//!
//! A read of the second sector, begun some time after one of the first, ends when the platters
//! bring the sector round. That time is the same, modulo a turn, for every duration of the arm's
//! move. Each read therefore bounds the duration: the move ended before that time, and not before
//! the previous pass one turn earlier. A chosen wait before the second read shifts these bounds,
//! and repeated bisection finds the duration itself. The pairs take turns, so that none is in the
//! cache when it is read again.
//!
//! While the disk waits it reads ahead, and the arm may move on to the next track. Where a track or
//! a cylinder matters, the second read is therefore moved along its track instead, which has the
//! same effect as the wait.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;

/// Number of bisections of a turn: from 8 ms to 4 us.
const ROUNDS: usize = 11;

pub(crate) struct SeekPair {
    pub from: u64,
    pub to: u64,
    /// The track along which `to` may be moved.
    track: Option<Track>,
    /// Bounds of the second read's duration without the rotational wait, in ns: more than `low` and
    /// at most `high`.
    low: f64,
    high: f64,
    /// Time from the end of the first read to the end of the second, modulo a turn, in ns.
    apart: Option<f64>,
}

/// The blocks of a track.
#[derive(Debug, Clone, Copy)]
struct Track {
    first: u64,
    blocks: u64,
    /// Number of sectors on the whole track.
    sectors: f64,
}

impl SeekPair {
    pub fn new(from: u64, to: u64) -> Self {
        Self { from, to, track: None, low: 0.0, high: f64::MAX, apart: None }
    }

    /// Returns a pair whose second read is anywhere on the track of `sectors` sectors that begins
    /// at `start`.
    pub fn to_track(from: u64, start: f64, sectors: f64) -> Self {
        Self::to_part(from, (start, start + sectors), sectors)
    }

    /// Returns a pair whose second read is anywhere between two places on a track of `sectors`
    /// sectors.
    pub fn to_part(from: u64, (start, end): (f64, f64), sectors: f64) -> Self {
        let block = u64::from(BLOCK);
        let first = (start.ceil().max(0.0) as u64).next_multiple_of(block);
        let blocks = ((end - first as f64).max(0.0) as u64 / block).max(1);
        let to = first + blocks / 2 * block;
        Self { track: Some(Track { first, blocks, sectors }), ..Self::new(from, to) }
    }

    /// Returns the second read's time without the rotational wait, in ns, if it is known to a
    /// hundredth of a turn.
    pub fn time(&self, turn: f64) -> Option<f64> {
        (self.high - self.low < turn / 100.0).then(|| f64::midpoint(self.low, self.high))
    }

    /// Chooses the sector of the second read and the wait before it. The end of that read then
    /// shows on which side of the middle the time is.
    fn aim(&self, turn: f64) -> (u64, f64) {
        let Some(apart) = self.apart else { return (self.to, 0.0) };
        let middle = f64::midpoint(self.low, self.high);
        let wait = (apart - middle).rem_euclid(turn);
        let Some(Track { first, blocks, sectors }) = self.track else { return (self.to, wait) };
        // Sectors further on come later. The first block that comes in time is chosen, with a short
        // wait for the rest.
        let place = ((self.to - first) as f64 - wait / turn * sectors).rem_euclid(sectors);
        let index = (place / f64::from(BLOCK)).ceil() as u64;
        let to = first + if index < blocks { index } else { 0 } * u64::from(BLOCK);
        (to, (apart + self.later(to, turn) - middle).rem_euclid(turn))
    }

    /// Returns how much later than `to` the platters bring another sector of the same track, in ns.
    fn later(&self, other: u64, turn: f64) -> f64 {
        let sectors = self.track.map_or(f64::INFINITY, |track| track.sectors);
        (other as f64 - self.to as f64) / sectors * turn
    }

    fn learn(&mut self, latency: f64, apart: f64, turn: f64) {
        self.apart = Some(apart);
        if (self.low..self.high).contains(&latency) {
            self.high = latency;
        }
        let before = latency - turn;
        if before > self.low && before < self.high {
            self.low = before;
        }
    }
}

/// Most places that are read to make a cache forget.
const MOST_BETWEEN: usize = 1024;

/// Narrows the bounds of all pairs. `turn` is in ns. A read that takes at most `hit` ns came from
/// the cache and says nothing.
pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    pairs: &mut [SeekPair],
    turn: f64,
    hit: f64,
) -> Result<()> {
    let (mut rounds, mut between) = (ROUNDS, 0);
    while rounds > 0 {
        for place in bench.places(between, u64::from(BLOCK)) {
            bench.read(place, BLOCK)?;
        }
        let mut hits = 0;
        for pair in &mut *pairs {
            let (to, wait) = pair.aim(turn);
            let first = bench.read(pair.from, BLOCK)?;
            bench.idle(Nanos(wait as u64));
            let second = bench.read(to, BLOCK)?;
            let (before, latency) = (first.nanos(), second.nanos());
            if before > hit && latency > hit {
                let apart = (second.done.0 - first.done.0) as f64 - pair.later(to, turn);
                pair.learn(latency, apart, turn);
            } else {
                hits += 1;
            }
        }
        // A cache that remembers all pairs needs other places to remember.
        if hits * 5 > pairs.len() && between < MOST_BETWEEN {
            between = (between * 2).max(256);
        } else {
            rounds -= 1;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Simulates platters of exact speed. Returns the second read's latency and the time between
    /// the two ends.
    fn read(pair: &SeekPair, time: f64, angle: f64, turn: f64) -> (f64, f64) {
        let (to, wait) = pair.aim(turn);
        let place = (angle * turn + pair.later(to, turn)).rem_euclid(turn);
        let apart = (place..).step(turn).find(|end| *end >= wait + time).unwrap();
        (apart - wait, apart - pair.later(to, turn))
    }

    proptest! {
        #[test]
        fn halving_finds_the_time(
            time in 0.3e6..30e6_f64,
            angle in 0.0..1.0_f64,
            track in prop::option::of(900.0..4000.0_f64),
        ) {
            let turn = 8.3e6;
            let to_track = |sectors| SeekPair::to_track(0, 1001.5, sectors);
            let mut pair = track.map_or(SeekPair::new(0, 0), to_track);
            for _ in 0..ROUNDS {
                let (latency, apart) = read(&pair, time, angle, turn);
                pair.learn(latency, apart, turn);
            }
            let found = pair.time(turn).unwrap();
            prop_assert!((found - time).abs() < turn / 1000.0, "{found} instead of {time}");
        }

        /// The wait is so short that the disk reads nothing ahead meanwhile.
        #[test]
        fn on_a_track_there_is_hardly_a_wait(angle in 0.0..1.0_f64, sectors in 900.0..4000.0_f64) {
            let turn = 8.3e6;
            let mut pair = SeekPair::to_track(0, 5e6, sectors);
            for _ in 0..ROUNDS {
                let (latency, apart) = read(&pair, 1.3e6, angle, turn);
                pair.learn(latency, apart, turn);
                prop_assert!(pair.aim(turn).1 <= 17.0 / sectors * turn, "{:?}", pair.aim(turn));
            }
        }
    }

    /// Steps through floats, for which the standard library has no `step_by`.
    trait StepBy {
        fn step(self, by: f64) -> impl Iterator<Item = f64>;
    }

    impl StepBy for std::ops::RangeFrom<f64> {
        fn step(self, by: f64) -> impl Iterator<Item = f64> {
            (0..).map(move |i| self.start + f64::from(i) * by)
        }
    }
}
