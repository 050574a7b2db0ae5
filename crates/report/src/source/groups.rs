//! Cells that differ in one axis only, which a picture shows beside each other.

use disklab_compare::index::{IndexedTrial, side_by_side};
use disklab_compare::{CellIndex, Metric, answer};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record};
use disklab_results::Spread;
use indexmap::{IndexMap, IndexSet};

use crate::failures::{NOT_RUN, NOT_YET, TrialFailure, failures_in};
use crate::merge::TrialRow;
use crate::text::{distinct, slug};

/// Choices with equal values of all other axes.
#[derive(Debug)]
pub struct Group<'a> {
    /// Slug, unique among groups.
    pub name: String,
    /// Axes and values that are equal.
    pub cell: Cell,
    pub choices: Vec<CellChoice<'a>>,
}

/// A cell: a value of the compared axis.
#[derive(Debug)]
pub struct CellChoice<'a> {
    /// Slug, unique in its group.
    pub name: String,
    pub value: String,
    pub trials: Vec<IndexedTrial<'a>>,
    /// Whether a process runs the trials of one of its records now.
    pub goes_on: bool,
}

impl<'a> Group<'a> {
    /// Returns the choice of this value.
    pub fn choice(&self, value: &str) -> Option<&CellChoice<'a>> {
        self.choices.iter().find(|choice| choice.value == value)
    }

    /// Returns the unit of a metric in the results of all choices.
    pub fn unit(&self, metric: &Metric) -> String {
        metric.unit(self.choices.iter().flat_map(CellChoice::outcomes))
    }

    pub fn title(&self) -> String {
        answer::title(&self.cell)
    }
}

impl<'a> CellChoice<'a> {
    /// Returns the trials with a valid result.
    pub fn results(&self) -> impl Iterator<Item = (&IndexedTrial<'a>, &'a Outcome)> {
        self.trials
            .iter()
            .filter_map(|tried| Some((tried, tried.outcome.filter(|outcome| outcome.is_sound())?)))
    }

    /// Returns the spread over the seeds of [`CellChoice::results`].
    pub fn spread(&self, metric: &Metric) -> Option<Spread> {
        Spread::over(self.outcomes().filter_map(|outcome| metric.value_in(outcome)))
    }

    /// Returns the outcomes of [`CellChoice::results`].
    pub fn outcomes(&self) -> impl Iterator<Item = &'a Outcome> {
        self.results().map(|(_, outcome)| outcome)
    }

    /// Formats a median as far as it is known: `> 60 s`.
    pub fn known(&self, metric: &Metric, median: f64, unit: &str) -> String {
        let told = answer::value(median, unit);
        let is_less = |outcome: &Outcome| {
            metric.is_censored(outcome)
                && metric.value_in(outcome).is_some_and(|limit| limit <= median)
        };
        if self.outcomes().any(is_less) { format!("> {told}") } else { told }
    }

    /// Returns the median in the form of [`CellChoice::known`] if it is only a lower bound.
    pub fn censored(&self, metric: &Metric) -> Option<String> {
        let unit = metric.unit(self.outcomes());
        let median = self.spread(metric)?.median;
        Some(self.known(metric, median, &unit)).filter(|told| *told != answer::value(median, &unit))
    }

    /// Returns the reasons why the other trials have no result.
    pub fn failures(&self, metric: &Metric) -> Vec<TrialFailure> {
        failures_in(self.trials.iter().map(TrialRow::new), self.goes_on, Some(metric.name()))
    }

    /// Returns the text in place of a missing number, and whether something went wrong.
    pub fn without_result(&self, metric: &Metric) -> (&'static str, bool) {
        let to_come = self.failures(metric).iter().any(|failure| !failure.failed);
        match self.goes_on {
            _ if self.results().next().is_some() => ("not measured", false),
            _ if self.has_failed(metric) || !to_come => ("no result", true),
            true => (NOT_YET, false),
            false => (NOT_RUN, false),
        }
    }

    /// Returns true if a trial failed to give a result.
    pub fn has_failed(&self, metric: &Metric) -> bool {
        self.failures(metric).iter().any(|failure| failure.failed)
    }
}

/// Returns the values of each axis of some cells, without repetitions, both in order of appearance.
pub fn values_by_axis<'a>(
    cells: impl Iterator<Item = &'a Cell>,
) -> IndexMap<&'a str, IndexSet<&'a str>> {
    let mut axes: IndexMap<&str, IndexSet<&str>> = IndexMap::new();
    for (axis, value) in cells.flat_map(|cell| &cell.0) {
        axes.entry(axis).or_default().insert(value);
    }
    axes
}

/// Groups the trials of all records by the axes other than `compared`. Trials of the `running`
/// records may still run.
pub fn groups<'a>(
    indexes: &[CellIndex<'a>],
    compared: &str,
    running: &[&Record],
) -> Vec<Group<'a>> {
    let is_running =
        |trial: &IndexedTrial| running.iter().any(|record| std::ptr::eq(*record, trial.record));
    let mut names = Vec::new();
    let group = |(cell, values): (Cell, IndexMap<String, Vec<IndexedTrial<'a>>>)| {
        let mut own = Vec::new();
        let choice = |(value, trials): (String, Vec<IndexedTrial<'a>>)| CellChoice {
            name: distinct(slug(&value), "choice", &mut own),
            goes_on: trials.iter().any(is_running),
            value,
            trials,
        };
        let choices = values.into_iter().map(choice).collect();
        Group { name: distinct(slug(&answer::values(&cell)), "cell", &mut names), cell, choices }
    };
    side_by_side(indexes, compared).into_iter().map(group).collect()
}
