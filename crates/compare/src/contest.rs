//! Which trials are held against which: those of one seed where seeds are shared, all against all
//! where none is.

use std::collections::BTreeMap;

use disklab_record::outcome::{Cell, seed_of_id};
use disklab_record::{Outcome, Record, Status};
use disklab_units::prose::{count, listed};

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

/// All cells of a record against those that differ in the baseline's axis only.
pub fn within<'a>(
    record: &'a Record,
    axes: &[String],
    (compared, baseline): (&str, &str),
    trust: Trust,
) -> Vec<Contest<'a>> {
    let cells = cells(record, axes, trust);
    let again = noise::pairs(record, trust);
    let mut contests = Vec::new();
    for (cell, seeds) in &cells {
        let Some(value) = cell.value(compared).filter(|value| *value != baseline) else { continue };
        let rest = without(cell, compared);
        let is_baseline = |other: &&(Cell, Seeds)| {
            other.0.value(compared) == Some(baseline) && without(&other.0, compared) == rest
        };
        if let Some((_, others)) = cells.iter().find(is_baseline) {
            let mut contest =
                contest(rest, (value, seeds), (baseline, others), !is_imported(record));
            contest.measured_twice(&again, Some(compared));
            contests.push(contest);
        }
    }
    contests
}

/// Each cell of `treatment` against the same cell of `baseline`; the names are the records'. Of an
/// axis in which the records are `apart`, each has one value, which does not count.
pub fn between<'a>(
    baseline: (&str, &'a Record),
    treatment: (&str, &'a Record),
    axes: &[String],
    apart: Option<&str>,
    trust: Trust,
) -> Vec<Contest<'a>> {
    let cells_of = |record| {
        let cells = cells(record, axes, trust).into_iter();
        let alike = |cell: Cell| apart.map_or_else(|| cell.clone(), |axis| without(&cell, axis));
        cells.map(|(cell, seeds)| (alike(cell), seeds)).collect::<Vec<_>>()
    };
    let (first, second) = (cells_of(baseline.1), cells_of(treatment.1));
    let seeded = !is_imported(baseline.1) && !is_imported(treatment.1);
    let in_both = |(cell, _): &&(Cell, Seeds)| second.iter().any(|(other, _)| other == cell);
    if !first.iter().any(|one| in_both(&one)) {
        return Vec::new();
    }
    let none = Seeds::new();
    let again = [baseline.1, treatment.1].map(|record| noise::pairs(record, trust)).concat();
    // In the order of the treatment, then what it lacks.
    let lacked = first.iter().filter(|one| !in_both(one)).map(|(cell, _)| (cell, &none));
    let all =
        second.iter().map(|(cell, seeds)| (cell, seeds)).chain(lacked).map(|(cell, seeds)| {
            let others =
                first.iter().find(|(other, _)| other == cell).map_or(&none, |(_, others)| others);
            let mut contest =
                contest(cell.clone(), (treatment.0, seeds), (baseline.0, others), seeded);
            contest.measured_twice(&again, apart);
            for (name, seeds) in [(treatment.0, seeds), (baseline.0, others)] {
                if seeds.is_empty() {
                    contest.left_out.push(format!("{name} has no such cell"));
                }
            }
            contest
        });
    all.collect()
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
        let is_its =
            |cell: &Cell| but.map_or_else(|| cell.clone(), |axis| without(cell, axis)) == self.cell;
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

/// In the order of the record.
fn cells<'a>(record: &'a Record, axes: &[String], trust: Trust) -> Vec<(Cell, Seeds<'a>)> {
    let mut cells: Vec<(Cell, Seeds)> = Vec::new();
    for (trial, outcome) in record.outcomes() {
        let cell = outcome.map_or_else(|| Cell::of_id(trial, axes), |outcome| outcome.cell.clone());
        let Some(seed) = outcome.map(|outcome| outcome.seed_index).or_else(|| seed_of_id(trial))
        else {
            continue;
        };
        if outcome.is_some_and(|outcome| outcome.status == Status::Spared) {
            continue;
        }
        let counts =
            outcome.map_or_else(|| Err("has not run".to_owned()), |outcome| counts(outcome, trust));
        match cells.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, seeds)) => drop(seeds.insert(seed, counts)),
            None => cells.push((cell, BTreeMap::from([(seed, counts)]))),
        }
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

fn without(cell: &Cell, axis: &str) -> Cell {
    Cell(cell.0.iter().filter(|(known, _)| known != axis).cloned().collect())
}
