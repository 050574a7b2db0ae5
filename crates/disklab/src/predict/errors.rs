//! Compares each measured number with its prediction: the error, the noise of the measurement, and
//! the measurements that are in doubt.

use disklab_compare::matching::{RepeatedTrial, repeated_trials};
use disklab_compare::{CellIndex, DecisionRule, Metric, Noise, Trust};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_report::measures::NamedNumbers;
use disklab_report::merge::{CellRow, FioNumbers, MergedRecord};
use disklab_results::Spread;
use disklab_units::prose::digits;
use indexmap::IndexMap;
use serde::Serialize;

use crate::oracle::POLICY;
use crate::words;

/// The metric for which oracles give a bound.
pub const IOPS: &str = "IOPS";

/// A metric, its name, its spreads in both records, and the function that formats its values.
type Both<'a> = (Metric, &'static str, Option<(Spread, Spread)>, &'a dyn Fn(f64) -> String);

/// A number of a cell, in both records.
#[derive(Debug, Serialize)]
pub struct PredictedNumber {
    pub cell: String,
    pub metric: String,
    pub measured: f64,
    pub predicted: f64,
    /// The error: the predicted number divided by the measured one, minus 1. It is None if nothing
    /// was measured, or if either timed out.
    pub error: Option<f64>,
    /// The share by which two measurements of the same trial differ on this machine, for cells that
    /// were measured twice.
    pub noise: Option<f64>,
    /// The measured number as a share of the result of the fast model's better oracle.
    pub of_oracle: Option<f64>,
    #[serde(skip)]
    pub shown: [String; 2],
}

/// Returns each number that both records have, and the cells that have numbers in one record only.
/// `bounds` has the oracle's IOPS, by cell without its policy.
pub fn held_against(
    measured: &Record,
    predicted: &Record,
    bounds: &IndexMap<Cell, f64>,
) -> (Vec<PredictedNumber>, Vec<String>) {
    let twice = repeated_trials(measured, Trust::Sound);
    let [measured, predicted] =
        [measured, predicted].map(|record| MergedRecord::new(&CellIndex::new(record)));
    let (mut rows, mut lacking) = (Vec::new(), Vec::new());
    for group in &measured.groups {
        for cell in &group.cells {
            let name = name_of(&group.head.0, cell);
            let same = |other: &&CellRow| name_of(&group.head.0, other) == name;
            let groups = predicted.groups.iter().filter(|other| other.head == group.head);
            let other = groups.flat_map(|group| &group.cells).find(same);
            let before = rows.len();
            if let Some(other) = other {
                let both = cell.measured.as_ref().zip(other.measured.as_ref());
                let is_own =
                    |known: &Cell| cell.outcomes.iter().any(|outcome| outcome.cell == *known);
                let pairs = twice.iter().find(|(known, _)| is_own(known));
                let pairs = pairs.map_or(&[][..], |(_, pairs)| pairs);
                if let Some((one, other)) = both {
                    rows.extend(of_fio(&name, &one.all, &other.all, pairs));
                    let own = cell.outcomes.first().map(|outcome| outcome.cell.without(POLICY));
                    let bound = own.and_then(|cell| bounds.get(&cell));
                    let iops = rows[before..].iter_mut().filter(|row| row.metric == IOPS);
                    iops.for_each(|row| row.of_oracle = bound.map(|bound| row.measured / bound));
                }
                rows.extend(of_others(&name, &cell.measures, &other.measures, pairs));
            }
            if rows.len() == before {
                lacking.push(name);
            }
        }
    }
    (rows, lacking)
}

/// Returns the noise of a cell's trials that were measured twice, as a share.
fn noise_of(pairs: &[RepeatedTrial], metric: &Metric) -> Option<f64> {
    Noise::measured(pairs, metric, DecisionRule::DEFAULT).map(|noise| noise.percent / 100.0)
}

