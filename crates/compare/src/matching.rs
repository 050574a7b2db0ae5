//! The choice of trials to compare: those of one seed if seeds are shared, otherwise all of one
//! side with all of the other.

use std::collections::{BTreeMap, HashSet};

use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_units::prose::count;
use indexmap::IndexMap;

use crate::answer::numbered_seeds;
use crate::error::Error;
use crate::index::{CellIndex, RECORD};
use crate::metric::Metric;

/// The trials of a cell and those that it is compared with, all else being equal.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedTrials<'a> {
    /// The axes and values that are equal on both sides.
    pub cell: Cell,
    /// Values that differ, as the suite names them, or the names of two records.
    pub treatment: String,
    pub baseline: String,
    /// Whether trials with the same index have the same seed, and so share the disks' phase and the
    /// sequence of requests. Otherwise the two sides share nothing.
    pub paired: bool,
    pub treatments: Vec<&'a Outcome>,
    pub baselines: Vec<&'a Outcome>,
    /// Reasons why other trials are left out.
    pub left_out: Vec<String>,
    /// Trials of the cell that were measured twice.
    pub repeated: Vec<RepeatedTrial<'a>>,
}

/// A trial's first measurement and its second.
pub type RepeatedTrial<'a> = (&'a Outcome, &'a Outcome);

/// The trials that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Trials whose numbers do not contradict each other.
    Sound,
    /// All trials with a result.
    All,
}

/// Trials of a cell by seed; for trials that do not count, the reason.
type Seeds<'a> = BTreeMap<u32, Result<&'a Outcome, String>>;

/// Matches the trials of every cell with those that they are compared with, and returns the axis in
/// which they differ. Cells of one record are compared with cells that have the baseline's value:
/// the suite's, or `wanted`. Cells of several records are compared with the same cells of the
/// first.
pub fn match_trials<'a>(
    records: &[CellIndex<'a>],
    wanted: Option<(String, String)>,
    trust: Trust,
) -> Result<(String, Vec<MatchedTrials<'a>>), Error> {
    let (first, others) = match records {
        [only] => return match_baseline(only, wanted, trust),
        [first, others @ ..] => (first, others),
        [] => return Ok((RECORD.to_owned(), Vec::new())),
    };
    first.compared_axes()?;
    let all = others.iter().map(|other| match_records(first, other, None, trust));
    Ok((RECORD.to_owned(), all.collect::<Result<Vec<_>, _>>()?.concat()))
}

/// Matches the trials of two records that differ in the axis `apart`, in which each has one value.
pub fn match_across<'a>(
    first: &CellIndex<'a>,
    other: &CellIndex<'a>,
    apart: &str,
    trust: Trust,
) -> Result<Vec<MatchedTrials<'a>>, Error> {
    first.compared_axes()?;
    match_records(first, other, Some(apart), trust)
}

/// Largest number of comparisons of every two values. Time and memory grow with the square of the
/// number of values: 447 values have 99,681 pairs.
pub const MOST_OF_PAIRS: usize = 100_000;

/// Matches the trials of every two values of the axis `compared`, with equal values of all other
/// axes. For several records and [`RECORD`], it matches the trials of every two records. Returns
/// the number of comparisons as an error if it is larger than [`MOST_OF_PAIRS`]: the pairs, times
/// the number of metrics.
pub fn match_pairs<'a>(
    records: &[CellIndex<'a>],
    compared: &str,
    metrics: usize,
    trust: Trust,
) -> Result<Vec<MatchedTrials<'a>>, usize> {
    let check = |pairs: usize| match pairs.saturating_mul(metrics) {
        comparisons if comparisons > MOST_OF_PAIRS => Err(comparisons),
        _ => Ok(()),
    };
    if compared == RECORD && records.len() > 1 {
        let cells = records.iter().map(|index| index.trials.iter().map(|trial| &trial.cell));
        let cells = cells.map(|cells| cells.collect::<HashSet<_>>().len());
        check(pairs_among(records.len()).saturating_mul(cells.max().unwrap_or(0)))?;
        let pairs = records
            .iter()
            .enumerate()
            .flat_map(|(at, first)| records[at + 1..].iter().map(move |other| (first, other)));
        let matched = |(first, other)| match_records(first, other, None, trust).unwrap_or_default();
        return Ok(pairs
            .filter(|(first, other)| first.name() != other.name())
            .flat_map(matched)
            .collect());
    }
    let cells: Vec<_> = records.iter().map(|index| cells(index, trust)).collect();
    let groups: Vec<_> = cells.iter().map(|cells| group_by_value(cells, compared)).collect();
    let sides = groups.iter().flat_map(IndexMap::values);
    check(sides.map(|sides| pairs_among(sides.len())).sum())?;
    let all = records.iter().zip(groups);
    Ok(all.flat_map(|(index, groups)| pairs_of_values(index, groups, compared, trust)).collect())
}

