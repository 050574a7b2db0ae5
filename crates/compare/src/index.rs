//! The cell index of a record: its suite, parsed once; its axes; the cell and the seed of every
//! trial.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;

use disklab_config::suite::metric::{OPS, TIME};
use disklab_config::suite::{Axis, AxisValues, SuiteAxis};
use disklab_config::{Diagnostics, Suite};
use disklab_record::manifest::UntilDecided;
use disklab_record::outcome::{Cell, seed_of_id};
use disklab_record::record::{name_of, suite_file};
use disklab_record::{Outcome, Record};
use indexmap::{IndexMap, IndexSet};

use crate::error::Error;
use crate::metric::Metric;

/// Name of the axis whose values are records.
pub const RECORD: &str = "record";

/// A record with its trials placed in the matrix of its suite.
#[derive(Debug)]
pub struct CellIndex<'a> {
    pub record: &'a Record,
    /// Suite that the record was begun with, including the changes of the command line. An error
    /// for imported results, which have none, and for a suite that this disklab does not
    /// understand.
    pub suite: Result<Suite, Diagnostics>,
    /// The axes of the cells, in the order of a trial's id. Without a suite, the order is that of
    /// the first line of `trials.jsonl`.
    pub axes: Vec<String>,
    /// Axes with one value in all trials, and that value. Cells do not name them.
    pub fixed: Cell,
    /// The trials of the manifest, in its order.
    pub trials: Vec<IndexedTrial<'a>>,
    /// Axes of the outcomes that the cells lack.
    pub(crate) left_out: Vec<String>,
    /// Axes that are combined into one axis of the cells, whose values are combinations.
    pub(crate) combined: Vec<String>,
}

/// A trial, its place in the matrix, and its result.
#[derive(Debug, Clone)]
pub struct IndexedTrial<'a> {
    pub record: &'a Record,
    pub id: &'a str,
    /// Cell, read from the id for a trial that has not run.
    pub cell: Cell,
    /// Index of the seed, or `None` if the trial has not run and its id names no seed.
    pub seed_index: Option<u32>,
    /// Outcome, or `None` if the trial has not run.
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
        Self { record, suite, axes, fixed, trials, left_out: Vec::new(), combined: Vec::new() }
    }

    /// Returns the record's name, as a later command finds it.
    pub fn name(&self) -> String {
        name_of(self.record.folder())
    }

    /// Returns the axis and the value of the baseline, by [`default_baseline`]. For imported
    /// results it is the first value of the axis that varies, if only one axis does or only one has
    /// a name of a choice.
    pub fn baseline(&self) -> Option<(String, String)> {
        if self.suite.is_ok() {
            let (axes, values): (Vec<String>, Vec<String>) =
                self.suite_baseline().into_iter().unzip();
            return (!axes.is_empty()).then(|| (axes.join(COMBINED), values.join(COMBINED)));
        }
        self.record.manifest().imported.as_ref()?;
        let values = |axis: &str| -> BTreeSet<&str> {
            self.trials.iter().filter_map(|trial| trial.cell.value(axis)).collect()
        };
        let varying: Vec<&str> =
            self.axes.iter().map(String::as_str).filter(|axis| values(axis).len() > 1).collect();
        let is_choice = |axis: &&&str| CHOICES.iter().any(|choice| choice.as_str() == **axis);
        let choices: Vec<&str> = varying.iter().filter(is_choice).copied().collect();
        let (([axis], _) | (_, [axis])) = (choices.as_slice(), varying.as_slice()) else {
            return None;
        };
        let first = self.trials.iter().find_map(|trial| trial.cell.value(axis))?;
        Some(((*axis).to_owned(), first.to_owned()))
    }

    /// Returns the axes and values of [`default_baseline`] that the cells have.
    fn suite_baseline(&self) -> Vec<(String, String)> {
        let (axes, values) = self.suite.iter().find_map(default_baseline).unwrap_or_default();
        let pairs = axes.into_iter().zip(values);
        pairs.filter(|(axis, _)| !self.left_out.contains(axis)).collect()
    }

    /// Returns a cell of the record in the form of this index.
    pub(crate) fn placed(&self, cell: &Cell) -> Cell {
        let mut cell = cell.clone();
        cell.0.retain(|(axis, _)| !self.left_out.contains(axis));
        if self.combined.is_empty() {
            return cell;
        }
        let own: Vec<&str> = self.combined.iter().filter_map(|axis| cell.value(axis)).collect();
        let value = own.join(COMBINED);
        let place = cell.0.iter().rposition(|(axis, _)| self.combined.contains(axis));
        if let Some(place) = place {
            cell.0[place] = (self.combined.join(COMBINED), value);
        }
        cell.0.retain(|(axis, _)| !self.combined.contains(axis));
        cell
    }

    /// Returns the index with the cells of every trial in the form of [`Self::placed`].
    fn replaced(mut self) -> Self {
        let cells: Vec<Cell> = self.trials.iter().map(|trial| self.placed(&trial.cell)).collect();
        for (trial, cell) in self.trials.iter_mut().zip(cells) {
            trial.cell = cell;
        }
        let mut axes = Cell(self.axes.iter().map(|axis| (axis.clone(), String::new())).collect());
        axes = self.placed(&axes);
        self.axes = axes.0.into_iter().map(|(axis, _)| axis).collect();
        self
    }

    /// Returns the index with the axes that its baseline combines as one axis.
    fn with_combined_axes(self) -> Self {
        let axes: Vec<String> = self.suite_baseline().into_iter().map(|(axis, _)| axis).collect();
        if axes.len() > 1 { Self { combined: axes, ..self }.replaced() } else { self }
    }

    /// Returns the index with a cell for each value of the axes that it combines.
    pub(crate) fn without_combined_axes(&self) -> Self {
        let plain = Self::new(self.record);
        Self { left_out: self.left_out.clone(), ..plain }.replaced()
    }

    fn without_axes(self, axes: &[String]) -> Self {
        let left_out = self.left_out.iter().chain(axes).cloned().collect();
        Self { left_out, ..self }.replaced()
    }

    /// Returns the axes by which cells are compared: those of the suite, or those that the import
    /// declared.
    pub(crate) fn compared_axes(&self) -> Result<&[String], Error> {
        match (&self.record.manifest().imported, &self.suite) {
            (Some(_), _) | (None, Ok(_)) => Ok(&self.axes),
            (None, Err(mistakes)) => Err(Error::Suite(mistakes.clone())),
        }
    }

    /// Returns the metrics that the suite names, which may be none.
    fn wanted_metrics(&self) -> Vec<Metric> {
        let suite = self.suite.iter();
        suite.flat_map(|suite| &suite.metrics).map(|name| Metric::of_name(name)).collect()
    }
}

