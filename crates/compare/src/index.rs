//! The cell index of a record: its suite, parsed once; its axes; the cell and the seed of every
//! trial.

use std::collections::BTreeSet;
use std::hash::Hash;

use disklab_config::suite::SuiteAxis;
use disklab_config::suite::metric::{OPS, TIME};
use disklab_config::{Diagnostics, Suite};
use disklab_record::manifest::UntilDecided;
use disklab_record::outcome::{Cell, seed_of_id};
use disklab_record::record::{name_of, suite_file};
use disklab_record::{Outcome, Record};
use indexmap::IndexMap;

use crate::error::Error;
use crate::metric::Metric;

/// The word for the axis of which records are the values.
pub const RECORD: &str = "record";

/// A record with its trials placed in the matrix of its suite.
#[derive(Debug)]
pub struct CellIndex<'a> {
    pub record: &'a Record,
    /// The suite that the record was begun with, as the command line changed it. An error for
    /// imported results, which have none, and for a suite that this disklab does not understand.
    pub suite: Result<Suite, Diagnostics>,
    /// The axes of the cells, in the order of a trial's id. Without a suite, those of the first
    /// line of `trials.jsonl`.
    pub axes: Vec<String>,
    /// The axes that have one value in all trials, with that value; cells do not name them.
    pub fixed: Cell,
    /// The trials of the manifest, in its order.
    pub trials: Vec<IndexedTrial<'a>>,
}

/// A trial, its place in the matrix, and its result.
#[derive(Debug, Clone)]
pub struct IndexedTrial<'a> {
    pub record: &'a Record,
    pub id: &'a str,
    /// Read from the id for a trial that has not run.
    pub cell: Cell,
    /// `None` if the trial has not run and its id names no seed.
    pub seed_index: Option<u32>,
    /// `None` if the trial has not run.
    pub outcome: Option<&'a Outcome>,
}

impl<'a> CellIndex<'a> {
    pub fn new(record: &'a Record) -> Self {
        let recorded = &record.manifest().suite;
        let file = suite_file(record.folder());
        let suite = Suite::of_text(&recorded.name, &file, recorded.text(), &recorded.set);
        let (axes, fixed) = if let Ok(suite) = &suite {
            axes_of_suite(suite)
        } else {
            let first = record.lines().first().map(|outcome| &outcome.cell.0);
            let axes = first.into_iter().flatten().map(|(axis, _)| axis.clone()).collect();
            (axes, Cell::default())
        };
        let trial = |(id, outcome): (&'a str, Option<&'a Outcome>)| IndexedTrial {
            record,
            id,
            cell: outcome.map_or_else(|| Cell::of_id(id, &axes), |outcome| outcome.cell.clone()),
            seed_index: outcome.map(|outcome| outcome.seed_index).or_else(|| seed_of_id(id)),
            outcome,
        };
        let trials = record.outcomes().into_iter().map(trial).collect();
        Self { record, suite, axes, fixed, trials }
    }

    /// The record's name, as a later command finds it.
    pub fn name(&self) -> String {
        name_of(self.record.folder())
    }

    /// The axis and the value that the suite compares the other values of that axis with.
    pub fn baseline(&self) -> Option<(String, String)> {
        let baseline = self.suite.as_ref().ok()?.baseline()?;
        Some((baseline.axis.to_string(), baseline.value.clone()))
    }

    /// The axes by which cells are compared: those of the suite, or those that the import declared.
    pub(crate) fn compared_axes(&self) -> Result<&[String], Error> {
        match (&self.record.manifest().imported, &self.suite) {
            (Some(imported), _) => Ok(&imported.axes),
            (None, Ok(_)) => Ok(&self.axes),
            (None, Err(mistakes)) => Err(Error::Suite(mistakes.clone())),
        }
    }

    /// The metrics that the suite asks for; none if it asks for none.
    fn wanted_metrics(&self) -> Vec<Metric> {
        let suite = self.suite.iter();
        suite.flat_map(|suite| &suite.metrics).map(|name| Metric::of_name(name)).collect()
    }
}

/// Things by a key and, within that, by another, each in the order in which they come.
pub type Grouped<Outer, Inner, T> = IndexMap<Outer, IndexMap<Inner, Vec<T>>>;

/// Groups things that come with both of their keys.
pub fn grouped<Outer: Hash + Eq, Inner: Hash + Eq, T>(
    all: impl IntoIterator<Item = (Outer, Inner, T)>,
) -> Grouped<Outer, Inner, T> {
    let mut groups: Grouped<Outer, Inner, T> = IndexMap::new();
    for (outer, inner, one) in all {
        groups.entry(outer).or_default().entry(inner).or_default().push(one);
    }
    groups
}

