//! Cells that differ in one axis only: what a picture shows beside each other.

use disklab_compare::index::IndexedTrial;
use disklab_compare::{CellIndex, Metric, RECORD, answer};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record};
use disklab_results::Spread;

use crate::fates::{Fate, NOT_RUN, NOT_YET, fates_in};
use crate::merge::{TrialRow, goes_on};
use crate::text::{distinct, find_or_add, slug};

/// Choices with all else equal.
#[derive(Debug)]
pub struct Group<'a> {
    /// A slug, each once.
    pub name: String,
    /// What is equal.
    pub cell: Cell,
    pub choices: Vec<CellChoice<'a>>,
}

/// One cell: a value of the axis that is compared.
#[derive(Debug)]
pub struct CellChoice<'a> {
    /// A slug, each once in its group.
    pub name: String,
    pub value: String,
    pub trials: Vec<Tried<'a>>,
}

/// A trial and what became of it.
#[derive(Debug)]
pub struct Tried<'a> {
    pub record: &'a Record,
    pub id: &'a str,
    pub seed_index: Option<u32>,
    /// `None`: it has not run.
    pub outcome: Option<&'a Outcome>,
    /// Somebody runs the trials of its record now.
    pub goes_on: bool,
}

impl<'a> Group<'a> {
    /// The choice of this value.
    pub fn choice(&self, value: &str) -> Option<&CellChoice<'a>> {
        self.choices.iter().find(|choice| choice.value == value)
    }

    /// The unit of a metric in the results of all choices.
    pub fn unit(&self, metric: &Metric) -> String {
        metric.unit(self.choices.iter().flat_map(CellChoice::outcomes))
    }

    /// As [`answer::values`] has it.
    pub fn title(&self) -> String {
        if self.cell.0.is_empty() { "all".to_owned() } else { answer::values(&self.cell) }
    }
}

impl<'a> CellChoice<'a> {
    /// Those that gave a result that verdicts may rest on.
    pub fn results(&self) -> impl Iterator<Item = (&Tried<'a>, &'a Outcome)> {
        self.trials
            .iter()
            .filter_map(|tried| Some((tried, tried.outcome.filter(|outcome| outcome.is_sound())?)))
    }

    /// Over the seeds of [`CellChoice::results`].
    pub fn spread(&self, metric: &Metric) -> Option<Spread> {
        Spread::of(self.outcomes().filter_map(|outcome| metric.of(outcome)))
    }

    /// The outcomes of [`CellChoice::results`].
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.results().map(|(_, outcome)| outcome)
    }

    /// A median, as far as it is known: `> 60 s`.
    pub fn known(&self, metric: &Metric, median: f64, unit: &str) -> String {
        let told = answer::value(median, unit);
        let is_less = |outcome: &Outcome| {
            metric.is_given_up(outcome) && metric.of(outcome).is_some_and(|limit| limit <= median)
        };
        if self.outcomes().any(is_less) { format!("> {told}") } else { told }
    }

    /// The median as [`CellChoice::known`] has it, where that says that it is more.
    pub fn given_up(&self, metric: &Metric) -> Option<String> {
        let unit = metric.unit(self.outcomes());
        let median = self.spread(metric)?.median;
        Some(self.known(metric, median, &unit)).filter(|told| *told != answer::value(median, &unit))
    }

    /// What became of the others, in words.
    pub fn fates(&self, metric: &Metric) -> Vec<Fate> {
        let goes_on = self.trials.iter().any(|tried| tried.goes_on);
        let rows = self.trials.iter().map(|tried| TrialRow::of(tried.id, tried.outcome));
        fates_in(rows, goes_on, Some(metric.name()))
    }

    /// What stands in the place of a number that there is none of; and whether that is so because
    /// something went wrong.
    pub fn without_result(&self, metric: &Metric) -> (&'static str, bool) {
        let to_come = self.fates(metric).iter().any(|fate| !fate.failed);
        match self.trials.iter().any(|tried| tried.goes_on) {
            _ if self.results().next().is_some() => ("not measured", false),
            _ if self.has_failed(metric) || !to_come => ("no result", true),
            true => (NOT_YET, false),
            false => (NOT_RUN, false),
        }
    }

    /// Some trial ought to have given a result, and did not.
    pub fn has_failed(&self, metric: &Metric) -> bool {
        self.fates(metric).iter().any(|fate| fate.failed)
    }
}

impl Tried<'_> {
    /// `seed 3`, or its id where that has no seed.
    pub fn seed(&self) -> String {
        self.seed_index.map_or_else(|| self.id.to_owned(), |seed| format!("seed {seed}"))
    }
}

/// The values of each axis of some cells, each once, both in the order in which they come.
pub fn values_by_axis<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut axes: Vec<(&str, Vec<&str>)> = Vec::new();
    for (axis, value) in cells.flat_map(|cell| &cell.0) {
        let (_, values) = find_or_add(&mut axes, |(known, _)| known == axis, || (axis, Vec::new()));
        if !values.contains(&value.as_str()) {
            values.push(value);
        }
    }
    axes
}

/// The trials of all records, by what is equal but for `compared`.
pub fn of<'a>(indexes: &[CellIndex<'a>], compared: &str) -> Vec<Group<'a>> {
    let mut groups: Vec<Group> = Vec::new();
    for index in indexes {
        let (record, goes_on) = (index.record, goes_on(index.record));
        for &IndexedTrial { id, ref cell, seed_index, outcome } in &index.trials {
            let (value, rest) = if compared == RECORD && indexes.len() > 1 {
                (index.name(), cell.clone())
            } else {
                (cell.value(compared).unwrap_or_default().to_owned(), cell.without(compared))
            };
            add(&mut groups, &rest, &value, Tried { record, id, seed_index, outcome, goes_on });
        }
    }
    groups
}

fn add<'a>(groups: &mut Vec<Group<'a>>, cell: &Cell, value: &str, tried: Tried<'a>) {
    let names: Vec<String> = groups.iter().map(|group| group.name.clone()).collect();
    let group = find_or_add(
        groups,
        |group| group.cell == *cell,
        || {
            let name = distinct(slug(&answer::values(cell)), "cell", &names);
            Group { name, cell: cell.clone(), choices: Vec::new() }
        },
    );
    let names: Vec<String> = group.choices.iter().map(|choice| choice.name.clone()).collect();
    let choice = find_or_add(
        &mut group.choices,
        |choice| choice.value == value,
        || {
            let name = distinct(slug(value), "choice", &names);
            CellChoice { name, value: value.to_owned(), trials: Vec::new() }
        },
    );
    choice.trials.push(tried);
}
