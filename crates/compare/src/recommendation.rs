//! The recommendation: the value of the compared axis to choose for the disks and loads of some
//! records, and the cost of another one.
//!
//! Every two candidates are compared in every cell and metric, with the estimates and verdicts of
//! [`compare`], and all these verdicts are one family. So the same data may pick a candidate as the
//! best of its cell and compare it: the correction covers all pairs.

mod choice;
mod ranking;
mod words;

use disklab_record::Outcome;
use disklab_record::outcome::Cell;
use indexmap::IndexMap;
use serde::Serialize;

use crate::answer;
use crate::comparison::Comparison;
use crate::decision::DecisionRule;
use crate::error::Error;
use crate::index::{CellIndex, side_by_side};
use crate::matching::{MatchedTrials, Trust, counted, match_pairs};
use crate::metric::Metric;
use crate::sensitivity::{self, compare};
use crate::sequential::SequentialDesign;

use words::Words;

pub use choice::{Choice, Regret, WorstCell};
pub use ranking::{Rank, RankedCandidate, RankedCell, Weight};

/// The rule in words, without its full stop.
pub const RULE: &str = "Every two candidates are compared in every cell and metric, and all these \
    verdicts are one family. A candidate's regret in a cell is its ratio to the best of that cell, \
    and its mean regret is the weighted geometric mean over all cells. Of the candidates that have \
    a result in every cell, the rule keeps those whose mean regret is within the smallest effect \
    of the least. It takes the one of them with the least worst case; worst cases within the \
    smallest effect count as equal, and then it takes the baseline or else the first. If that \
    candidate is more than 10 % behind in some cell, no choice is best";

/// Settings of a recommendation.
#[derive(Debug, Clone, Copy)]
pub struct RecommendationRule<'a> {
    pub decision: DecisionRule,
    pub interim: Option<&'a SequentialDesign>,
    pub trust: Trust,
    pub weights: &'a [Weight],
}

/// A recommendation over all cells, with its parts and its words.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Recommendation {
    pub rule: &'static str,
    /// Axis whose values are the candidates, or `record` if records are compared.
    pub compared: String,
    #[serde(flatten)]
    pub choice: Choice,
    /// Worst case of the candidate that the rule puts first.
    pub cost: Option<WorstCell>,
    /// Whether every verdict on that candidate is decided.
    pub is_certain: bool,
    /// Least number of trials of a candidate that are compared in a cell.
    pub fewest_trials: usize,
    /// Largest number of trials of a candidate that are compared in a cell.
    pub most_trials: usize,
    /// Number of seeds that would settle the undecided verdicts, or `None` if there are none, or if
    /// the number is not known.
    pub seeds_to_settle: Option<usize>,
    /// Commands that run this number of seeds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub to_settle: Vec<String>,
    /// The answer in one sentence or two, without the last full stop.
    pub headline: String,
    /// Further sentences of the answer, without full stops.
    pub details: Vec<String>,
    pub cells: Vec<RankedCell>,
    /// The recommendation for each axis, if the compared axis combines several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub by_axis: Vec<AxisChoice>,
}

/// Recommendation for one axis of a combination.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AxisChoice {
    pub axis: String,
    #[serde(flatten)]
    pub choice: Choice,
}

/// Trials of one cell by candidate, without trials that do not count.
pub type Candidates<'a> = IndexMap<String, Vec<&'a Outcome>>;

