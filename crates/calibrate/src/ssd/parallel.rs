//! Measures the parallelism of the disk: its IOPS at each depth, and the number of dies, by reads
//! whose distance makes all of them meet the same die.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;
use crate::numbers::median;
use crate::target::{Probe, Timed, ends};

pub(crate) const DEPTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const READS: usize = 3_000;
/// Number of reads at each stride.
const APART: u64 = 300;
/// The widest stride that is tried, in pages.
const WIDEST: u64 = 256;
const LARGE: u32 = 256;
/// Number of writes at each depth: 2 MiB, which fit into a buffer.
const WRITES: usize = 512;
/// A pause long enough for a buffer to empty.
const EMPTYING: Nanos = Nanos::from_millis(200);

/// Limits of a link's time, in ns a byte: none is faster than 64 GB/s, and a model's is not slower
/// than 10 MB/s.
const SLOPES: (f64, f64) = (1.0 / 64.0, 100.0);
/// The longest time that a model's command can occupy the link, in ns.
const MOST_COMMAND: f64 = 1e6;

pub(crate) struct ParallelReads {
    /// Random reads of 4 KiB a second at each of [`DEPTHS`].
    pub iops: Vec<f64>,
    /// Time of each read, in ns, when many reads of 128 KiB are under way.
    pub large: f64,
    /// Relative difference between the rates of a run's halves: first of the fastest small reads,
    /// then of the large ones.
    drift: (f64, f64),
}

impl ParallelReads {
    pub fn most(&self) -> f64 {
        self.iops.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the first depth whose IOPS are within a tenth of the most.
    pub fn knee(&self) -> usize {
        let near = self.iops.iter().position(|&iops| iops > 0.9 * self.most());
        near.map_or(1, |at| DEPTHS[at])
    }

    /// Returns the link's rate in bytes a second, and the time in ns that each command takes on it
    /// besides its data. Both are right if the link limits small reads and large ones.
    pub fn link(&self) -> (f64, f64) {
        let slope = self.slope().clamp(SLOPES.0, SLOPES.1);
        (1e9 / slope, self.command(slope).clamp(0.0, MOST_COMMAND))
    }

    /// Returns whether each of the two numbers of [`ParallelReads::link`] is as computed, and not
    /// limited to a possible value.
    pub fn link_is_seen(&self) -> (bool, bool) {
        let slope = self.slope();
        let seen = (SLOPES.0..=SLOPES.1).contains(&slope);
        (seen, seen && (0.0..=MOST_COMMAND).contains(&self.command(slope)))
    }

    /// Returns the link's time in ns a byte.
    fn slope(&self) -> f64 {
        (self.large - 1e9 / self.most()) / (f64::from(LARGE - BLOCK) * 512.0)
    }

    fn command(&self, slope: f64) -> f64 {
        1e9 / self.most() - f64::from(BLOCK) * 512.0 * slope
    }

    /// Returns the relative errors of both numbers of [`ParallelReads::link`], from the differences
    /// within the runs.
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

/// The times of random writes of 4 KiB that the buffer takes.
pub(crate) struct ParallelWrites {
    /// Time of each write in ns, at each of [`DEPTHS`].
    pub each: Vec<f64>,
    /// Relative difference between the rates of the halves of the deepest run.
    pub drift: f64,
}

/// Measures random writes into the buffer at each depth. This overwrites data.
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

/// Returns the mean time from one completion to the next in the middle of a run, in ns.
fn each(timed: &[Timed]) -> f64 {
    let done = ends(timed);
    let skip = done.len() / 10;
    let (first, last) = (done[skip], done[done.len() - 1 - skip]);
    ((last - first) / (done.len() - 1 - 2 * skip).max(1) as f64).max(1.0)
}

/// Returns the relative difference between the rates of a run's halves.
fn drift(timed: &[Timed]) -> f64 {
    let (first, second) = timed.split_at(timed.len() / 2);
    let (first, second) = (each(first), each(second));
    (first - second).abs() / (first + second)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DieCount {
    Found(u32),
    /// The largest number of dies that was tried. The device has more.
    AtLeast(u32),
    Unseen,
}

/// Finds the number of dies. It is the least stride, in pages of `page` bytes, at which many reads
/// are no faster than a single die, which serves `one` a second.
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

/// Computes the number of dies from the rate at each stride, counted from 1.
fn die_count(rates: &[f64], one: f64) -> DieCount {
    match slowest(rates) {
        // Two or three dies serve these reads. The stride that meets only one of them is wider than
        // those tried.
        Some(stride) if rates[stride - 1] > 1.5 * one => DieCount::AtLeast(rates.len() as u32),
        Some(stride) => DieCount::Found(stride as u32),
        None => DieCount::Unseen,
    }
}

/// Returns the least stride, counted from 1, that is about as slow as any. It must be much slower
/// than most strides, and its multiples as slow. Strides that meet one die more are faster by at
/// least half (three dies instead of two). Therefore up to 1.3 times the least rate counts as slow,
/// and 1.8 times does not.
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

    /// Numbers of dies are found up to the most that are looked for. Beyond that, a wide stride
    /// meets two or three dies at a time.
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