/// Separator of the axes of a combination, and of their values.
const COMBINED: &str = " + ";
/// Axes of which one value is chosen. Loads and disks are the conditions of the choice.
const CHOICES: [Axis; 3] = [Axis::Policy, Axis::Scheduler, Axis::Kernel];

/// Returns the axes that are compared by default, and the values of the baseline.
///
/// The suite's own baseline counts if its axis has several values. Otherwise the policies,
/// schedulers and kernels that vary are compared, as combinations if there are several, with the
/// first value of each as baseline; then arrays; and then an axis that is the only one to vary and
/// is no load.
pub fn default_baseline(suite: &Suite) -> Option<(Vec<String>, Vec<String>)> {
    let varying: Vec<_> = suite.axes().iter().filter(|axis| axis.values.len() > 1).collect();
    if let Some(baseline) = suite.baseline()
        && varying.iter().any(|axis| axis.axis == baseline.axis)
    {
        return Some((vec![baseline.axis.to_string()], vec![baseline.value.clone()]));
    }
    let named = |wanted: &[Axis]| -> Vec<_> {
        let is_wanted = |axis: &&&AxisValues| wanted.iter().any(|wanted| axis.axis == *wanted);
        varying.iter().filter(is_wanted).copied().collect()
    };
    let is_load = |axis: &&AxisValues| axis.axis == Axis::Workload || axis.axis == Axis::Jobs;
    let alone = || match varying.as_slice() {
        [only] if !is_load(only) => vec![*only],
        _ => Vec::new(),
    };
    let compared = [named(&CHOICES), named(&[Axis::Array]), alone()];
    let compared = compared.into_iter().find(|axes| !axes.is_empty())?;
    let first = |axis: &&AxisValues| axis.values.first().map(|value| value.value.clone());
    let values = compared.iter().filter_map(first).collect();
    Some((compared.iter().map(|axis| axis.axis.to_string()).collect(), values))
}

/// Returns the axes and values of a combination, or the axis and value themselves.
pub fn uncombined<'t>(axis: &'t str, value: &'t str) -> impl Iterator<Item = (&'t str, &'t str)> {
    axis.split(COMBINED).zip(value.split(COMBINED))
}