/// Recommends a value of the axis `compared` for the cells of some records; for several records and
/// [`crate::RECORD`], one of the records. Returns `None` if no cell has two candidates with a
/// result.
pub fn recommend(
    records: &[CellIndex],
    compared: &str,
    baseline: Option<&str>,
    metrics: &[Metric],
    rule: &RecommendationRule,
) -> Result<Option<Recommendation>, Error> {
    // No real disk is at an end of an estimate's range.
    let cells = side_by_side(records, compared).into_iter();
    let trials = cells.filter(|(cell, _)| !sensitivity::is_at_end(cell)).map(|(cell, values)| {
        let counting = values.into_iter().map(|(value, trials)| {
            let outcomes = trials.into_iter().filter_map(|trial| trial.outcome);
            (value, outcomes.filter(|one| counted(one, rule.trust).is_ok()).collect())
        });
        (cell, counting.collect())
    });
    let trials: Vec<(Cell, Candidates)> = trials.collect();
    let mut pairs = match_pairs(records, compared, rule.trust)?;
    pairs.retain(|matched| !sensitivity::is_at_end(&matched.cell));
    let Some(mut found) = judge(&trials, &pairs, compared, baseline, metrics, rule)? else {
        return Ok(None);
    };
    if let [only] = records {
        let plain = [only.without_combined_axes()];
        for axis in &only.combined {
            let first = plain[0].trials.iter().find_map(|trial| trial.cell.value(axis));
            if let Some(one) = recommend(&plain, axis, first, metrics, rule)? {
                found.by_axis.push(AxisChoice { axis: axis.clone(), choice: one.choice });
            }
        }
    }
    found.write_words(rule, records);
    Ok(Some(found))
}

/// Ranks the candidates of all cells and applies the rule. `pairs` has the matched trials of every
/// two candidates of a cell.
pub fn judge(
    trials: &[(Cell, Candidates)],
    pairs: &[MatchedTrials],
    compared: &str,
    baseline: Option<&str>,
    metrics: &[Metric],
    rule: &RecommendationRule,
) -> Result<Option<Recommendation>, Error> {
    let comparisons = compare(pairs, metrics, rule.decision, rule.interim)?;
    let margin = rule.decision.smallest_effect.ln_1p();
    let mut names: Vec<&str> = baseline.into_iter().collect();
    for name in trials.iter().flat_map(|(_, candidates)| candidates.keys()) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    let cells = ranked_cells(trials, &comparisons, &names, metrics, rule.weights, margin)?;
    let counting: Vec<&RankedCell> = cells.iter().filter(|cell| cell.weight > 0.0).collect();
    let is_candidate = |name: &&str| {
        cells.iter().any(|cell| {
            let mut known = cell.candidates.iter().map(|known| &known.candidate);
            known.any(|known| known == name) || cell.without_result.iter().any(|lack| lack == name)
        })
    };
    names.retain(is_candidate);
    if counting.is_empty() {
        return if cells.is_empty() { Ok(None) } else { Err(Error::NothingCounts) };
    }
    let choice = Choice::over(&names, &counting, margin);
    let cost = choice.first().and_then(|first| first.worst.clone());
    let trials = comparisons.iter().map(|comparison| comparison.trials.0.min(comparison.trials.1));
    let trials: Vec<usize> = trials.filter(|number| *number > 0).collect();
    // The present number of seeds did not settle the undecided verdicts.
    let seeds_to_settle = seeds_to_settle(&choice, &counting, comparisons.len(), rule.decision)
        .filter(|seeds| trials.iter().all(|number| number < seeds));
    Ok(Some(Recommendation {
        rule: RULE,
        compared: compared.to_owned(),
        is_certain: choice.is_certain(),
        choice,
        cost,
        fewest_trials: trials.iter().copied().min().unwrap_or(0),
        most_trials: trials.iter().copied().max().unwrap_or(0),
        seeds_to_settle,
        to_settle: Vec::new(),
        headline: String::new(),
        details: Vec::new(),
        cells,
        by_axis: Vec::new(),
    }))
}

