//! The rule by which a candidate is recommended.

use std::collections::BTreeSet;

use disklab_record::outcome::Cell;
use disklab_stats::{Verdict, percent};
use serde::Serialize;

use crate::answer::RelativeChange;
use crate::comparison::in_a_word;
use crate::metric::Metric;
use crate::recommendation::ranking::{Rank, RankedCandidate, RankedCell};

/// Largest regret of a candidate that is recommended for all cells: 10 % fewer IOPS, or a latency
/// of more than the best one divided by 0.9.
const MOST_BEHIND: f64 = 0.1;
/// The axes by which a recommendation is split first.
const SPLIT_FIRST: [&str; 2] = ["array", "workload"];

/// The candidate to choose for some cells, and the cost of each candidate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Choice {
    /// Axes and values that these cells share and others lack. The list is empty for all cells.
    #[serde(rename = "for")]
    pub scope: Cell,
    /// The recommended candidate, or `None` where no candidate is best.
    pub choice: Option<String>,
    /// The candidate that the rule puts first, also where no candidate is best. It is `None` if no
    /// candidate has a result in every cell.
    pub least_regret: Option<String>,
    /// Whether all candidates are as good as the best in every cell.
    pub makes_no_difference: bool,
    /// Number of cells and metrics that are judged.
    pub judged: usize,
    /// The candidates in the order of the rule.
    pub regrets: Vec<Regret>,
    /// The recommendations for the parts of the cells: for each array, and where no candidate is
    /// best for each workload or value of another axis.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Self>,
}

/// Regret of one candidate: its distance from the best of each cell.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Regret {
    pub candidate: String,
    /// Number of cells and metrics in which it is best or equal to the best, and in which that is
    /// certain.
    pub good: usize,
    pub certainly_good: usize,
    /// Number of cells and metrics in which it is behind, and in which that is certain.
    pub behind: usize,
    pub certainly_behind: usize,
    /// Weighted mean of its regret, in per cent of a ratio to the best.
    pub mean_percent: f64,
    /// Cell in which it is farthest behind, or `None` if it is best everywhere.
    pub worst: Option<WorstCell>,
    /// Cells in which it has no result, though others have.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_result: Vec<Cell>,
    #[serde(skip)]
    mean: f64,
    #[serde(skip)]
    most: f64,
}

/// Cell in which a candidate is farthest behind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorstCell {
    pub cell: Cell,
    pub metric: Metric,
    pub behind: String,
    pub change: Option<RelativeChange>,
    #[serde(serialize_with = "in_a_word")]
    pub verdict: Verdict,
}

impl Choice {
    /// Applies the rule to all cells, and to their parts. `margin` is the smallest effect of
    /// interest as a log-ratio.
    pub fn over(candidates: &[&str], cells: &[&RankedCell], margin: f64) -> Self {
        let axes = split_axes(cells);
        let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
        Self::within(Cell::default(), candidates, cells, &axes, margin)
    }

    fn within(
        scope: Cell,
        candidates: &[&str],
        cells: &[&RankedCell],
        axes: &[&str],
        margin: f64,
    ) -> Self {
        let mut regrets: Vec<Regret> =
            candidates.iter().filter_map(|name| Regret::over(name, cells)).collect();
        order(&mut regrets, margin);
        let first = regrets.first().filter(|first| first.is_complete());
        // A candidate within the smallest effect of interest is not behind.
        let most = (-(-MOST_BEHIND).ln_1p()).max(margin);
        let is_best = |first: &&Regret| first.most <= most;
        let mut choice = Self {
            scope,
            choice: first.filter(is_best).map(|first| first.candidate.clone()),
            least_regret: first.map(|first| first.candidate.clone()),
            makes_no_difference: regrets
                .iter()
                .all(|regret| regret.is_complete() && regret.most < margin),
            judged: cells.len(),
            regrets,
            parts: Vec::new(),
        };
        if let [axis, others @ ..] = axes {
            choice.split(candidates, cells, axis, others, margin);
        }
        choice
    }

    /// Adds the choices for each value of an axis: for arrays always, for other axes if no
    /// candidate is best for all. An axis with one value here is skipped.
    fn split(
        &mut self,
        candidates: &[&str],
        cells: &[&RankedCell],
        axis: &str,
        others: &[&str],
        margin: f64,
    ) {
        if self.choice.is_some() && axis != SPLIT_FIRST[0] {
            return;
        }
        let mut values: Vec<&str> = Vec::new();
        for value in cells.iter().filter_map(|ranked| ranked.cell.value(axis)) {
            if !values.contains(&value) {
                values.push(value);
            }
        }
        if values.len() < 2 {
            if let [axis, others @ ..] = others {
                self.split(candidates, cells, axis, others, margin);
            }
            return;
        }
        let part = |value: &str| {
            let own: Vec<&RankedCell> = cells
                .iter()
                .copied()
                .filter(|ranked| ranked.cell.value(axis) == Some(value))
                .collect();
            let mut scope = self.scope.clone();
            scope.0.push((axis.to_owned(), value.to_owned()));
            Self::within(scope, candidates, &own, others, margin)
        };
        self.parts = values.into_iter().map(part).collect();
    }

