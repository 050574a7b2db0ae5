//! Which trials are held against which: those of one seed where seeds are shared, all against all
//! where none is.

use std::collections::BTreeMap;

use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_units::prose::{count, listed};
use indexmap::IndexMap;

use crate::error::Error;
use crate::index::{CellIndex, RECORD};
use crate::metric::Metric;
use crate::noise::{self, Pair};

/// One thing against another, all else being equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Contest<'a> {
    /// What is equal on both sides: axes and values.
    pub cell: Cell,
    /// What differs, in the words of the suite, or the names of two records.
    pub treatment: String,
    pub baseline: String,
    /// Trials at one place of both are of one seed: they share the disks' phase and the sequence of
    /// requests. Otherwise the two sides share nothing.
    pub paired: bool,
    pub treatments: Vec<&'a Outcome>,
    pub baselines: Vec<&'a Outcome>,
    /// Why other trials are left out.
    pub left_out: Vec<String>,
    /// Trials of the cell that were measured twice.
    pub again: Vec<Pair<'a>>,
}

/// Which trials count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Those whose numbers do not contradict each other.
    Sound,
    /// All that gave a result.
    All,
}

/// The trials of a cell by seed; those that do not count with the reason.
type Seeds<'a> = BTreeMap<u32, Result<&'a Outcome, String>>;

/// Every cell beside the one that it is compared with, and the axis in which the two differ. The
/// cells of one record are compared with those that have the baseline's value, which is the suite's
/// unless another is `wanted`; those of several records, with the same cells of the first.
pub fn contests<'a>(
    records: &[CellIndex<'a>],
    wanted: Option<(String, String)>,
    trust: Trust,
) -> Result<(String, Vec<Contest<'a>>), Error> {
    let (first, others) = match records {
        [only] => return against_baseline(only, wanted, trust),
        [first, others @ ..] => (first, others),
        [] => return Ok((RECORD.to_owned(), Vec::new())),
    };
    first.compared_axes()?;
    let all = others.iter().map(|other| between(first, other, None, trust));
    Ok((RECORD.to_owned(), all.collect::<Result<Vec<_>, _>>()?.concat()))
}

/// Two records that differ in an axis, of which each has one value.
pub fn across<'a>(
    first: &CellIndex<'a>,
    other: &CellIndex<'a>,
    apart: &str,
    trust: Trust,
) -> Result<Vec<Contest<'a>>, Error> {
    first.compared_axes()?;
    between(first, other, Some(apart), trust)
}

fn against_baseline<'a>(
    index: &CellIndex<'a>,
    wanted: Option<(String, String)>,
    trust: Trust,
) -> Result<(String, Vec<Contest<'a>>), Error> {
    let axes = index.compared_axes()?;
    let Some((compared, value)) = wanted.or_else(|| index.baseline()) else {
        return Err(Error::NoBaseline { record: index.name(), axes: axes.to_vec() });
    };
    let contests = within(index, (&compared, &value), trust);
    if contests.is_empty() {
        let (record, axes) = (index.name(), axes.to_vec());
        return Err(Error::NothingAgainst { record, compared, value, axes });
    }
    Ok((compared, contests))
}

/// All cells of a record against those that differ in the baseline's axis only.
fn within<'a>(
    index: &CellIndex<'a>,
    (compared, baseline): (&str, &str),
    trust: Trust,
) -> Vec<Contest<'a>> {
    let cells = cells(index, trust);
    let again = noise::pairs(index.record, trust);
    let mut contests = Vec::new();
    for (cell, seeds) in &cells {
        let Some(value) = cell.value(compared).filter(|value| *value != baseline) else { continue };
        let rest = cell.without(compared);
        let is_baseline = |other: &Cell| {
            other.value(compared) == Some(baseline) && other.without(compared) == rest
        };
        if let Some((_, others)) = cells.iter().find(|(other, _)| is_baseline(other)) {
            let seeded = !is_imported(index.record);
            let mut contest = contest(rest, (value, seeds), (baseline, others), seeded);
            contest.measured_twice(&again, Some(compared));
            contests.push(contest);
        }
    }
    contests
}