/// Returns the cells and metrics with a choice: two candidates have a result.
fn ranked_cells(
    trials: &[(Cell, Candidates)],
    comparisons: &[Comparison],
    names: &[&str],
    metrics: &[Metric],
    weights: &[Weight],
    margin: f64,
) -> Result<Vec<RankedCell>, Error> {
    let mut pairs: IndexMap<(&Cell, &Metric), Vec<&Comparison>> = IndexMap::new();
    for comparison in comparisons {
        pairs.entry((&comparison.cell, &comparison.metric)).or_default().push(comparison);
    }
    let mut cells = Vec::new();
    for (cell, candidates) in trials {
        for metric in metrics {
            let has_result = |name: &str| {
                let own = candidates.get(name).into_iter().flatten();
                own.copied().any(|outcome| metric.value_in(outcome).is_some())
            };
            let (with, without): (Vec<&str>, Vec<&str>) =
                names.iter().partition(|name| has_result(name));
            if with.len() < 2 {
                continue;
            }
            let own = pairs.get(&(cell, metric)).map_or(&[][..], Vec::as_slice);
            let selected = weights.iter().filter(|weight| weight.selects(cell, metric));
            cells.push(RankedCell {
                cell: cell.clone(),
                metric: metric.clone(),
                weight: selected.map(Weight::number).product(),
                candidates: ranking::ranked(&with, own, margin),
                without_result: without.into_iter().map(str::to_owned).collect(),
            });
        }
    }
    let selects_any =
        |weight: &Weight| cells.iter().any(|ranked| weight.selects(&ranked.cell, &ranked.metric));
    match weights.iter().find(|weight| !selects_any(weight)) {
        Some(weight) if !cells.is_empty() => {
            let shown = cells.iter().map(|ranked| &ranked.cell);
            Err(Error::NothingWeighted { selector: weight.selector(), cells: typed(shown) })
        }
        _ => Ok(cells),
    }
}

/// Returns the axes and values that a selector can name.
fn typed<'a>(cells: impl Iterator<Item = &'a Cell>) -> Vec<String> {
    let pairs = cells.flat_map(|cell| &cell.0).map(|(axis, value)| format!("{axis}={value}"));
    pairs.collect::<indexmap::IndexSet<_>>().into_iter().collect()
}

/// Returns the number of seeds that would decide the undecided verdicts on the first candidate. If
/// trials are too few for a plan, it is the least number with which one verdict of the family can
/// be decided at all.
fn seeds_to_settle(
    choice: &Choice,
    cells: &[&RankedCell],
    family: usize,
    rule: DecisionRule,
) -> Option<usize> {
    let first = choice.first().filter(|first| first.uncertain() > 0)?;
    let own = cells.iter().flat_map(|cell| &cell.candidates);
    let open = own.filter(|known| known.candidate == first.candidate && !known.is_certain);
    let planned = open.filter_map(|known| known.seeds_to_decide).max();
    let fewest = (2.0 * family as f64 / rule.alpha).log(4.0).ceil() as usize;
    let needed = planned.unwrap_or_else(|| fewest.max(disklab_stats::comparison::FEWEST));
    Some(answer::rounded(needed))
}

impl Recommendation {
    /// Writes the answer as text, with the commands that would settle it.
    fn write_words(&mut self, rule: &RecommendationRule, records: &[CellIndex]) {
        self.to_settle = words::to_settle(self.seeds_to_settle, records);
        let is_import = |index: &CellIndex| index.record.manifest().imported.is_some();
        let by_axis: Vec<(&str, &Choice)> =
            self.by_axis.iter().map(|one| (one.axis.as_str(), &one.choice)).collect();
        let words = Words {
            choice: &self.choice,
            by_axis: &by_axis,
            is_of_one_metric: self.is_of_one_metric(),
            trials: (self.fewest_trials, self.most_trials),
            seeds_to_settle: self.seeds_to_settle,
            noun: if records.iter().any(is_import) { "repeat" } else { "seed" },
            smallest_effect: rule.decision.smallest_effect,
            weights: rule.weights,
        };
        (self.headline, self.details) = (words.headline(), words.details());
    }

    /// Returns the number of seeds that its commands reach.
    pub fn seeds_added(&self) -> Option<usize> {
        self.seeds_to_settle.filter(|_| !self.to_settle.is_empty())
    }

    /// Returns the headline and the further sentences, without full stops.
    pub fn sentences(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.headline).chain(&self.details).map(String::as_str)
    }

    fn is_of_one_metric(&self) -> bool {
        let mut metrics = self.cells.iter().map(|cell| &cell.metric);
        metrics.next().is_none_or(|first| metrics.all(|other| other == first))
    }
}
