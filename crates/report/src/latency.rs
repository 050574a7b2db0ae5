//! Latencies of a group's choices as curves over percentiles: from fio's histograms, or from the
//! percentiles of the record.

use std::fmt::Display;
use std::path::Path;

use disklab_protocol::names;
use disklab_results::sample::{latency_in, latency_of};
use disklab_results::{Histogram, Sample, Spread, fio};
use disklab_units::Nanos;

use crate::source::{CellChoice, Group, ReportSource};

/// Nines at the end of the tail: 99.99 %.
pub const NINES: f64 = 4.0;
/// Points of the tail for each nine.
const POINTS_A_NINE: u32 = 12;

/// The requests of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestKind {
    All,
    Reads,
    Writes,
}

/// Latency of all seeds of a choice together, and the extremes of its seeds.
#[derive(Debug, Clone, Copy)]
pub struct CurvePoint {
    pub percent: f64,
    /// Latency of all seeds together, in ns.
    pub of_all: f64,
    pub least: f64,
    pub greatest: f64,
}

/// Source of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Every request, by its bucket.
    Histograms,
    /// A few percentiles of each seed; the curve is their median.
    Percentiles,
}

/// The latencies of one choice.
#[derive(Debug)]
pub struct Curve {
    pub choice: String,
    /// Index of the choice among all choices.
    pub series: usize,
    pub origin: Origin,
    /// Number of requests of all seeds together.
    requests: u64,
    /// Points in the order of percentiles, each once.
    points: Vec<CurvePoint>,
}

impl Curve {
    /// Returns the point at a percentile.
    pub fn point(&self, percent: f64) -> Option<CurvePoint> {
        self.points.iter().find(|point| (point.percent - percent).abs() < 1e-9).copied()
    }

    /// Returns the points for an axis from 0 to 100.
    pub fn range(&self) -> Vec<CurvePoint> {
        let whole = |percent: f64| (percent - percent.round()).abs() < 1e-9;
        let few = self.origin == Origin::Percentiles;
        self.points.iter().filter(|point| few || whole(point.percent)).copied().collect()
    }

    /// Returns the points for an axis of nines, up to the percentile at which one request is left.
    pub fn tail(&self) -> Vec<CurvePoint> {
        let last = if self.origin == Origin::Percentiles {
            NINES
        } else {
            (self.requests as f64).log10().min(NINES)
        };
        self.points.iter().filter(|point| nines(point.percent) <= last + 1e-9).copied().collect()
    }
}

/// Returns the number of nines: 1 at 90 %, 2 at 99 %, 3 at 99.9 %.
pub fn nines(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).max(1e-12).log10()
}

pub fn percent_of_nines(nines: f64) -> f64 {
    100.0 - 100.0 * 10_f64.powf(-nines)
}

/// Returns the percentiles of a curve: every second whole one and both ends, those of the tail, and
/// two of the latency tables.
fn percents() -> Vec<f64> {
    let whole =
        (0..=100).filter(|percent| percent % 2 == 0 || !(10..90).contains(percent)).map(f64::from);
    let steps = NINES as u32 * POINTS_A_NINE;
    let tail = (1..=steps).map(|step| percent_of_nines(f64::from(step) / f64::from(POINTS_A_NINE)));
    let mut all: Vec<f64> = whole
        .chain(tail)
        .chain([99.5, 99.95])
        .map(|percent| (percent * 1e6).round() / 1e6)
        .collect();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Returns the kinds of requests of a group: reads and writes, if any of its trials has both.
pub fn sides(group: &Group) -> &'static [RequestKind] {
    let has_both = |sample: &Sample| sample.read.is_some() && sample.write.is_some();
    let mut results = group.choices.iter().flat_map(CellChoice::results);
    if results.any(|(_, outcome)| outcome.sample.as_ref().is_some_and(has_both)) {
        &[RequestKind::Reads, RequestKind::Writes]
    } else {
        &[RequestKind::All]
    }
}