/// Each cell of `treatment` against the same cell of `baseline`; their names are the records'. Of
/// an axis in which the records are `apart`, each has one value, which does not count.
fn between<'a>(
    baseline: &CellIndex<'a>,
    treatment: &CellIndex<'a>,
    apart: Option<&str>,
    trust: Trust,
) -> Result<Vec<Contest<'a>>, Error> {
    let cells_of = |index| -> IndexMap<Cell, Seeds<'a>> {
        let alike = |cell: Cell| apart.map_or_else(|| cell.clone(), |axis| cell.without(axis));
        cells(index, trust).into_iter().map(|(cell, seeds)| (alike(cell), seeds)).collect()
    };
    let (first, second) = (cells_of(baseline), cells_of(treatment));
    let (one, other) = (baseline.name(), treatment.name());
    if !first.keys().any(|cell| second.contains_key(cell)) {
        return Err(Error::NoCellInCommon { first: one, other });
    }
    let seeded = !is_imported(baseline.record) && !is_imported(treatment.record);
    let none = Seeds::new();
    let again = [baseline, treatment].map(|index| noise::pairs(index.record, trust)).concat();
    // In the order of the treatment, then what it lacks.
    let lacked = first.keys().filter(|cell| !second.contains_key(*cell));
    let contest = |cell: &Cell| {
        let (ours, theirs) = (second.get(cell).unwrap_or(&none), first.get(cell).unwrap_or(&none));
        let mut contest = contest(cell.clone(), (&other, ours), (&one, theirs), seeded);
        contest.measured_twice(&again, apart);
        for (name, seeds) in [(&other, ours), (&one, theirs)] {
            if seeds.is_empty() {
                contest.left_out.push(format!("{name} has no such cell"));
            }
        }
        contest
    };
    Ok(second.keys().chain(lacked).map(contest).collect())
}

/// Repeats on real disks share nothing but the number.
fn is_imported(record: &Record) -> bool {
    record.manifest().imported.is_some()
}

fn contest<'a>(
    cell: Cell,
    (treatment, ours): (&str, &Seeds<'a>),
    (baseline, theirs): (&str, &Seeds<'a>),
    seeded: bool,
) -> Contest<'a> {
    let paired = seeded && ours.keys().any(|seed| theirs.contains_key(seed));
    let mut contest = Contest {
        cell,
        treatment: treatment.to_owned(),
        baseline: baseline.to_owned(),
        paired,
        treatments: Vec::new(),
        baselines: Vec::new(),
        left_out: Vec::new(),
        again: Vec::new(),
    };
    if paired {
        contest.pair(ours, theirs);
    } else {
        let Contest { treatments, baselines, left_out, .. } = &mut contest;
        for (name, seeds, kept) in [(treatment, ours, treatments), (baseline, theirs, baselines)] {
            for (seed, outcome) in seeds {
                match outcome {
                    Ok(outcome) => kept.push(outcome),
                    Err(reason) => left_out.push(format!("repeat {seed} of {name}: {reason}")),
                }
            }
        }
    }
    contest
}

/// Both sides of a contest in one metric; in pairs where the contest is.
#[derive(Debug, Clone, PartialEq)]
pub struct Values {
    pub treatment: Vec<f64>,
    pub baseline: Vec<f64>,
    /// The least value at which a trial of the treatment was given up, so that it is more than
    /// that; and of the baseline.
    pub given_up: (Option<f64>, Option<f64>),
    /// Of the pairs, rising; empty where nothing is paired.
    pub seeds: Vec<u32>,
    /// Pairs that were left out since both sides were given up.
    pub unknown: usize,
    /// Why trials are left out.
    pub remarks: Vec<String>,
}

impl Values {
    fn put_treatment(&mut self, (value, given_up): (f64, bool)) {
        self.treatment.push(value);
        self.given_up.0 = least(self.given_up.0, given_up.then_some(value));
    }

    fn put_baseline(&mut self, (value, given_up): (f64, bool)) {
        self.baseline.push(value);
        self.given_up.1 = least(self.given_up.1, given_up.then_some(value));
    }
}

fn least(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    one.into_iter().chain(other).min_by(f64::total_cmp)
}