fn name_of(head: &[(String, String)], cell: &CellRow) -> String {
    let values =
        head.iter().map(|(_, value)| value.as_str()).chain(cell.values.iter().map(String::as_str));
    values.collect::<Vec<_>>().join(", ")
}

/// Returns the numbers of other programs than fio, such as start-up times, by name.
fn of_others<'a>(
    cell: &'a str,
    measured: &'a [NamedNumbers],
    predicted: &'a [NamedNumbers],
    pairs: &'a [RepeatedTrial],
) -> impl Iterator<Item = PredictedNumber> + 'a {
    measured.iter().filter_map(move |one| {
        let other =
            predicted.iter().find(|other| (&other.name, &other.unit) == (&one.name, &one.unit))?;
        let value = |measured: &NamedNumbers| {
            measured.sum.map_or(measured.spread.median, |(sum, of)| sum / of)
        };
        let (measured, predicted) = (value(one), value(other));
        let known = one.censored + other.censored == 0;
        Some(PredictedNumber {
            cell: cell.to_owned(),
            metric: one.name.clone(),
            measured,
            predicted,
            error: Some(predicted / measured - 1.0).filter(|error| known && error.is_finite()),
            noise: noise_of(pairs, &Metric::Other(one.name.clone())),
            of_oracle: None,
            shown: [one.median(), other.median()],
        })
    })
}

fn of_fio(
    cell: &str,
    measured: &FioNumbers,
    predicted: &FioNumbers,
    pairs: &[RepeatedTrial],
) -> Vec<PredictedNumber> {
    let both = |one: &Option<Spread>, other: &Option<Spread>| Some(((*one)?, (*other)?));
    let count = |value: f64| digits(value);
    let time = |value: f64| disklab_units::Nanos(value as u64).to_string();
    let told: [Both; 4] = [
        (Metric::Iops, IOPS, Some((measured.iops, predicted.iops)), &count),
        (Metric::Mean, "mean", Some((measured.lat_mean_ns, predicted.lat_mean_ns)), &time),
        (Metric::P50, "p50", both(&measured.p50_ns, &predicted.p50_ns), &time),
        (Metric::P99, "p99", both(&measured.p99_ns, &predicted.p99_ns), &time),
    ];
    let row = |(metric, called, pair, show): Both| {
        let (one, other) = pair.map(|(one, other)| (one.median, other.median))?;
        let shown = [show(one), show(other)];
        (one > 0.0).then(|| PredictedNumber {
            cell: cell.to_owned(),
            metric: called.to_owned(),
            measured: one,
            predicted: other,
            error: Some(other / one - 1.0),
            noise: noise_of(pairs, &metric),
            of_oracle: None,
            shown,
        })
    };
    told.into_iter().filter_map(row).collect()
}

