//! The machine that a record was made on: the difference between two measurements of the same
//! trial, and changes of the level during the run, as disks filled, warmed up or wore, or others
//! came and went.

use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_results::Spread;
use disklab_stats::{change_points, penalty, percent};
use disklab_units::prose::{count, listed};

use crate::answer;
use crate::decision::DecisionRule;
use crate::matching::{RepeatedTrial, Trust, repeated_trials};
use crate::metric::Metric;
use crate::noise::Noise;

/// Least number of trials for which a course is computed.
const FEWEST: usize = 10;
/// Least change of level that is reported, in per cent: the default smallest effect of interest.
const LEAST: f64 = 2.0;

/// A trial at which another level begins.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelChange {
    pub trial: String,
    /// Index of the trial among those that count, from 1.
    pub place: usize,
    /// The change from the level before it.
    pub percent: f64,
}

/// A trial compared with the others of its cell.
struct Beside<'a> {
    outcome: &'a Outcome,
    /// The log-ratio to the cell's mean.
    off: f64,
    /// The same in standard deviations of the cell, since cells differ in their noise.
    standard: f64,
}

/// Finds changes of level among trials in the order of time, over all cells together. Also returns
/// the number of trials.
pub fn drift(in_time: &[&Outcome], metric: &Metric) -> (Vec<LevelChange>, usize) {
    let series = series(in_time, metric);
    (changes(&series), series.len())
}

/// Returns a record's trials with a result, in the order in which they ended.
pub fn in_time(record: &Record) -> Vec<&Outcome> {
    // The last line of a trial counts.
    let is_last = |outcome: &&Outcome| {
        record.outcome(&outcome.trial).is_some_and(|last| std::ptr::eq(last, *outcome))
    };
    record.lines().iter().filter(|outcome| outcome.status == Status::Ok).filter(is_last).collect()
}

fn changes(series: &[Beside]) -> Vec<LevelChange> {
    let standard: Vec<f64> = series.iter().map(|beside| beside.standard).collect();
    if series.len() < FEWEST {
        return Vec::new();
    }
    let cuts = penalty(&standard)
        .and_then(|penalty| change_points(&standard, penalty))
        .unwrap_or_default();
    let ends: Vec<usize> = std::iter::once(0).chain(cuts).chain([series.len()]).collect();
    let level = |piece: &[usize]| {
        let piece = series[piece[0]..piece[1]].iter();
        Spread::over(piece.map(|beside| beside.off)).map_or(0.0, |spread| spread.median)
    };
    let levels: Vec<f64> = ends.windows(2).map(level).collect();
    let change = |(pair, &at): (&[f64], &usize)| LevelChange {
        trial: series[at].outcome.trial.clone(),
        place: at + 1,
        percent: percent(pair[1] - pair[0]),
    };
    let all = levels.windows(2).zip(&ends[1..]).map(change);
    all.filter(|change| answer::size(change.percent) >= answer::size(LEAST)).collect()
}

fn series<'a>(in_time: &[&'a Outcome], metric: &Metric) -> Vec<Beside<'a>> {
    let value =
        |outcome: &Outcome| metric.value_in(outcome).filter(|value| *value > 0.0).map(f64::ln);
    let valued: Vec<(&Outcome, f64)> =
        in_time.iter().filter_map(|outcome| Some((*outcome, value(outcome)?))).collect();
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
        // A single trial shows nothing, and constant values do not drift.
        (deviation > 0.0).then(|| Beside { outcome, off, standard: off / deviation })
    };
    valued.iter().filter_map(beside).collect()
}

/// Describes the machine of a record, and the course of the run on it, as sentences without their
/// full stops. The list is empty for modelled disks.
pub fn sentences(record: &Record, metrics: &[Metric], rule: DecisionRule) -> Vec<String> {
    if record.manifest().on_host.is_none() {
        return Vec::new();
    }
    let cells = repeated_trials(record, Trust::Sound);
    let noise = metrics.iter().filter_map(|metric| noise_in_words(&cells, metric, rule));
    noise.chain(metrics.iter().filter_map(|metric| drift_in_words(record, metric))).collect()
}

fn noise_in_words(
    cells: &[(Cell, Vec<RepeatedTrial>)],
    metric: &Metric,
    rule: DecisionRule,
) -> Option<String> {
    let noise = |(cell, trials): &(Cell, Vec<RepeatedTrial>)| {
        Some((answer::values(cell), Noise::measured(trials, metric, rule)?))
    };
    let mut all: Vec<(String, Noise)> = cells.iter().filter_map(noise).collect();
    all.sort_by(|(_, one), (_, other)| one.percent.total_cmp(&other.percent));
    let (cell, most) = all.last()?;
    let from = match all.as_slice() {
        [(cell, least), _, ..] => format!("{:.2} % ({cell}) to ", least.percent),
        _ => String::new(),
    };
    Some(format!(
        "{}: two measurements of the same trial may differ by {from}{:.2} % ({cell}), as {} \
         of repeated measurements show. Smaller differences are noise of this machine",
        metric.name(),
        most.percent,
        count(all.iter().map(|(_, noise)| noise.pairs).sum(), "pair")
    ))
}

fn drift_in_words(record: &Record, metric: &Metric) -> Option<String> {
    let (changes, trials) = drift(&in_time(record), metric);
    let in_words = |LevelChange { trial, place, percent }: &LevelChange| {
        format!("by {} with trial {place} of {trials} ({trial})", answer::change(*percent))
    };
    let changes: Vec<String> = changes.iter().map(in_words).collect();
    (!changes.is_empty()).then(|| {
        format!(
            "{} drifted during the run: the level of all cells together changed {}. The trials of \
             each cell are spread over the whole run, so the drift widens intervals and favours no \
             choice",
            metric.name(),
            listed(&changes)
        )
    })
}