/// Indexes records that are compared. The axes `ignored` are not part of the cells. In imported
/// results, axes with one value everywhere and axes that only repeat another are left out too. In a
/// single record the axes of a combination are one axis, unless the axis to compare is `wanted`.
pub fn index_records<'a>(
    records: &'a [Record],
    wanted: Option<&str>,
    ignored: &[String],
) -> Result<Vec<CellIndex<'a>>, Error> {
    let mut indexes: Vec<CellIndex> = records.iter().map(CellIndex::new).collect();
    let known: BTreeSet<&String> = indexes.iter().flat_map(|index| &index.axes).collect();
    if let Some(unknown) = ignored.iter().find(|axis| !known.contains(axis)) {
        let axes = known.into_iter().cloned().collect();
        return Err(Error::NoAxis { axis: unknown.clone(), axes });
    }
    if let Some(axis) = ignored.iter().find(|axis| wanted == Some(axis.as_str())) {
        return Err(Error::IgnoresCompared { axis: axis.clone() });
    }
    if !ignored.is_empty() {
        indexes = indexes.into_iter().map(|index| index.without_axes(ignored)).collect();
        for index in &mut indexes {
            pool(index, ignored)?;
        }
    }
    if !indexes.is_empty() && indexes.iter().all(|index| index.record.manifest().imported.is_some())
    {
        let repeated = repeated_axes(&indexes, wanted);
        indexes = indexes.into_iter().map(|index| index.without_axes(&repeated)).collect();
    }
    Ok(match (indexes.len(), wanted) {
        (1, None) => indexes.into_iter().map(CellIndex::with_combined_axes).collect(),
        _ => indexes,
    })
}

/// Pools the trials of cells that have become one cell. Repeats of imported results get numbers of
/// their own. Trials of a run that share a seed are refused: both sides of a pair would have
/// several.
fn pool(index: &mut CellIndex, ignored: &[String]) -> Result<(), Error> {
    let is_import = index.record.manifest().imported.is_some();
    let name = index.name();
    let mut taken: IndexMap<Cell, BTreeMap<u32, &str>> = IndexMap::new();
    for trial in &mut index.trials {
        let Some(seed) = trial.seed_index else { continue };
        let own = taken.entry(trial.cell.clone()).or_default();
        let seed = match own.get(&seed) {
            None => seed,
            Some(_) if is_import => own.last_key_value().map_or(1, |(last, _)| last + 1),
            Some(other) => {
                return Err(Error::SharedSeed {
                    record: name,
                    ignored: ignored.join(","),
                    trials: ((*other).to_owned(), trial.id.to_owned()),
                });
            }
        };
        own.insert(seed, trial.id);
        trial.seed_index = Some(seed);
    }
    Ok(())
}

/// Returns the axes of imported results that are left out. These are axes with one value
/// everywhere, and axes whose value follows from another axis. If the other axes distinguish all
/// cells, axes that cannot be equal on both sides of a comparison are left out too.
fn repeated_axes(indexes: &[CellIndex], wanted: Option<&str>) -> Vec<String> {
    let mut axes: IndexSet<&str> = IndexSet::new();
    axes.extend(indexes.iter().flat_map(|index| &index.axes).map(String::as_str));
    // Each cell appears once, with its record if several records are compared.
    let cells: IndexSet<(usize, &Cell)> = indexes
        .iter()
        .enumerate()
        .flat_map(|(at, index)| index.trials.iter().map(move |trial| (at, &trial.cell)))
        .collect();
    let compared = match (indexes, wanted) {
        (_, Some(named)) => Some(named.to_owned()),
        ([only], None) => {
            let mut constant = Vec::new();
            constant.extend(
                axes.iter()
                    .filter(|axis| {
                        cells
                            .iter()
                            .map(|(_, cell)| cell.value(axis))
                            .collect::<BTreeSet<_>>()
                            .len()
                            < 2
                    })
                    .map(|axis| (*axis).to_owned()),
            );
            let rest = only.without_combined_axes().without_axes(&constant);
            rest.baseline().map(|(axis, _)| axis)
        }
        _ => None,
    };
    let key = |(at, cell): &(usize, &Cell)| match &compared {
        Some(own) if indexes.len() == 1 => cell.value(own).unwrap_or_default().to_owned(),
        _ => at.to_string(),
    };
    let mut repeated: Vec<String> = Vec::new();
    let mut left: Vec<&str> =
        axes.iter().copied().filter(|axis| compared.as_deref() != Some(axis)).collect();
    let mut drop = |axis: &str, left: &mut Vec<&str>| {
        left.retain(|known| *known != axis);
        repeated.push(axis.to_owned());
    };
    let follows = |from: &dyn Fn(&(usize, &Cell)) -> String,
                   to: &dyn Fn(&(usize, &Cell)) -> String| {
        let mut values: BTreeMap<String, String> = BTreeMap::new();
        cells.iter().all(|cell| *values.entry(from(cell)).or_insert_with(|| to(cell)) == to(cell))
    };
    let sides: BTreeSet<String> = cells.iter().map(key).collect();
    let value = |axis: &str, cell: &(usize, &Cell)| cell.1.value(axis).unwrap_or("\0").to_owned();
    let distinct = |left: &[&str]| {
        let part = |cell: &(usize, &Cell)| {
            let own: Vec<String> = left.iter().map(|axis| value(axis, cell)).collect();
            (key(cell), own)
        };
        cells.iter().map(part).collect::<BTreeSet<_>>().len()
    };
    for axis in axes.iter().rev().filter(|axis| compared.as_deref() != Some(axis)) {
        let own = |cell: &(usize, &Cell)| value(axis, cell);
        let others: Vec<&str> = left.iter().copied().filter(|known| known != axis).collect();
        let has_one_a_side = follows(&key, &own);
        let is_never_equal =
            sides.len() > 1 && follows(&own, &key) && distinct(&others) == cells.len();
        let is_a_number_of_the_cell = cells.len() > 2
            && cells.iter().map(own).collect::<BTreeSet<_>>().len() * indexes.len() == cells.len()
            && distinct(&others) == cells.len();
        if has_one_a_side || is_never_equal || is_a_number_of_the_cell {
            drop(axis, &mut left);
        }
    }
    // Without a comparison, it is unknown which of two axes repeats the other.
    let is_compared = indexes.len() > 1 || compared.is_some();
    for axis in axes.iter().rev().filter(|_| is_compared) {
        if !left.contains(axis) {
            continue;
        }
        let own = |cell: &(usize, &Cell)| value(axis, cell);
        let others: Vec<&str> = left.iter().copied().filter(|known| known != axis).collect();
        let by_another = |other: &&str| follows(&|cell| value(other, cell), &own);
        if others.iter().any(by_another) {
            drop(axis, &mut left);
        }
    }
    repeated
}

