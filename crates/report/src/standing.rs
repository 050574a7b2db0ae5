//! The standing of each choice in its cell: the best one, and those that are as good.

use disklab_compare::Metric;
use disklab_stats::{Better, Verdict};
use serde::Serialize;

use crate::source::{CellChoice, Group, ReportSource};

/// Standing of a choice among the choices of its cell in one metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Every other choice is certainly worse.
    Best,
    /// The choice is the same as the best of the others, or the best together with others.
    AsGood,
    /// The choice has the best median, and at least one other choice is undecided against it.
    Leads,
    Behind,
}

impl Standing {
    /// Returns the word in a CSV file.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Best => "best",
            Self::AsGood => "as good",
            Self::Leads => "leads",
            Self::Behind => "",
        }
    }
}

/// Returns the standing of each choice of a group, in order, or `None` for a choice without a
/// number.
pub fn standings(source: &ReportSource, group: &Group, metric: &Metric) -> Vec<Option<Standing>> {
    let values: Vec<Option<f64>> =
        group.choices.iter().map(|choice| source.number(group, choice, metric)).collect();
    let better = metric.better(group.choices.iter().flat_map(CellChoice::outcomes));
    let verdict = |one: usize, other: usize| {
        let [one, other] = [one, other].map(|at| group.choices[at].value.as_str());
        source.verdict_between(group, one, other, metric)
    };
    let known = || (0..values.len()).filter(|at| values[*at].is_some());
    let rank = |at: &usize| {
        let value = values[*at].unwrap_or_default();
        if better == Better::Higher { value } else { -value }
    };
    let Some(mut leader) = known().max_by(|one, other| rank(one).total_cmp(&rank(other))) else {
        return vec![None; values.len()];
    };
    // Verdicts compare pairs of trials, and may contradict medians.
    for _ in known() {
        let Some(other) = known().find(|at| verdict(*at, leader) == Some(Verdict::Better)) else {
            break;
        };
        leader = other;
    }
    let others: Vec<(usize, Option<Verdict>)> =
        known().filter(|at| *at != leader).map(|at| (at, verdict(at, leader))).collect();
    let is_same = |at: usize| others.contains(&(at, Some(Verdict::Same)));
    let all_worse = others.iter().all(|(_, verdict)| *verdict == Some(Verdict::Worse));
    let any_same = others.iter().any(|(_, verdict)| *verdict == Some(Verdict::Same));
    let standing = |at: usize| match () {
        () if at == leader && others.is_empty() => Standing::Behind,
        () if at == leader && all_worse => Standing::Best,
        () if (at == leader && any_same) || is_same(at) => Standing::AsGood,
        () if at == leader => Standing::Leads,
        () => Standing::Behind,
    };
    (0..values.len()).map(|at| values[at].map(|_| standing(at))).collect()
}
