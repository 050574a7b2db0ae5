//! Verdicts of a record with `--sensitivity`: those that hold at both ends of the range of each
//! estimated parameter, and those that change.

use std::collections::BTreeSet;

use disklab_config::device::{AS_IS, RangeEnd};
use disklab_config::suite::sweep::ESTIMATED;
use disklab_record::outcome::Cell;
use disklab_stats::Verdict;
use disklab_units::prose::{count, listed};
use indexmap::IndexMap;
use serde::Serialize;

use crate::answer::{self, RelativeChange};
use crate::comparison::{Comparison, compare_family};
use crate::decision::DecisionRule;
use crate::matching::MatchedTrials;
use crate::metric::Metric;
use crate::sequential::SequentialDesign;

/// Compares both sides of each cell in each of its metrics, since workloads have different metrics.
/// Cells at one end of an estimated parameter's range are a family of their own, as if the suite
/// had been run for that end alone.
pub fn compare(
    all: &[MatchedTrials],
    metrics: &[Metric],
    rule: DecisionRule,
    interim: Option<&SequentialDesign>,
) -> Result<Vec<Comparison>, disklab_stats::Error> {
    let mut families: IndexMap<Option<&str>, Vec<&MatchedTrials>> = IndexMap::new();
    for matched in all {
        families.entry(matched.cell.value(ESTIMATED)).or_default().push(matched);
    }
    let compared = families.values().map(|own| compare_family(own, metrics, rule, interim));
    let mut comparisons = compared.collect::<Result<Vec<_>, _>>()?.concat();
    remark_on_estimates(&mut comparisons);
    Ok(comparisons)
}

/// A verdict, and its values at the ends of estimates.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Sensitivity {
    /// Cell without the axis over estimates.
    pub cell: Cell,
    pub metric: String,
    pub treatment: String,
    pub baseline: String,
    pub verdict: String,
    pub change: Option<RelativeChange>,
    /// Whether the verdict is the same at all ends.
    pub holds: bool,
    pub ends: Vec<VerdictAtEnd>,
}

/// A verdict at an end of an estimate's range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictAtEnd {
    /// Name of the end, such as `queue_patience-low`.
    pub end: String,
    pub verdict: String,
    pub change: Option<RelativeChange>,
    /// Whether the verdict is decided, and differs from the one with all estimates as they are.
    pub turns: bool,
}

/// Returns true if a cell is at an end of an estimate's range.
pub fn is_at_end(cell: &Cell) -> bool {
    cell.value(ESTIMATED).is_some_and(|value| value != AS_IS)
}

/// Returns the sensitivity of each verdict that is decided with all estimates as they are, in the
/// order of the comparisons.
pub fn sensitivities(comparisons: &[Comparison]) -> Vec<Sensitivity> {
    let is_given = |own: &&Comparison| {
        own.cell.value(ESTIMATED) == Some(AS_IS) && own.verdict != Verdict::Undecided
    };
    let sensitivity = |own: &Comparison| {
        let cell = own.cell.without(ESTIMATED);
        let is_of_it = |other: &&Comparison| {
            is_at_end(&other.cell)
                && other.cell.without(ESTIMATED) == cell
                && (&other.metric, &other.treatment, &other.baseline)
                    == (&own.metric, &own.treatment, &own.baseline)
        };
        let at_end = |other: &Comparison| VerdictAtEnd {
            end: other.cell.value(ESTIMATED).unwrap_or_default().to_owned(),
            verdict: other.verdict.to_string(),
            change: other.change,
            turns: other.verdict != own.verdict && other.verdict != Verdict::Undecided,
        };
        let ends: Vec<VerdictAtEnd> = comparisons.iter().filter(is_of_it).map(at_end).collect();
        let verdict = own.verdict.to_string();
        let holds = ends.iter().all(|end| end.verdict == verdict);
        let (metric, change) = (own.metric.name().to_owned(), own.change);
        let (treatment, baseline) = (own.treatment.clone(), own.baseline.clone());
        Sensitivity { cell, metric, treatment, baseline, verdict, change, holds, ends }
    };
    comparisons.iter().filter(is_given).map(sensitivity).collect()
}

/// Returns sentences, without their full stops, about the sensitivities: the number of verdicts
/// that hold, and each that changes. The result is empty for a record without `--sensitivity`.
pub fn sentences(comparisons: &[Comparison]) -> Vec<String> {
    let all = sensitivities(comparisons);
    let ends = || all.iter().flat_map(|own| &own.ends);
    let keys: BTreeSet<&str> = ends()
        .filter_map(|end| RangeEnd::parse(&end.end).ok().flatten())
        .map(|end| end.key)
        .collect();
    if keys.is_empty() {
        let has_ends = comparisons.iter().any(|own| is_at_end(&own.cell));
        let open = "No verdict is given with the estimates as they are, so none can change";
        return has_ends.then(|| open.to_owned()).into_iter().collect();
    }
    let keys: Vec<&str> = keys.into_iter().collect();
    let number = |is: fn(&Sensitivity) -> bool| all.iter().filter(|own| is(own)).count();
    let turned = number(|own| own.ends.iter().any(|end| end.turns));
    let held = number(|own| own.holds);
    let parts = [
        (held, "hold at both ends"),
        (turned, "change at an end"),
        (all.len() - held - turned, "are undecided at an end"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let counts: Vec<String> = parts.map(|(number, what)| format!("{number} {what}")).collect();
    let summary = format!(
        "With the estimates of {} at the ends of their ranges, of {} {}",
        listed(&keys),
        count(all.len(), "verdict"),
        listed(&counts)
    );
    let other_ends = |own: &Sensitivity| {
        let ends = own.other_ends()?;
        let cell = answer::values(&own.cell);
        let place = if cell.is_empty() { String::new() } else { format!(" ({cell})") };
        let turns = own.ends.iter().any(|end| end.turns);
        Some(format!(
            "{} of {} compared with {}{place} {}: {} with the values of the files, {ends}",
            own.metric,
            answer::name(&own.treatment),
            answer::name(&own.baseline),
            if turns { "changes" } else { "is undecided at an end" },
            in_words(&own.verdict, own.change),
        ))
    };
    std::iter::once(summary).chain(all.iter().filter_map(other_ends)).collect()
}

impl Sensitivity {
    /// Returns the verdicts at the ends at which they differ or are undecided, or `None` if there
    /// is no such end.
    fn other_ends(&self) -> Option<String> {
        let others = self.ends.iter().filter(|end| end.verdict != self.verdict);
        let others: Vec<String> = others
            .map(|end| format!("{} at {}", in_words(&end.verdict, end.change), end.end))
            .collect();
        (!others.is_empty()).then(|| listed(&others))
    }
}

/// Adds a remark to each verdict that is not the same at all ends of estimates.
fn remark_on_estimates(comparisons: &mut [Comparison]) {
    for found in sensitivities(comparisons) {
        let Some(ends) = found.other_ends() else { continue };
        let own = comparisons.iter_mut().find(|own| {
            own.cell.value(ESTIMATED) == Some(AS_IS)
                && own.cell.without(ESTIMATED) == found.cell
                && (own.metric.name(), &own.treatment, &own.baseline)
                    == (&found.metric, &found.treatment, &found.baseline)
        });
        if let Some(own) = own {
            own.remarks
                .push(format!("the verdict depends on estimated numbers of the disks: {ends}"));
        }
    }
}

fn in_words(verdict: &str, change: Option<RelativeChange>) -> String {
    change.map_or_else(|| verdict.to_owned(), |change| format!("{verdict} ({})", change.in_words()))
}