/// Items by an outer and an inner key, each in order of appearance.
pub type Grouped<Outer, Inner, T> = IndexMap<Outer, IndexMap<Inner, Vec<T>>>;

/// Groups items that come with both of their keys.
pub fn grouped<Outer: Hash + Eq, Inner: Hash + Eq, T>(
    all: impl IntoIterator<Item = (Outer, Inner, T)>,
) -> Grouped<Outer, Inner, T> {
    let mut groups: Grouped<Outer, Inner, T> = IndexMap::new();
    for (outer, inner, one) in all {
        groups.entry(outer).or_default().entry(inner).or_default().push(one);
    }
    groups
}

/// Groups the trials of some records by the axes other than `compared`, and by their values of that
/// axis.
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

/// Returns the axes with several values, and those with one.
fn axes_of_suite(suite: &Suite) -> (Vec<String>, Cell) {
    let (fixed, crossed): (Vec<_>, Vec<_>) = suite.axes().iter().partition(|axis| axis.fixed);
    let fixed = fixed.into_iter().flat_map(|axis| {
        axis.values.iter().map(|value| (axis.axis.to_string(), value.value.clone()))
    });
    (crossed.into_iter().map(|axis| axis.axis.to_string()).collect(), Cell(fixed.collect()))
}

/// Returns the plan of interim analyses by which a run chose its seeds; for several records, the
/// one with most analyses.
pub fn interim_plan<'a>(records: impl IntoIterator<Item = &'a Record>) -> Option<&'a UntilDecided> {
    records
        .into_iter()
        .filter_map(|record| record.manifest().until_decided.as_ref())
        .max_by_key(|until| until.analyses.len())
}

/// Metrics that every record of fio shows by default.
const SHOWN: [Metric; 5] =
    [Metric::Iops, Metric::Bandwidth, Metric::Mean, Metric::P50, Metric::P99];
/// Largest number of a record's own metrics that are shown by default.
const MOST_OTHERS: usize = 5;

/// Use of default metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricUse {
    /// Verdicts: the metrics of the first record's suite that any of its trials has. If there are
    /// none, they are IOPS for fio's trials, and operations and the time of each phase for others.
    Verdicts,
    /// A page: the metrics that a run decided by; or else those of the first record's suite; or
    /// else fio's usual ones and the first few of the trials' own, as far as any trial has them.
    Page,
}

/// Returns the default metrics of some records; at least one.
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

/// Returns the names of the trials' own numbers, sorted.
fn measure_names<'a>(outcomes: impl IntoIterator<Item = &'a Outcome>) -> BTreeSet<&'a str> {
    let measures = outcomes.into_iter().flat_map(|outcome| outcome.measures.keys());
    measures.map(String::as_str).collect()
}

/// Returns the axis in which cells are compared by default: the last one. Numeric ranges show the
/// course of choices, so that the last other axis with several values precedes them.
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