/// Lists cells with measurements that no verdict may rest on, for example because other programs
/// used the disks. Each line has the number of these trials and of all, and the first reason.
pub fn in_doubt(measured: &Record) -> Vec<String> {
    let mut cells: IndexMap<String, Vec<&Outcome>> = IndexMap::new();
    for outcome in measured.outcomes().into_iter().filter_map(|(_, outcome)| outcome) {
        let values: Vec<&str> = outcome.cell.0.iter().map(|(_, value)| value.as_str()).collect();
        cells.entry(values.join(", ")).or_default().push(outcome);
    }
    let told = cells.into_iter().filter_map(|(name, own)| {
        let ok = own.iter().filter(|outcome| outcome.status == Status::Ok);
        let doubtful: Vec<&&Outcome> = ok.clone().filter(|outcome| !outcome.is_sound()).collect();
        let why: Vec<String> = doubtful.first()?.remarks.iter().map(ToString::to_string).collect();
        let (why, all) = (why.join("; "), words::count(ok.count(), "trial"));
        Some(format!("{name}: {} of {all}: {why}", doubtful.len()))
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use disklab_record::outcome::again;
    use disklab_results::measure::Measure;
    use serde_json::{Value, json};

    use super::*;

    /// Returns a trial of one of two cells, with this rate of operations.
    fn outcome(trial: &str, cell: &str, ops: f64, remarks: &Value) -> Outcome {
        Outcome {
            measures: [("ops".to_owned(), Measure::rate(ops, "1/s"))].into(),
            remarks: serde_json::from_value(remarks.clone()).expect("remarks"),
            ..disklab_testkit::outcome(trial, &[("policy", cell)], 1)
        }
    }

    fn record(folder: &Path, outcomes: Vec<Outcome>) -> Record {
        let (seconds, ids): (Vec<String>, Vec<String>) = outcomes
            .iter()
            .map(|outcome| outcome.trial.clone())
            .partition(|id| *id == again("pid+s1"));
        let mut manifest = disklab_testkit::manifest(disklab_testkit::suite("mine"), ids);
        manifest.again = seconds;
        disklab_testkit::record(folder, &manifest, outcomes)
    }

    /// Tests that an error stands beside the noise of the measurement if that is known, and that
    /// measurements in doubt are named.
    #[test]
    fn errors_are_told_beside_the_noise_of_what_was_measured() {
        let folder = tempfile::tempdir().expect("a folder");
        let sound = json!([]);
        let disturbed = json!([{
            "kind": "disturbed", "device": "sdb", "requests": 90, "bytes": 4096,
            "within": 1_000_000_000,
        }]);
        let measured = record(
            &folder.path().join("measured"),
            vec![
                outcome("pid+s1", "pid", 100.0, &sound),
                outcome(&again("pid+s1"), "pid", 104.0, &sound),
                outcome("queue+s1", "queue", 200.0, &disturbed),
            ],
        );
        let predicted = record(
            &folder.path().join("predicted"),
            vec![
                outcome("pid+s1", "pid", 110.0, &sound),
                outcome("queue+s1", "queue", 100.0, &sound),
            ],
        );
        let (rows, lacking) = held_against(&measured, &predicted, &IndexMap::new());
        assert!(lacking.is_empty(), "{lacking:?}");
        let near = |one: Option<f64>, other: f64| one.is_some_and(|one| (one - other).abs() < 1e-9);
        let row = |cell: &str| {
            rows.iter().find(|row| row.cell == cell).unwrap_or_else(|| panic!("no {cell}"))
        };
        assert!(near(row("pid").noise, 0.04), "{:?}", row("pid"));
        assert!(
            near(row("queue").error, -0.5) && row("queue").noise.is_none(),
            "{:?}",
            row("queue")
        );
        let doubtful = in_doubt(&measured);
        assert_eq!(doubtful.len(), 1, "{doubtful:?}");
        assert!(
            doubtful[0].starts_with("queue: 1 of 1 trial: disturbed by others: sdb"),
            "{doubtful:?}"
        );
    }

    fn measured(name: &str, value: f64, censored: usize) -> NamedNumbers {
        let spread = Spread::over([value]).expect("a value");
        NamedNumbers { name: name.to_owned(), unit: "s".to_owned(), spread, censored, sum: None }
    }

    #[test]
    fn what_is_not_fios_has_an_error_where_both_sides_are_known() {
        let here = [
            measured("start-up", 2.0, 0),
            measured("late", 0.0, 0),
            measured("boot", 60.0, 1),
            measured("own", 1.0, 0),
        ];
        let there =
            [measured("boot", 50.0, 0), measured("late", 1.0, 0), measured("start-up", 1.5, 0)];
        let rows: Vec<PredictedNumber> = of_others("cell", &here, &there, &[]).collect();
        let told: Vec<(&str, Option<f64>)> =
            rows.iter().map(|row| (row.metric.as_str(), row.error)).collect();
        assert_eq!(told, [("start-up", Some(-0.25)), ("late", None), ("boot", None)]);
        assert_eq!(rows[2].shown, ["> 60.0 s", "50.0 s"]);
    }
}
