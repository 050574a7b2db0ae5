//! Which trials are held against which: those of one seed, which share the disks' phase and the sequence of requests.

use std::collections::BTreeMap;

use disklab_collect::Sample;
use disklab_spec::suite::Baseline;
use disklab_store::outcome::{Cell, seed_of_id};
use disklab_store::{Outcome, Record, Status};

/// One thing against another, all else being equal.
#[derive(Debug, Clone, PartialEq)]
pub struct Contest<'a> {
    /// What is equal on both sides: axes and values.
    pub cell: Cell,
    /// What differs, in the words of the suite, or the names of two records.
    pub treatment: String,
    pub baseline: String,
    /// In the order of the seeds.
    pub pairs: Vec<Pair<'a>>,
    /// Why other seeds make no pair.
    pub left_out: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair<'a> {
    pub treatment: &'a Sample,
    pub baseline: &'a Sample,
}

/// The trials of a cell by seed; those without a sample with the reason.
type Seeds<'a> = BTreeMap<u32, Result<&'a Sample, String>>;

/// All cells of a record against those that differ in the baseline's axis only.
pub fn within<'a>(record: &'a Record, axes: &[String], baseline: &Baseline) -> Vec<Contest<'a>> {
    let compared = baseline.axis.to_string();
    let cells = cells(record, axes);
    let mut contests = Vec::new();
    for (cell, seeds) in &cells {
        let Some(value) = cell.value(&compared).filter(|value| *value != baseline.value) else { continue };
        let rest = without(cell, &compared);
        let is_baseline = |other: &&(Cell, Seeds)| {
            other.0.value(&compared) == Some(baseline.value.as_str()) && without(&other.0, &compared) == rest
        };
        if let Some((_, others)) = cells.iter().find(is_baseline) {
            contests.push(contest(rest, value, &baseline.value, seeds, others));
        }
    }
    contests
}

/// Each cell of `treatment` against the same cell of `baseline`; the names are the records'.
pub fn between<'a>(
    baseline: (&str, &'a Record),
    treatment: (&str, &'a Record),
    axes: &[String],
) -> Vec<Contest<'a>> {
    let (first, second) = (cells(baseline.1, axes), cells(treatment.1, axes));
    let same = |cell: &Cell| first.iter().find(|(other, _)| other == cell);
    let all = second.iter().filter_map(|(cell, seeds)| {
        let (_, others) = same(cell)?;
        Some(contest(cell.clone(), treatment.0, baseline.0, seeds, others))
    });
    all.collect()
}

fn contest<'a>(
    cell: Cell,
    treatment: &str,
    baseline: &str,
    ours: &Seeds<'a>,
    theirs: &Seeds<'a>,
) -> Contest<'a> {
    let (mut pairs, mut left_out) = (Vec::new(), Vec::new());
    for (seed, ours) in ours {
        match (ours, theirs.get(seed)) {
            (Ok(treatment), Some(Ok(baseline))) => pairs.push(Pair { treatment, baseline }),
            (Err(reason), _) => left_out.push(format!("seed {seed} of {treatment}: {reason}")),
            (_, Some(Err(reason))) => left_out.push(format!("seed {seed} of {baseline}: {reason}")),
            (_, None) => left_out.push(format!("seed {seed}: {baseline} has none such")),
        }
    }
    Contest { cell, treatment: treatment.to_owned(), baseline: baseline.to_owned(), pairs, left_out }
}

/// In the order of the record.
fn cells<'a>(record: &'a Record, axes: &[String]) -> Vec<(Cell, Seeds<'a>)> {
    let mut cells: Vec<(Cell, Seeds)> = Vec::new();
    for (trial, outcome) in record.outcomes() {
        let cell = outcome.map_or_else(|| Cell::of_id(trial, axes), |outcome| outcome.cell.clone());
        let Some(seed) = outcome.map(|outcome| outcome.seed_index).or_else(|| seed_of_id(trial)) else {
            continue;
        };
        let sample = outcome.map_or_else(|| Err("has not run".to_owned()), sample);
        match cells.iter_mut().find(|(known, _)| *known == cell) {
            Some((_, seeds)) => drop(seeds.insert(seed, sample)),
            None => cells.push((cell, BTreeMap::from([(seed, sample)]))),
        }
    }
    cells
}

fn sample(outcome: &Outcome) -> Result<&Sample, String> {
    match (&outcome.sample, outcome.status) {
        (Some(sample), Status::Ok) => Ok(sample),
        (_, status) => Err(outcome.reason.clone().unwrap_or_else(|| status.to_string())),
    }
}

fn without(cell: &Cell, axis: &str) -> Cell {
    Cell(cell.0.iter().filter(|(known, _)| known != axis).cloned().collect())
}