/// Returns the number of pairs among things.
const fn pairs_among(things: usize) -> usize {
    things * things.saturating_sub(1) / 2
}

/// Cells without the compared axis, each with its values of that axis and their trials.
type ValuesOfCells<'c, 'a> = IndexMap<Cell, Vec<(&'c str, &'c Seeds<'a>)>>;

fn group_by_value<'c, 'a>(
    cells: &'c IndexMap<Cell, Seeds<'a>>,
    compared: &str,
) -> ValuesOfCells<'c, 'a> {
    let mut groups: ValuesOfCells = IndexMap::new();
    for (cell, seeds) in cells {
        let Some(value) = cell.value(compared) else { continue };
        groups.entry(cell.without(compared)).or_default().push((value, seeds));
    }
    groups
}

fn pairs_of_values<'a>(
    index: &CellIndex<'a>,
    groups: ValuesOfCells<'_, 'a>,
    compared: &str,
    trust: Trust,
) -> Vec<MatchedTrials<'a>> {
    let repeated = repeated_as_indexed(index, trust);
    let seeded = !is_imported(index.record);
    let mut all = Vec::new();
    for (cell, sides) in groups {
        for (at, second) in sides.iter().enumerate() {
            for first in &sides[..at] {
                let mut matched = MatchedTrials::new(cell.clone(), *second, *first, seeded);
                matched.take_repeated(&repeated, Some(compared));
                all.push(matched);
            }
        }
    }
    all
}

/// Matches all cells of a record with those that differ in the baseline's axis only.
fn match_baseline<'a>(
    index: &CellIndex<'a>,
    wanted: Option<(String, String)>,
    trust: Trust,
) -> Result<(String, Vec<MatchedTrials<'a>>), Error> {
    let (record, axes) = (index.name(), index.compared_axes()?.to_vec());
    let Some((compared, baseline)) = wanted.or_else(|| index.baseline()) else {
        return Err(Error::NoBaseline { record, axes });
    };
    let cells = cells(index, trust);
    let repeated = repeated_as_indexed(index, trust);
    let mut baselines: IndexMap<Cell, &Seeds> = IndexMap::new();
    for (cell, seeds) in &cells {
        if cell.value(&compared) == Some(&baseline) {
            baselines.entry(cell.without(&compared)).or_insert(seeds);
        }
    }
    let mut all = Vec::new();
    for (cell, seeds) in &cells {
        let Some(value) = cell.value(&compared).filter(|value| *value != baseline) else {
            continue;
        };
        let rest = cell.without(&compared);
        if let Some(others) = baselines.get(&rest) {
            let seeded = !is_imported(index.record);
            let mut matched = MatchedTrials::new(rest, (value, seeds), (&baseline, others), seeded);
            matched.take_repeated(&repeated, Some(&compared));
            all.push(matched);
        }
    }
    if all.is_empty() {
        return Err(Error::NothingAgainst { record, compared, value: baseline, axes });
    }
    Ok((compared, all))
}

/// Matches each cell of `treatment` with the same cell of `baseline`. The two sides are named by
/// their records. If the records are `apart` in an axis, each has one value of it, which does not
/// count.
fn match_records<'a>(
    baseline: &CellIndex<'a>,
    treatment: &CellIndex<'a>,
    apart: Option<&str>,
    trust: Trust,
) -> Result<Vec<MatchedTrials<'a>>, Error> {
    let cells_of = |index| -> IndexMap<Cell, Seeds<'a>> {
        let cells = cells(index, trust).into_iter();
        cells.map(|(cell, seeds)| (without(&cell, apart), seeds)).collect()
    };
    let (first, second) = (cells_of(baseline), cells_of(treatment));
    let (one, other) = (baseline.name(), treatment.name());
    if !first.keys().any(|cell| second.contains_key(cell)) {
        return Err(Error::NoCellInCommon { first: one, other });
    }
    let seeded = !is_imported(baseline.record) && !is_imported(treatment.record);
    let none = Seeds::new();
    let repeated = [baseline, treatment].map(|index| repeated_as_indexed(index, trust)).concat();
    // The order is that of the treatment; cells that it lacks come last.
    let lacked = first.keys().filter(|cell| !second.contains_key(*cell));
    let matched = |cell: &Cell| {
        let (ours, theirs) = (second.get(cell).unwrap_or(&none), first.get(cell).unwrap_or(&none));
        let mut matched = MatchedTrials::new(cell.clone(), (&other, ours), (&one, theirs), seeded);
        matched.take_repeated(&repeated, apart);
        for (name, seeds) in [(&other, ours), (&one, theirs)] {
            if seeds.is_empty() {
                matched.left_out.push(format!("{name} has no such cell"));
            }
        }
        matched
    };
    Ok(second.keys().chain(lacked).map(matched).collect())
}