    /// Returns the regret of the candidate that the rule puts first.
    pub fn first(&self) -> Option<&Regret> {
        self.regrets.first().filter(|_| self.least_regret.is_some())
    }

    /// Returns true if verdicts and estimates on the first candidate agree in every cell.
    pub fn is_certain(&self) -> bool {
        self.first().is_some_and(|first| first.uncertain() == 0)
    }
}

/// Sorts candidates by the rule. Candidates with a result in every cell come first. Among these,
/// those come first whose mean regret is within the margin of the least mean, and then the least
/// worst case. Worst cases within the margin are equal, so that the baseline stays first.
fn order(regrets: &mut [Regret], margin: f64) {
    let complete = || regrets.iter().filter(|regret| regret.is_complete());
    let least = complete().map(|regret| regret.mean).fold(f64::INFINITY, f64::min);
    let key = |regret: &Regret| {
        let is_near = regret.mean <= least + margin;
        let worst = if regret.most < margin { 0.0 } else { regret.most };
        let second = if is_near { worst } else { regret.mean };
        (!regret.is_complete(), !is_near, second)
    };
    regrets.sort_by(|one, other| {
        let (one, other) = (key(one), key(other));
        (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2))
    });
}

/// Returns the axes by which a recommendation over these cells is split: array and workload, or
/// else the first axis.
fn split_axes(cells: &[&RankedCell]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut axes: Vec<String> = Vec::new();
    for (axis, _) in cells.iter().flat_map(|ranked| &ranked.cell.0) {
        if seen.insert(axis) {
            axes.push(axis.clone());
        }
    }
    let place = |axis: &String| SPLIT_FIRST.iter().position(|first| first == axis);
    axes.sort_by_key(|axis| place(axis).unwrap_or(SPLIT_FIRST.len()));
    let named = axes.iter().filter(|axis| place(axis).is_some()).count();
    // Deeper nested parts are not a useful answer.
    axes.truncate(named.max(1));
    axes
}

impl Regret {
    /// Returns the regret of a candidate over cells, or `None` if it is in none of them.
    fn over(candidate: &str, cells: &[&RankedCell]) -> Option<Self> {
        let (mut own, mut without_result) = (Vec::new(), Vec::new());
        for cell in cells {
            if let Some(known) = cell.candidates.iter().find(|known| known.candidate == candidate) {
                own.push((*cell, known));
            } else if !without_result.contains(&cell.cell) {
                without_result.push(cell.cell.clone());
            }
        }
        let count = |is_it: fn(&RankedCandidate) -> bool| {
            own.iter().filter(|(_, known)| is_it(known)).count()
        };
        let weights: f64 = own.iter().map(|(cell, _)| cell.weight).sum();
        let sum: f64 = own.iter().map(|(cell, known)| cell.weight * known.regret).sum();
        let worst = own.iter().max_by(|(_, one), (_, other)| one.regret.total_cmp(&other.regret));
        let most = worst.map_or(0.0, |(_, known)| known.regret);
        let worst =
            worst.filter(|(_, known)| known.rank != Rank::Best).map(|(cell, known)| WorstCell {
                cell: cell.cell.clone(),
                metric: cell.metric.clone(),
                behind: known.behind.clone().unwrap_or_default(),
                change: known.change,
                verdict: known.verdict,
            });
        let mean = if weights > 0.0 { sum / weights } else { 0.0 };
        (!own.is_empty()).then(|| Self {
            candidate: candidate.to_owned(),
            good: count(|known| known.rank.is_good()),
            certainly_good: count(|known| known.rank.is_good() && known.is_certain),
            behind: count(|known| !known.rank.is_good()),
            certainly_behind: count(|known| !known.rank.is_good() && known.is_certain),
            mean_percent: percent(mean),
            worst,
            without_result,
            mean,
            most,
        })
    }

    pub fn is_complete(&self) -> bool {
        self.without_result.is_empty()
    }

    /// Returns the number of cells and metrics in which verdicts and estimates differ.
    pub fn uncertain(&self) -> usize {
        self.good - self.certainly_good + self.behind - self.certainly_behind
    }
}
