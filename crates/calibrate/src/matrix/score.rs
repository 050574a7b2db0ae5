//! Compares a model with a published matrix, and defines the bars that the model has to meet.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};

use disklab_foreign::matrix::MatrixPoint;
use disklab_units::{Seed, average};

use super::run::{HostedDevice, MatrixLoad, ServedLoad, serve};

/// The numbers of a load, measured or modelled.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct LoadNumbers {
    pub iops: Option<f64>,
    /// Mean latency in ns, like all latencies.
    pub mean: Option<f64>,
    pub p50: Option<f64>,
    pub p99: Option<f64>,
    pub p99_9: Option<f64>,
}

impl LoadNumbers {
    pub fn measured(point: &MatrixPoint) -> Self {
        Self {
            iops: Some(point.iops),
            mean: point.mean,
            p50: point.percentile(50.0),
            p99: point.percentile(99.0),
            p99_9: point.percentile(99.9),
        }
    }

    pub fn modelled(served: &ServedLoad) -> Self {
        Self {
            iops: Some(served.iops),
            mean: Some(served.mean),
            p50: Some(served.percentile(50.0)),
            p99: Some(served.percentile(99.0)),
            p99_9: Some(served.percentile(99.9)),
        }
    }

    /// Returns the relative error of each number: model / measured - 1.
    #[must_use]
    pub fn errors(&self, measured: &Self) -> Self {
        let error = |model: Option<f64>, measured: Option<f64>| {
            Some(model? / measured.filter(|&measured| measured > 0.0)? - 1.0)
        };
        Self {
            iops: error(self.iops, measured.iops),
            mean: error(self.mean, measured.mean),
            p50: error(self.p50, measured.p50),
            p99: error(self.p99, measured.p99),
            p99_9: error(self.p99_9, measured.p99_9),
        }
    }
}

/// A point of a matrix, with its measured and modelled numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct PointScore {
    pub point: MatrixPoint,
    pub measured: LoadNumbers,
    pub model: LoadNumbers,
    pub errors: LoadNumbers,
}

/// Number of requests for a score: 20 of them are beyond the 99.9th percentile of the half that is
/// used.
const FULL: usize = 40_000;
/// Number of requests for a step of a search.
pub(crate) const QUICK: usize = 8_000;

/// The seed of the disk and of the places, the same for all points.
const SEED: Seed = Seed(1);

/// Runs each point on the device, several at a time. Returns the reason for a point that cannot be
/// run. Points with the same load are run once.
pub fn score(device: &HostedDevice, points: &[MatrixPoint]) -> Vec<Result<PointScore, String>> {
    let loads: Vec<Result<MatrixLoad, String>> =
        points.iter().map(|point| MatrixLoad::new(point, device.device.bytes)).collect();
    let mut wanted: Vec<MatrixLoad> = loads.iter().flatten().copied().collect();
    wanted.sort_unstable();
    wanted.dedup();
    let served = serve_all(device, &wanted, FULL);
    points
        .iter()
        .zip(loads)
        .map(|(point, load)| {
            let model = served.get(&load?).copied().unwrap_or_default();
            let measured = LoadNumbers::measured(point);
            let errors = model.errors(&measured);
            Ok(PointScore { point: point.clone(), measured, model, errors })
        })
        .collect()
}