/// Returns true for imported results. Their repeats are of real disks, and share only their number.
fn is_imported(record: &Record) -> bool {
    record.manifest().imported.is_some()
}

/// Returns the trials of each cell, in the order of the record.
fn cells<'a>(index: &CellIndex<'a>, trust: Trust) -> IndexMap<Cell, Seeds<'a>> {
    let mut cells: IndexMap<Cell, Seeds> = IndexMap::new();
    for trial in &index.trials {
        let Some(seed) = trial.seed_index else { continue };
        let counted = match trial.outcome {
            Some(outcome) if outcome.status == Status::NotNeeded => continue,
            Some(outcome) => counted(outcome, trust),
            None => Err("has not run".to_owned()),
        };
        cells.entry(trial.cell.clone()).or_default().insert(seed, counted);
    }
    cells
}

/// Returns the valid trials of a record that were measured twice, by their cell.
pub fn repeated_trials(record: &Record, trust: Trust) -> Vec<(Cell, Vec<RepeatedTrial<'_>>)> {
    let mut cells: IndexMap<Cell, Vec<RepeatedTrial>> = IndexMap::new();
    for (first, second) in record.pairs() {
        if counted(first, trust).and(counted(second, trust)).is_ok() {
            cells.entry(first.cell.clone()).or_default().push((first, second));
        }
    }
    cells.into_iter().collect()
}

/// Returns the repeated trials by the cells of an index.
fn repeated_as_indexed<'a>(
    index: &CellIndex<'a>,
    trust: Trust,
) -> Vec<(Cell, Vec<RepeatedTrial<'a>>)> {
    let repeated = repeated_trials(index.record, trust).into_iter();
    repeated.map(|(cell, trials)| (index.placed(&cell), trials)).collect()
}

/// Returns the trial if it counts, or the reason why it does not.
pub(crate) fn counted(outcome: &Outcome, trust: Trust) -> Result<&Outcome, String> {
    if outcome.status != Status::Ok {
        return Err(outcome.reason.clone().unwrap_or_else(|| outcome.status.to_string()));
    }
    match outcome.remarks.iter().find(|remark| remark.doubts()) {
        Some(remark) if trust == Trust::Sound => Err(remark.in_doubt()),
        _ => Ok(outcome),
    }
}

fn without(cell: &Cell, axis: Option<&str>) -> Cell {
    axis.map_or_else(|| cell.clone(), |axis| cell.without(axis))
}

/// Values of both sides in one metric; in pairs if trials are paired.
#[derive(Debug, Clone, PartialEq)]
pub struct MatchedValues {
    pub treatment: Vec<f64>,
    pub baseline: Vec<f64>,
    /// Least value at which a trial of the treatment timed out, whose true value is larger; and of
    /// the baseline.
    pub censored: (Option<f64>, Option<f64>),
    /// Seeds of the pairs, rising. The list is empty without pairs.
    pub seeds: Vec<u32>,
    /// Number of pairs that were left out since both sides timed out.
    pub unknown: usize,
    /// Reasons why trials are left out.
    pub remarks: Vec<String>,
}

/// A value, and whether the trial timed out at it.
type Censored = (f64, bool);

/// Returns the values of one side, and the least value at which a trial timed out.
fn side_values(side: &[Censored]) -> (Vec<f64>, Option<f64>) {
    let censored = side.iter().filter(|(_, censored)| *censored).map(|(value, _)| *value);
    (side.iter().map(|(value, _)| *value).collect(), censored.min_by(f64::total_cmp))
}

