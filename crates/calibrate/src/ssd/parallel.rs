//! Measures what the disk does at once: how its rate grows with the depth, and how many dies there
//! are, by reads that are so far apart that all meet the same one.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;
use crate::numbers::median;
use crate::target::{Probe, Timed, ends};

pub(crate) const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const READS: usize = 3_000;
/// Reads of each stride.
const APART: u64 = 300;
/// The widest stride that is tried, in pages.
const WIDEST: u64 = 256;
const LARGE: u32 = 256;
/// Writes at each depth: 2 MiB, which a buffer holds.
const WRITES: usize = 512;
/// Long enough for a buffer to empty.
const EMPTYING: Nanos = Nanos::from_millis(200);

/// No link is faster than 64 GB/s, and none that a model can have is slower than 10 MB/s: in
/// nanoseconds a byte.
const SLOPES: (f64, f64) = (1.0 / 64.0, 100.0);
/// The longest time that a model's command can hold the link, in nanoseconds.
const MOST_COMMAND: f64 = 1e6;

pub(crate) struct ParallelReads {
    /// Random reads of 4 KiB a second, at each of [`DEPTHS`].
    pub iops: Vec<f64>,
    /// Nanoseconds for each of many reads of 128 KiB under way.
    pub large: f64,
    /// By how much the pace of a run's halves differs, as a part of it: of the fastest small reads
    /// and of the large ones.
    drift: (f64, f64),
}

impl ParallelReads {
    pub fn most(&self) -> f64 {
        self.iops.iter().copied().fold(0.0, f64::max)
    }

    /// The first depth that comes within a tenth of the most.
    pub fn knee(&self) -> usize {
        let near = self.iops.iter().position(|&iops| iops > 0.9 * self.most());
        near.map_or(1, |at| DEPTHS[at])
    }

    /// Bytes a second of the link, and the nanoseconds that each command takes of it besides, if
    /// both are what limits small reads and large ones.
    pub fn link(&self) -> (f64, f64) {
        let slope = self.slope().clamp(SLOPES.0, SLOPES.1);
        (1e9 / slope, self.command(slope).clamp(0.0, MOST_COMMAND))
    }

    /// Whether each of the two is what came out, and not the nearest that can be.
    pub fn link_is_seen(&self) -> (bool, bool) {
        let slope = self.slope();
        let seen = (SLOPES.0..=SLOPES.1).contains(&slope);
        (seen, seen && (0.0..=MOST_COMMAND).contains(&self.command(slope)))
    }

    /// Nanoseconds a byte.
    fn slope(&self) -> f64 {
        (self.large - 1e9 / self.most()) / (f64::from(LARGE - BLOCK) * 512.0)
    }

    fn command(&self, slope: f64) -> f64 {
        1e9 / self.most() - f64::from(BLOCK) * 512.0 * slope
    }

    /// The errors of both, as parts of them, by what the runs that they come from differ in
    /// themselves.
    pub fn link_errors(&self) -> (f64, f64) {
        let small = 1e9 / self.most();
        let (beside_small, beside_large) = (self.drift.0 * small, self.drift.1 * self.large);
        let rate = (beside_small + beside_large) / (self.large - small).max(1.0);
        let (_, command) = self.link();
        (rate, (beside_small + rate * (small - command)) / command.max(1.0))
    }
}

pub(crate) fn measure(bench: &mut TestBench<'_>) -> Result<ParallelReads> {
    let (mut iops, mut drifts) = (Vec::new(), Vec::new());
    for depth in DEPTHS {
        let probes = bench.blocks(READS, Probe::read);
        let timed = bench.serve(depth, &probes)?;
        iops.push(1e9 / each(&timed));
        drifts.push(drift(&timed));
    }
    let place = bench.place(u64::from(LARGE) * 1024);
    let probes = Probe::read(place, LARGE).in_sequence(1024);
    let timed = bench.serve(DEPTHS[DEPTHS.len() - 1], &probes)?;
    let fastest =
        iops.iter().zip(&drifts).max_by(|a, b| a.0.total_cmp(b.0)).map_or(0.0, |(_, &drift)| drift);
    Ok(ParallelReads { large: each(&timed), drift: (fastest, drift(&timed)), iops })
}

/// Random writes of 4 KiB that the buffer takes.
pub(crate) struct ParallelWrites {
    /// Nanoseconds for each, at each of [`DEPTHS`].
    pub each: Vec<f64>,
    /// By how much the pace of the halves of the deepest run differs, as a part of it.
    pub drift: f64,
}