impl<'a> Contest<'a> {
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.treatments.iter().chain(&self.baselines).copied()
    }

    pub fn values(&self, metric: &Metric) -> Values {
        let mut remarks = self.left_out.clone();
        let of = |outcomes: &[&Outcome]| -> Vec<Option<(f64, bool)>> {
            outcomes.iter().map(|it| Some((metric.of(it)?, metric.is_given_up(it)))).collect()
        };
        let (treatment, baseline) = (of(&self.treatments), of(&self.baselines));
        let without = treatment.iter().chain(&baseline).filter(|value| value.is_none()).count();
        if without > 0 {
            remarks.push(format!(
                "{without} of {} trials have no {}",
                treatment.len() + baseline.len(),
                metric.name()
            ));
        }
        let given_up = self.outcomes().filter(|outcome| metric.is_given_up(outcome)).count();
        if given_up > 0 {
            remarks.push(format!(
                "{given_up} of {} trials were given up at their limit, and are more than that",
                treatment.len() + baseline.len()
            ));
        }
        let mut values = Values {
            treatment: Vec::new(),
            baseline: Vec::new(),
            given_up: (None, None),
            seeds: Vec::new(),
            unknown: 0,
            remarks,
        };
        if !self.paired {
            treatment.into_iter().flatten().for_each(|ours| values.put_treatment(ours));
            baseline.into_iter().flatten().for_each(|theirs| values.put_baseline(theirs));
            return values;
        }
        for ((outcome, ours), theirs) in self.treatments.iter().zip(treatment).zip(baseline) {
            match ours.zip(theirs) {
                Some(((_, true), (_, true))) => values.unknown += 1,
                Some((ours, theirs)) => {
                    values.seeds.push(outcome.seed_index);
                    values.put_treatment(ours);
                    values.put_baseline(theirs);
                }
                None => {}
            }
        }
        if values.unknown > 0 {
            values.remarks.push(format!(
                "of {} both sides were given up, and nobody knows which is more",
                count(values.unknown, "pair")
            ));
        }
        values
    }

    /// Of the same cell, but for the axis in which the two sides differ.
    fn measured_twice(&mut self, all: &[(Cell, Vec<Pair<'a>>)], but: Option<&str>) {
        let is_its = |cell: &Cell| {
            but.map_or_else(|| *cell == self.cell, |axis| cell.without(axis) == self.cell)
        };
        self.again = all
            .iter()
            .filter(|(cell, _)| is_its(cell))
            .flat_map(|(_, pairs)| pairs.clone())
            .collect();
    }

    fn pair(&mut self, ours: &Seeds<'a>, theirs: &Seeds<'a>) {
        let (treatment, baseline) = (self.treatment.clone(), self.baseline.clone());
        // By reason: the seeds that it is the reason of.
        let mut left_out: Vec<(String, Vec<u32>)> = Vec::new();
        for (seed, ours) in ours {
            let reason = match (ours, theirs.get(seed)) {
                (Ok(ours), Some(Ok(theirs))) => {
                    self.treatments.push(ours);
                    self.baselines.push(theirs);
                    continue;
                }
                (Err(reason), _) => format!(" of {treatment}: {reason}"),
                (_, Some(Err(reason))) => format!(" of {baseline}: {reason}"),
                // A baseline may have been needed for longer, by others.
                (_, None) => format!(": {baseline} has none such"),
            };
            match left_out.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, seeds)) => seeds.push(*seed),
                None => left_out.push((reason, vec![*seed])),
            }
        }
        self.left_out.extend(left_out.into_iter().map(|(reason, seeds)| match seeds.as_slice() {
            [only] => format!("seed {only}{reason}"),
            several => {
                let seeds: Vec<String> = several.iter().map(u32::to_string).collect();
                format!("seeds {}{reason}", listed(&seeds))
            }
        }));
    }
}

/// The trials of each cell, in the order of the record.
fn cells<'a>(index: &CellIndex<'a>, trust: Trust) -> IndexMap<Cell, Seeds<'a>> {
    let mut cells: IndexMap<Cell, Seeds> = IndexMap::new();
    for trial in &index.trials {
        let Some(seed) = trial.seed_index else { continue };
        let counts = match trial.outcome {
            Some(outcome) if outcome.status == Status::Spared => continue,
            Some(outcome) => counts(outcome, trust),
            None => Err("has not run".to_owned()),
        };
        cells.entry(trial.cell.clone()).or_default().insert(seed, counts);
    }
    cells
}

/// Or why it does not.
pub(crate) fn counts(outcome: &Outcome, trust: Trust) -> Result<&Outcome, String> {
    if outcome.status != Status::Ok {
        return Err(outcome.reason.clone().unwrap_or_else(|| outcome.status.to_string()));
    }
    match outcome.remarks.iter().find(|remark| remark.doubts()) {
        Some(remark) if trust == Trust::Sound => Err(remark.in_doubt()),
        _ => Ok(outcome),
    }
}
