//! Whether the level of a machine's results changed while a run went on: its disks filled, warmed
//! up or wore, or others came and went.

use disklab_record::{Outcome, Record, Status};
use disklab_stats::{change_points, penalty, percent};

use crate::answer;
use crate::metric::Metric;

/// Fewer trials have no course.
const FEWEST: usize = 10;
/// A change of level below this is told nobody: the smallest effect of interest, unless said.
const LEAST: f64 = 2.0;

/// A trial with which another level begins.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub trial: String,
    /// Its place among those that count, from 1.
    pub place: usize,
    /// From the level before it.
    pub percent: f64,
}

/// What each trial is beside the others of its cell, in the order of time.
struct Beside<'a> {
    outcome: &'a Outcome,
    /// The log-ratio to the cell's mean.
    off: f64,
    /// The same in standard deviations of the cell: cells differ in how noisy they are.
    standard: f64,
}

/// Where the level of trials changed that are in the order of time, all cells together; and how
/// many were looked at.
pub fn drift(in_time: &[&Outcome], metric: &Metric) -> (Vec<Change>, usize) {
    let series = series(in_time, metric);
    (changes(&series), series.len())
}

/// A record's trials that gave a result, in the order in which they ended.
pub fn in_time(record: &Record) -> Vec<&Outcome> {
    // The last line of a trial is the one that counts.
    let is_last = |outcome: &&Outcome| {
        record.outcome(&outcome.trial).is_some_and(|last| std::ptr::eq(last, *outcome))
    };
    record.lines().iter().filter(|it| it.status == Status::Ok).filter(is_last).collect()
}

fn changes(series: &[Beside]) -> Vec<Change> {
    let standard: Vec<f64> = series.iter().map(|it| it.standard).collect();
    if series.len() < FEWEST {
        return Vec::new();
    }
    let cuts = penalty(&standard)
        .and_then(|penalty| change_points(&standard, penalty))
        .unwrap_or_default();
    let ends: Vec<usize> = std::iter::once(0).chain(cuts).chain([series.len()]).collect();
    let level =
        |piece: &[usize]| median(series[piece[0]..piece[1]].iter().map(|it| it.off).collect());
    let levels: Vec<f64> = ends.windows(2).map(level).collect();
    let change = |(pair, &at): (&[f64], &usize)| Change {
        trial: series[at].outcome.trial.clone(),
        place: at + 1,
        percent: percent(pair[1] - pair[0]),
    };
    let all = levels.windows(2).zip(&ends[1..]).map(change);
    all.filter(|change| answer::size(change.percent) >= answer::size(LEAST)).collect()
}

fn series<'a>(in_time: &[&'a Outcome], metric: &Metric) -> Vec<Beside<'a>> {
    let value = |it: &Outcome| metric.of(it).filter(|value| *value > 0.0).map(f64::ln);
    let valued: Vec<(&Outcome, f64)> =
        in_time.iter().filter_map(|it| Some((*it, value(it)?))).collect();
    let beside = |(outcome, value): &(&'a Outcome, f64)| {
        let own: Vec<f64> = valued
            .iter()
            .filter(|(other, _)| other.cell == outcome.cell)
            .map(|(_, value)| *value)
            .collect();
        let mean = own.iter().sum::<f64>() / own.len() as f64;
        let squares: f64 = own.iter().map(|value| (value - mean).powi(2)).sum();
        let deviation = (squares / (own.len() as f64 - 1.0)).sqrt();
        let off = value - mean;
        // Of one alone nothing is known, and what is always the same does not drift.
        (deviation > 0.0).then(|| Beside { outcome, off, standard: off / deviation })
    };
    valued.iter().filter_map(beside).collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 {
        values[middle]
    } else {
        f64::midpoint(values[middle - 1], values[middle])
    }
}

/// A sentence without its full stop, where the level changed.
pub fn sentence(record: &Record, metric: &Metric) -> Option<String> {
    let (changes, trials) = drift(&in_time(record), metric);
    let told: Vec<String> = changes
        .iter()
        .map(|it| {
            format!(
                "by {} with trial {} of {trials} ({})",
                answer::change(it.percent),
                it.place,
                it.trial
            )
        })
        .collect();
    (!told.is_empty()).then(|| {
        format!(
            "{} drifted: the level of all cells together changed {}; each cell is spread over the \
             whole run, so that this widens intervals and favours none",
            metric.name(),
            disklab_units::prose::listed(&told)
        )
    })
}