/// Destroys what is written over.
pub(crate) fn writes(bench: &mut TestBench<'_>) -> Result<ParallelWrites> {
    let (mut nanos, mut last) = (Vec::new(), 0.0);
    for depth in DEPTHS {
        // The buffer empties first.
        bench.idle(EMPTYING);
        let probes = bench.blocks(WRITES, Probe::write);
        let timed = bench.serve(depth, &probes)?;
        nanos.push(each(&timed));
        last = drift(&timed);
    }
    bench.idle(EMPTYING);
    Ok(ParallelWrites { each: nanos, drift: last })
}

/// Nanoseconds from one completion to the next, in the middle of a run.
fn each(timed: &[Timed]) -> f64 {
    let done = ends(timed);
    let skip = done.len() / 10;
    let (first, last) = (done[skip], done[done.len() - 1 - skip]);
    ((last - first) / (done.len() - 1 - 2 * skip).max(1) as f64).max(1.0)
}

/// By how much the pace of the two halves differs, as a part of it.
fn drift(timed: &[Timed]) -> f64 {
    let (first, second) = timed.split_at(timed.len() / 2);
    let (first, second) = (each(first), each(second));
    (first - second).abs() / (first + second)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DieCount {
    Found(u32),
    /// So many were tried, and there are more.
    AtLeast(u32),
    Unseen,
}

/// How many dies there are: the least stride in pages of `page` bytes at which many reads go no
/// faster than one die serves them, which is `one` a second.
pub(crate) fn dies(bench: &mut TestBench<'_>, page: u64, one: f64) -> Result<DieCount> {
    let page = page / 512;
    let mut rates = Vec::new();
    for stride in 1..=WIDEST {
        let length = stride * page * APART;
        if length >= bench.size() {
            break;
        }
        let start = bench.place(length) / page * page;
        let probes: Vec<Probe> =
            (0..APART).map(|i| Probe::read(start + i * stride * page, BLOCK)).collect();
        rates.push(1e9 / each(&bench.serve(16, &probes)?));
    }
    Ok(die_count(&rates, one))
}

/// From the rates at each stride, counted from 1.
fn die_count(rates: &[f64], one: f64) -> DieCount {
    match slowest(rates) {
        // Two dies or three serve these, and a stride that meets one of them alone is wider than
        // those tried.
        Some(stride) if rates[stride - 1] > 1.5 * one => DieCount::AtLeast(rates.len() as u32),
        Some(stride) => DieCount::Found(stride as u32),
        None => DieCount::Unseen,
    }
}

/// The least stride, counted from 1, that is about as slow as any, where that is much slower than
/// most and its multiples are as slow. Strides that meet one die more are slower by half at least
/// (three dies against two), so that 1.3 is as slow, and 1.8 is not.
fn slowest(rates: &[f64]) -> Option<usize> {
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    let usual = median(rates);
    let slow = |rate: &f64| *rate < 1.3 * least;
    let stride = rates.iter().position(slow)? + 1;
    let multiples = || rates.iter().skip(stride - 1).step_by(stride);
    let others = rates.iter().filter(|rate| slow(rate)).count();
    (usual > 1.8 * least && multiples().all(slow) && others == multiples().count())
        .then_some(stride)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(count: u64, most: u64) -> DieCount {
        let rate = |stride| (count / gcd(count, stride)).min(5) as f64 * 20e3;
        die_count(&(1..=most).map(rate).collect::<Vec<_>>(), 20e3)
    }

    /// Counts dies up to the most that are looked for, and beyond, where a wide stride meets two or
    /// three at a time.
    #[test]
    fn more_dies_than_are_looked_for_are_at_least_so_many() {
        assert_eq!(seen(127, WIDEST), DieCount::Found(127));
        assert_eq!(seen(256, WIDEST), DieCount::Found(256));
        for count in [258, 300, 384, 512] {
            assert_eq!(seen(count, WIDEST), DieCount::AtLeast(256), "{count}");
        }
        assert_eq!(seen(64, 40), DieCount::AtLeast(40), "on a small disk");
        assert_eq!(seen(257, WIDEST), DieCount::Unseen);
    }

    #[test]
    fn dies_show_where_strides_meet_one() {
        let dies = |count: u64| {
            (1..=WIDEST).map(move |stride| (count / gcd(count, stride)).min(5) as f64 * 20e3)
        };
        assert_eq!(slowest(&dies(16).collect::<Vec<_>>()), Some(16));
        assert_eq!(slowest(&dies(12).collect::<Vec<_>>()), Some(12));
        assert_eq!(slowest(&vec![90e3; 256]), None);
    }

    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
}