/// Runs each load, several at a time. `least` has the meaning that it has in [`serve`].
pub(crate) fn serve_all(
    device: &HostedDevice,
    loads: &[MatrixLoad],
    least: usize,
) -> BTreeMap<MatrixLoad, LoadNumbers> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(BTreeMap::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(loads.len());
    let work = || {
        while let Some(load) = loads.get(next.fetch_add(1, Ordering::Relaxed)) {
            let numbers = LoadNumbers::modelled(&serve(device, load, least, SEED));
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(*load, numbers);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // If the thread cannot be started, the others do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    found.into_inner().unwrap_or_else(PoisonError::into_inner)
}

impl LoadNumbers {
    /// Returns the larger of each number.
    pub(crate) fn larger(&self, other: &Self) -> Self {
        let both = [*self, *other];
        over(|number| both.iter().filter_map(number).reduce(f64::max))
    }
}

/// Returns the median of each number.
pub(crate) fn middle_numbers(all: &[LoadNumbers]) -> LoadNumbers {
    over(|number| median(&all.iter().filter_map(number).collect::<Vec<_>>()))
}

/// The errors of several drives at one depth.
#[derive(Debug, Clone, PartialEq)]
pub struct DepthScore {
    /// Number of requests under way: iodepth times numjobs.
    pub outstanding: u32,
    pub drives: usize,
    pub points: usize,
    /// Number of drives with percentiles, over which the bars of p50 and p99 count.
    pub with_percentiles: usize,
    /// The median over drives of each drive's median error, without sign.
    pub median: LoadNumbers,
    /// The largest error of any point, without sign.
    pub worst: LoadNumbers,
}

/// The deepest queue of a SATA disk. The bars apply to depths up to it. At greater depths, the
/// numbers also depend on the machine's I/O scheduler.
pub const DEEPEST: u32 = 32;
/// The bars of [`DepthScore`], as relative errors: the median and the worst of IOPS, and the median
/// of p50 and p99.
pub const IOPS_MEDIAN: f64 = 0.10;
pub const IOPS_WORST: f64 = 0.25;
pub const LATENCY_MEDIAN: f64 = 0.20;

impl DepthScore {
    /// Returns the names of the bars that are missed; there are none beyond [`DEEPEST`].
    pub fn missed(&self) -> Vec<&'static str> {
        let all = [
            (self.median.iops, IOPS_MEDIAN, "IOPS"),
            (self.worst.iops, IOPS_WORST, "worst IOPS"),
            (self.median.p50, LATENCY_MEDIAN, "p50"),
            (self.median.p99, LATENCY_MEDIAN, "p99"),
        ];
        let is_missed = |&(error, bar, _): &(Option<f64>, f64, &str)| {
            self.outstanding <= DEEPEST && error.is_some_and(|error| error > bar)
        };
        all.into_iter().filter(is_missed).map(|(_, _, name)| name).collect()
    }
}

/// Summarises the scores of drives, one list for each, by the number of requests under way. A drive
/// counts once at each depth, however many points it has there.
pub fn by_depth(drives: &[&[&PointScore]]) -> Vec<DepthScore> {
    let outstanding = |score: &&&PointScore| score.point.outstanding();
    let mut depths: Vec<u32> =
        drives.iter().flat_map(|scores| scores.iter()).map(|score| outstanding(&score)).collect();
    depths.sort_unstable();
    depths.dedup();
    let depth_score = |depth: u32| {
        let there: Vec<Vec<&LoadNumbers>> = drives
            .iter()
            .map(|scores| scores.iter().filter(|score| score.point.outstanding() == depth))
            .map(|scores| scores.map(|score| &score.errors).collect::<Vec<_>>())
            .filter(|errors| !errors.is_empty())
            .collect();
        DepthScore {
            outstanding: depth,
            drives: there.len(),
            points: there.iter().map(Vec::len).sum(),
            with_percentiles: there
                .iter()
                .filter(|errors| errors.iter().any(|error| error.p50.or(error.p99).is_some()))
                .count(),
            median: over(|number| {
                let medians = there.iter().filter_map(|errors| median(&sizes(errors, number)));
                median(&medians.collect::<Vec<_>>())
            }),
            worst: over(|number| {
                there.iter().flat_map(|errors| sizes(errors, number)).reduce(f64::max)
            }),
        }
    };
    depths.into_iter().map(depth_score).collect()
}

/// A function that returns one number of a load.
type Number = fn(&LoadNumbers) -> Option<f64>;

fn over(summary: impl Fn(Number) -> Option<f64>) -> LoadNumbers {
    LoadNumbers {
        iops: summary(|numbers| numbers.iops),
        mean: summary(|numbers| numbers.mean),
        p50: summary(|numbers| numbers.p50),
        p99: summary(|numbers| numbers.p99),
        p99_9: summary(|numbers| numbers.p99_9),
    }
}

fn sizes(errors: &[&LoadNumbers], number: Number) -> Vec<f64> {
    errors.iter().filter_map(|errors| number(errors)).map(f64::abs).collect()
}

fn median(sizes: &[f64]) -> Option<f64> {
    (!sizes.is_empty()).then(|| average::median(sizes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(depth: u32, jobs: u32, iops: f64, p50: Option<f64>) -> PointScore {
        let point = MatrixPoint { depth, jobs, ..MatrixPoint::default() };
        let errors = LoadNumbers { iops: Some(iops), p50, ..LoadNumbers::default() };
        let none = LoadNumbers::default();
        PointScore { point, measured: none, model: none, errors }
    }

    #[test]
    fn errors_are_parts_of_what_was_measured() {
        let measured = LoadNumbers { iops: Some(100.0), p99: Some(2e6), ..LoadNumbers::default() };
        let model = LoadNumbers {
            iops: Some(80.0),
            p99: Some(3e6),
            p50: Some(1.0),
            ..LoadNumbers::default()
        };
        let errors = model.errors(&measured);
        let near = |error: Option<f64>, wanted: f64| (error.unwrap() - wanted).abs() < 1e-9;
        assert!(near(errors.iops, -0.2) && near(errors.p99, 0.5) && errors.p50.is_none());
    }

    /// A drive with many points at a depth counts as much as a drive with one.
    #[test]
    fn each_drive_counts_once_at_a_depth() {
        let many: Vec<PointScore> = [(2, 8, 0.4), (8, 2, 0.4), (16, 1, 0.6)]
            .map(|(depth, jobs, error)| scored(depth, jobs, error, None))
            .into();
        let one = [scored(16, 1, -0.02, Some(0.3)), scored(64, 1, 9.0, None)];
        let other = [scored(16, 1, 0.05, None)];
        let lists: Vec<Vec<&PointScore>> =
            [&many[..], &one, &other].map(|scores| scores.iter().collect()).into();
        let scores = by_depth(&lists.iter().map(Vec::as_slice).collect::<Vec<_>>());
        assert_eq!(scores.iter().map(|score| score.outstanding).collect::<Vec<_>>(), [16, 64]);
        let at_16 = &scores[0];
        assert_eq!((at_16.drives, at_16.points), (3, 5));
        assert_eq!((at_16.median.iops, at_16.worst.iops), (Some(0.05), Some(0.6)));
        assert_eq!(at_16.missed(), ["worst IOPS", "p50"]);
        assert!(scores[1].missed().is_empty(), "no bar is set beyond 32");
    }
}