impl<'a> MatchedTrials<'a> {
    fn new(
        cell: Cell,
        (treatment, ours): (&str, &Seeds<'a>),
        (baseline, theirs): (&str, &Seeds<'a>),
        seeded: bool,
    ) -> Self {
        let paired = seeded && ours.keys().any(|seed| theirs.contains_key(seed));
        let mut matched = Self {
            cell,
            treatment: treatment.to_owned(),
            baseline: baseline.to_owned(),
            paired,
            treatments: Vec::new(),
            baselines: Vec::new(),
            left_out: Vec::new(),
            repeated: Vec::new(),
        };
        if paired {
            matched.pair(ours, theirs);
            return matched;
        }
        let Self { treatments, baselines, left_out, .. } = &mut matched;
        for (name, seeds, kept) in [(treatment, ours, treatments), (baseline, theirs, baselines)] {
            for (seed, outcome) in seeds {
                match outcome {
                    Ok(outcome) => kept.push(outcome),
                    Err(reason) => {
                        left_out.push(format!("repeat {seed} of {name}, left out: {reason}"));
                    }
                }
            }
        }
        matched
    }

    fn pair(&mut self, ours: &Seeds<'a>, theirs: &Seeds<'a>) {
        let (treatment, baseline) = (&self.treatment, &self.baseline);
        let mut left_out: IndexMap<String, Vec<String>> = IndexMap::new();
        for (seed, ours) in ours {
            let reason = match (ours, theirs.get(seed)) {
                (Ok(ours), Some(Ok(theirs))) => {
                    self.treatments.push(ours);
                    self.baselines.push(theirs);
                    continue;
                }
                (Err(reason), _) => format!(" of {treatment}, left out: {reason}"),
                (_, Some(Err(reason))) => format!(" of {baseline}, left out: {reason}"),
                // Other comparisons may need a baseline's trials for longer.
                (_, None) => format!(", left out: {baseline} has no such seed"),
            };
            left_out.entry(reason).or_default().push(seed.to_string());
        }
        let in_words = |(reason, seeds): (String, Vec<String>)| numbered_seeds(&seeds) + &reason;
        self.left_out.extend(left_out.into_iter().map(in_words));
    }

    /// Takes the repeated trials of the same cell, except for the axis in which the two sides
    /// differ.
    fn take_repeated(&mut self, all: &[(Cell, Vec<RepeatedTrial<'a>>)], but: Option<&str>) {
        let own = all.iter().filter(|(cell, _)| without(cell, but) == self.cell);
        self.repeated = own.flat_map(|(_, trials)| trials.clone()).collect();
    }

    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.treatments.iter().chain(&self.baselines).copied()
    }

    pub fn values(&self, metric: &Metric) -> MatchedValues {
        let value = |outcome: &&Outcome| -> Option<Censored> {
            Some((metric.value_in(outcome)?, metric.is_censored(outcome)))
        };
        let (ours, theirs) = (self.treatments.iter().map(value), self.baselines.iter().map(value));
        let mut remarks = self.left_out.clone();
        let all = self.treatments.len() + self.baselines.len();
        let without = self.outcomes().filter(|outcome| metric.value_in(outcome).is_none()).count();
        if without > 0 {
            remarks.push(format!("{without} of {all} trials have no {}", metric.name()));
        }
        let censored = self.outcomes().filter(|outcome| metric.is_censored(outcome)).count();
        if censored > 0 {
            remarks.push(format!(
                "{censored} of {all} trials timed out at their limit, and their true values are \
                 larger"
            ));
        }
        let (mut seeds, mut unknown) = (Vec::new(), 0);
        let (ours, theirs): (Vec<Censored>, Vec<Censored>) = if self.paired {
            let mut pairs = Vec::new();
            for ((outcome, ours), theirs) in self.treatments.iter().zip(ours).zip(theirs) {
                let Some(pair) = ours.zip(theirs) else { continue };
                if let ((_, true), (_, true)) = pair {
                    unknown += 1;
                } else {
                    seeds.push(outcome.seed_index);
                    pairs.push(pair);
                }
            }
            pairs.into_iter().unzip()
        } else {
            (ours.flatten().collect(), theirs.flatten().collect())
        };
        if unknown > 0 {
            remarks.push(format!(
                "both sides of {} timed out, and their order is unknown",
                count(unknown, "pair")
            ));
        }
        let ((treatment, ours), (baseline, theirs)) = (side_values(&ours), side_values(&theirs));
        MatchedValues { treatment, baseline, censored: (ours, theirs), seeds, unknown, remarks }
    }
}

/// Refuses a metric that no trial has, such as a mistyped name.
pub fn check_measured(all: &[MatchedTrials], metrics: &[Metric]) -> Result<(), Error> {
    let outcomes = || all.iter().flat_map(MatchedTrials::outcomes);
    let is_missing =
        |metric: &&Metric| !outcomes().any(|outcome| metric.value_in(outcome).is_some());
    match metrics.iter().find(is_missing) {
        Some(metric) if outcomes().next().is_some() => {
            let names = outcomes().flat_map(|outcome| outcome.measures.keys());
            let mut found: Vec<String> = names.cloned().collect();
            found.sort_unstable();
            found.dedup();
            let metric = metric.name().to_owned();
            Err(Error::NoMetric { metric, known: Metric::known(), found })
        }
        _ => Ok(()),
    }
}