/// Returns the curves of a group, and a sentence for each that is missing or lacks seeds.
pub fn curves(
    source: &ReportSource,
    group: &Group,
    side: RequestKind,
) -> (Vec<Curve>, Vec<String>) {
    let (mut curves, mut missing) = (Vec::new(), Vec::new());
    for choice in &group.choices {
        let series = source.series(choice);
        let (histograms, why) = histograms(choice, side);
        missing.extend(why.iter().map(|why| format!("{}, {why}", choice.value)));
        let (origin, requests, points) = match merged(&histograms) {
            Some((requests, points)) => (Origin::Histograms, requests, points),
            None => (Origin::Percentiles, 0, recorded(choice, side)),
        };
        let choice_name = &choice.value;
        if points.is_empty() {
            let is_without = choice.results().next().is_none();
            let what = if is_without { "no trial with a result" } else { "no latencies" };
            missing.push(format!("{choice_name}: {what}"));
            continue;
        }
        if origin == Origin::Percentiles {
            missing.push(format!(
                "{choice_name}: no histograms; the marks are medians over the seeds of the \
                 recorded percentiles"
            ));
        }
        curves.push(Curve { choice: choice_name.clone(), series, origin, requests, points });
    }
    (curves, missing)
}

/// Returns the histogram of each trial that has one, and the reasons why the others have none.
fn histograms(choice: &CellChoice, side: RequestKind) -> (Vec<Histogram>, Vec<String>) {
    let (mut all, mut missing) = (Vec::new(), Vec::new());
    for (trial, outcome) in choice.results() {
        let Some(raw) = trial.record.raw(outcome) else { continue };
        match histogram_in(&raw, side) {
            Ok(found) => all.extend(found.filter(|histogram| !histogram.bins().is_empty())),
            Err(why) => {
                let seed = trial.seed_index.map(|seed| format!("seed {seed}"));
                missing.push(format!("{}: {why}", seed.as_deref().unwrap_or(trial.id)));
            }
        }
    }
    (all, missing)
}

/// Reads latencies from fio's report in a trial's folder. Returns `None` if it has no histogram.
pub fn histogram_in(raw: &Path, side: RequestKind) -> Result<Option<Histogram>, String> {
    let path = raw.join(names::FIO);
    let unreadable = |error: &dyn Display| format!("cannot read {}: {error}", path.display());
    let bytes =
        disklab_files::read(&path, &disklab_files::RAW).map_err(|error| unreadable(&error))?;
    let report = fio::parse(&bytes).map_err(|error| unreadable(&error))?;
    let jobs: Vec<_> = report.jobs.iter().collect();
    let latency = match side {
        RequestKind::All => latency_of(&jobs),
        RequestKind::Reads => latency_in(&jobs, |job| &job.read),
        RequestKind::Writes => latency_in(&jobs, |job| &job.write),
    };
    Ok(latency.and_then(|(_, latency)| latency.histogram))
}

/// Returns the number of requests, and the points.
fn merged(trials: &[Histogram]) -> Option<(u64, Vec<CurvePoint>)> {
    let bins = trials.iter().flat_map(Histogram::bins).copied();
    let merged = Histogram::from_bins(bins.collect()).filter(|merged| !merged.bins().is_empty())?;
    let point = |percent: f64| {
        let of_trial = |trial: &Histogram| trial.percentile(percent).map(|ns| ns as f64);
        let seeds = Spread::over(trials.iter().filter_map(of_trial))?;
        let of_all = merged.percentile(percent)? as f64;
        Some(CurvePoint { percent, of_all, least: seeds.min, greatest: seeds.max })
    };
    Some((merged.count(), percents().into_iter().filter_map(point).collect()))
}

/// Returns the percentiles in the trials' lines.
fn recorded(choice: &CellChoice, side: RequestKind) -> Vec<CurvePoint> {
    type Percentiles = [Option<Nanos>; 3];
    let told = |sample: &Sample| -> Option<Percentiles> {
        let one = match side {
            RequestKind::All => return Some([sample.p50_ns, sample.p99_ns, sample.p99_9_ns]),
            RequestKind::Reads => sample.read.as_ref()?,
            RequestKind::Writes => sample.write.as_ref()?,
        };
        Some([one.p50_ns, one.p99_ns, one.p99_9_ns])
    };
    let samples = choice.results().filter_map(|(_, outcome)| told(outcome.sample.as_ref()?));
    let all: Vec<Percentiles> = samples.collect();
    let of = |(at, percent): (usize, f64)| {
        let seeds = Spread::over(all.iter().filter_map(|one| Some(one[at]?.0 as f64)))?;
        Some(CurvePoint { percent, of_all: seeds.median, least: seeds.min, greatest: seeds.max })
    };
    let points = [50.0, 99.0, 99.9].into_iter().enumerate().filter_map(of);
    points.filter(|point| point.least > 0.0).collect()
}