/// The trials of some records by what is equal but for the axis `compared`, and by their values of
/// that axis.
pub fn side_by_side<'a>(
    records: &[CellIndex<'a>],
    compared: &str,
) -> Grouped<Cell, String, IndexedTrial<'a>> {
    let by_record = compared == RECORD && records.len() > 1;
    grouped(records.iter().flat_map(|index| {
        index.trials.iter().map(move |trial| {
            let IndexedTrial { cell, .. } = trial;
            if by_record {
                (cell.clone(), index.name(), trial.clone())
            } else {
                let value = cell.value(compared).unwrap_or_default().to_owned();
                (cell.without(compared), value, trial.clone())
            }
        })
    }))
}

/// The axes with several values, and those with one.
fn axes_of_suite(suite: &Suite) -> (Vec<String>, Cell) {
    let (fixed, crossed): (Vec<_>, Vec<_>) = suite.axes().iter().partition(|axis| axis.fixed);
    let fixed = fixed.into_iter().flat_map(|axis| {
        axis.values.iter().map(|value| (axis.axis.to_string(), value.value.clone()))
    });
    (crossed.into_iter().map(|axis| axis.axis.to_string()).collect(), Cell(fixed.collect()))
}

/// The plan of interim analyses by which a run chose its seeds; of several records, the one with
/// most analyses.
pub fn interim_plan<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<&'a UntilDecided> {
    records
        .into_iter()
        .filter_map(|record| record.manifest().until_decided.as_ref())
        .max_by_key(|until| until.analyses.len())
}

/// The metrics that every record of fio is shown by, unless somebody names others.
const SHOWN: [Metric; 5] =
    [Metric::Iops, Metric::Bandwidth, Metric::Mean, Metric::P50, Metric::P99];
/// The most metrics of a record's own that are shown without being named.
const MOST_OTHERS: usize = 5;

/// The use of metrics that nobody named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUse {
    /// Verdicts: those of the first record's suite that any of its trials has. If there are none:
    /// IOPS for fio's trials, for others operations and the time of each phase.
    Verdicts,
    /// A page: those that a run decided by; else those of the first record's suite; else fio's
    /// usual ones and the first few of the trials' own, as far as any trial has them.
    Page,
}

/// The metrics of some records where nobody names any; at least one.
pub fn default_metrics(records: &[CellIndex], purpose: MetricUse) -> Vec<Metric> {
    let found = match purpose {
        MetricUse::Verdicts => records.first().map(metrics_for_verdicts).unwrap_or_default(),
        MetricUse::Page => metrics_for_page(records),
    };
    if found.is_empty() { vec![Metric::Iops] } else { found }
}

fn metrics_for_verdicts(index: &CellIndex) -> Vec<Metric> {
    let lines = index.record.lines();
    // A record of a part of a suite has that part's numbers only.
    let is_measured =
        |metric: &Metric| lines.iter().any(|outcome| metric.value_in(outcome).is_some());
    let wanted: Vec<_> = index.wanted_metrics().into_iter().filter(is_measured).collect();
    if !wanted.is_empty() || lines.iter().any(|outcome| outcome.sample.is_some()) {
        return wanted;
    }
    let is_own = |name: &&str| {
        *name == OPS || name.strip_suffix(TIME).is_some_and(|phase| phase.ends_with(' '))
    };
    measure_names(lines).into_iter().filter(is_own).map(Metric::of_name).collect()
}

fn metrics_for_page(records: &[CellIndex]) -> Vec<Metric> {
    if let Some(until) = interim_plan(records.iter().map(|index| index.record)) {
        return until.metrics.iter().map(|name| Metric::of_name(name)).collect();
    }
    let wanted = records.first().map(CellIndex::wanted_metrics).unwrap_or_default();
    if !wanted.is_empty() {
        return wanted;
    }
    let outcomes = || records.iter().flat_map(|index| index.record.lines());
    let is_measured =
        |metric: &Metric| outcomes().any(|outcome| metric.value_in(outcome).is_some());
    let mut known: Vec<Metric> = SHOWN.into_iter().filter(is_measured).collect();
    known.extend(measure_names(outcomes()).into_iter().take(MOST_OTHERS).map(Metric::of_name));
    known.dedup();
    known
}

/// The names of the trials' own numbers, sorted.
fn measure_names<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> BTreeSet<&'a str> {
    let measures = outcomes.into_iter().flat_map(|outcome| outcome.measures.keys());
    measures.map(String::as_str).collect()
}

/// The axis in which cells are compared where nobody names one: the last. Ranges of numbers are
/// what choices are followed along, so that the last other axis with several values goes before
/// them.
pub fn default_axis(records: &[CellIndex]) -> Option<String> {
    let axes = &records.first()?.axes;
    let is_range = |axis: &String| matches!(axis.parse(), Ok(SuiteAxis::Parameter(_)));
    let differs = |axis: &String| {
        let trials = records.iter().flat_map(|index| &index.trials);
        let values: BTreeSet<&str> = trials.filter_map(|trial| trial.cell.value(axis)).collect();
        values.len() > 1
    };
    let last = axes.last()?;
    let other = axes.iter().rev().find(|axis| !is_range(axis) && differs(axis));
    Some(if is_range(last) { other.unwrap_or(last) } else { last }.clone())
}
