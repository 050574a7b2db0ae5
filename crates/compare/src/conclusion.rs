//! Summarizes the verdicts of all comparisons in sentences, with the rule behind them.

use std::fmt::Write as _;

use disklab_stats::Verdict;
use disklab_units::prose::{count, in_shell, listed};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use crate::answer::{self, MOST_SEEDS};
use crate::comparison::Comparison;
use crate::decision::{DecisionRule, ErrorControl};
use crate::index::CellIndex;
use crate::matching::MatchedTrials;
use crate::metric::Metric;
use crate::sensitivity::is_at_end;
use crate::sequential::SequentialDesign;

/// Verdicts in counting order, whether there are too few seeds for any, and the text before a
/// count.
const COUNTED: [(Verdict, bool, &str); 5] = [
    (Verdict::Better, false, "better"),
    (Verdict::Worse, false, "worse"),
    (Verdict::Same, false, "the same"),
    (Verdict::Undecided, false, "undecided"),
    (Verdict::Undecided, true, "too few seeds for a verdict"),
];

/// Returns a sentence for each treatment and metric: the numbers of cells in which it is better,
/// worse or the same, and the largest gain and loss.
pub fn sentences(comparisons: &[Comparison]) -> Vec<String> {
    let mut groups: IndexMap<(&str, &Metric), Vec<&Comparison>> = IndexMap::new();
    for comparison in comparisons.iter().filter(|own| !is_at_end(&own.cell)) {
        let key = (comparison.treatment.as_str(), &comparison.metric);
        groups.entry(key).or_default().push(comparison);
    }
    groups.into_iter().map(|((treatment, metric), own)| sentence(treatment, metric, &own)).collect()
}

fn sentence(treatment: &str, metric: &Metric, cells: &[&Comparison]) -> String {
    // A cell in which nothing was compared is not undecided.
    let (compared, without): (Vec<&Comparison>, Vec<&Comparison>) =
        cells.iter().copied().partition(|cell| cell.change.is_some());
    let censored = without.iter().filter(|cell| cell.is_censored_on_both_sides()).count();
    let verdicts = COUNTED.map(|(verdict, too_few, words)| {
        let is_so = |cell: &&&Comparison| (cell.verdict, cell.too_few_seeds) == (verdict, too_few);
        (compared.iter().filter(is_so).count(), words)
    });
    let others = [
        (censored, "timed out on both sides"),
        (without.len() - censored, "too few results to compare"),
    ];
    let counted = verdicts.into_iter().chain(others).filter(|(number, _)| *number > 0);
    let counts = counted.enumerate().map(|(at, (number, words))| match (cells.len(), at) {
        (1, _) => words.to_owned(),
        (all, 0) => format!("{words} in {number} of {all} comparisons"),
        _ => format!("{words} in {number}"),
    });
    let mut text = format!(
        "{} of {} compared with {}: {}",
        metric.name(),
        answer::name(treatment),
        answer::name(&cells[0].baseline),
        counts.collect::<Vec<_>>().join(", ")
    );
    for (verdict, noun) in [(Verdict::Better, "largest gain"), (Verdict::Worse, "largest loss")] {
        let noun = if cells.len() == 1 { "change" } else { noun };
        let decided = compared.iter().filter(|cell| cell.verdict == verdict);
        let changes = decided.filter_map(|cell| Some((&cell.cell, cell.change?)));
        let sized = changes.map(|(cell, change)| (answer::size(change.percent), cell, change));
        if let Some((_, cell, change)) = sized.max_by(|(one, ..), (other, ..)| one.total_cmp(other))
        {
            let _ = write!(text, "; {noun}: {}", change.in_words());
            if !cell.0.is_empty() {
                let _ = write!(text, " ({})", answer::values(cell));
            }
        }
    }
    text
}

/// Returns a sentence, without its full stop, that names the choices which take one of two values
/// by seed.
pub fn two_modes(comparisons: &[Comparison]) -> Option<String> {
    let mut said: IndexSet<String> = IndexSet::new();
    for comparison in comparisons {
        let place = match answer::values(&comparison.cell) {
            cell if cell.is_empty() => comparison.metric.name().to_owned(),
            cell => format!("{}, {cell}", comparison.metric.name()),
        };
        let modes = comparison.modes_in_words().into_iter();
        said.extend(modes.map(|(name, words)| format!("{} {words} ({place})", answer::name(name))));
    }
    let all = said.into_iter().collect::<Vec<_>>().join("; ");
    (!all.is_empty()).then(|| format!("One of two values, depending on the seed: {all}"))
}

/// Returns a sentence, without its full stop, about other axes with several values, and the option
/// that compares them. Returns `None` for several records, and if there is no such axis.
pub fn other_axes(records: &[CellIndex], compared: &str) -> Option<String> {
    let [only] = records else { return None };
    let parts: Vec<&str> = compared.split('+').collect();
    let several = CHOSEN.into_iter().filter(|axis| !parts.contains(axis)).filter_map(|axis| {
        let values = only.trials.iter().filter_map(|trial| trial.cell.value(axis));
        let values: IndexSet<&str> = values.collect();
        values.first().filter(|_| values.len() > 1).map(|first| (axis, (*first).to_owned()))
    });
    let (axes, options): (Vec<&str>, Vec<String>) = several
        .map(|(axis, first)| (axis, format!("--baseline {axis}={}", in_shell(&first))))
        .unzip();
    (!axes.is_empty()).then(|| {
        let have = if axes.len() == 1 { "has" } else { "have" };
        format!(
            "{} {have} several values too; to compare them: `disklab compare {} {}`",
            listed(&axes),
            in_shell(&only.name()),
            options.join("` or `")
        )
    })
}

/// Axes whose values are choices of the user. A suite may combine them.
const CHOSEN: [&str; 3] = ["policy", "scheduler", "kernel"];

/// Seeds that would decide the undecided verdicts, and the commands that add them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MoreSeeds {
    /// Number of verdicts that these seeds would decide, and number of all undecided ones.
    pub verdicts: (usize, usize),
    pub seeds: usize,
    /// A command for each record with fewer seeds. Imported records have none.
    pub commands: Vec<String>,
    #[serde(skip)]
    half: usize,
    #[serde(skip)]
    at_least: bool,
    #[serde(skip)]
    metrics: Vec<String>,
}

/// Returns None if nothing is undecided, or if nothing is known about a run of [`MOST_SEEDS`].
pub fn more_seeds(comparisons: &[Comparison], records: &[CellIndex]) -> Option<MoreSeeds> {
    let is_open = |comparison: &&Comparison| {
        comparison.verdict == Verdict::Undecided
            && comparison.change.is_some()
            && !is_at_end(&comparison.cell)
    };
    let open = comparisons.iter().filter(is_open);
    let needed = open.map(|open| Some((open.seeds_to_decide?, open.seeds_at_least)));
    let metrics = comparisons.iter().map(|comparison| comparison.metric.name());
    MoreSeeds::new(&needed.collect::<Vec<_>>(), metrics, records)
}

impl MoreSeeds {
    /// Removes the commands, if other commands add at least as many seeds.
    #[must_use]
    pub fn beside(mut self, others: Option<usize>) -> Self {
        if others.is_some_and(|seeds| seeds >= self.seeds) {
            self.commands.clear();
        }
        self
    }

    /// Builds the advice. For each undecided verdict, `open` has the number of seeds that would
    /// decide it, if known, and whether that is only a lower bound.
    pub fn new<'a>(
        open: &[Option<(usize, bool)>],
        metrics: impl Iterator<Item = &'a str>,
        records: &[CellIndex],
    ) -> Option<Self> {
        let mut known: Vec<(usize, bool)> =
            open.iter().flatten().copied().filter(|(seeds, _)| *seeds <= MOST_SEEDS).collect();
        known.sort_unstable();
        let rounded = |seeds: usize| answer::rounded(seeds).min(MOST_SEEDS);
        let seeds = rounded(known.last()?.0);
        let command = |index: &CellIndex| {
            let first = index.suite.as_ref().ok()?.seeds().first();
            let last = u32::try_from(seeds).ok()?.saturating_add(first - 1);
            // Records may differ in their numbers of seeds.
            let has = index.trials.iter().filter_map(|trial| trial.seed_index).max();
            if has >= Some(last) {
                return None;
            }
            let seeds = if first == 1 { last.to_string() } else { format!("{first}-{last}") };
            Some(format!("disklab run --resume {} --seeds {seeds}", in_shell(&index.name())))
        };
        Some(Self {
            verdicts: (known.len(), open.len()),
            seeds,
            commands: records.iter().filter_map(command).collect(),
            half: rounded(known[(known.len() - 1) / 2].0),
            at_least: known.iter().all(|(_, at_least)| *at_least),
            metrics: metrics.collect::<IndexSet<_>>().into_iter().map(str::to_owned).collect(),
        })
    }
}

impl MoreSeeds {
    /// Returns the sentence without the commands and without a full stop.
    pub fn sentence(&self) -> String {
        let Self { verdicts: (_, open), seeds, half, .. } = self;
        let are = if *open == 1 { "is" } else { "are" };
        let (open, metrics) = (count(*open, "verdict"), listed(&self.metrics));
        let head = format!("{open} on {metrics} {are} undecided");
        if self.at_least {
            return format!("{head}. At least {seeds} seeds are needed to decide any of them");
        }
        let what = match self.verdicts {
            (1, 1) => "it".to_owned(),
            (known, open) if known == open => "all of them".to_owned(),
            (known, _) => format!("{known} of them"),
        };
        let half =
            if half < seeds { format!(", and {half} seeds half of these") } else { String::new() };
        let each = if self.verdicts.0 == 1 { "" } else { " for each verdict" };
        format!(
            "{head}. {seeds} seeds in all would decide {what}{half}, with a chance of {:.0} \
             %{each}, if effects and spreads are as measured",
            disklab_stats::PLANNED_POWER * 100.0
        )
    }
}

impl std::fmt::Display for MoreSeeds {
    /// Writes the sentence and the commands, without a full stop.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.sentence())?;
        match self.commands.as_slice() {
            [] => Ok(()),
            [one] => write!(out, "; {one} adds them"),
            several => write!(out, "; {} add them", several.join(" and ")),
        }
    }
}

/// Returns the rule of the verdicts as a sentence without its full stop.
pub fn basis(
    rule: DecisionRule,
    all: &[MatchedTrials],
    design: Option<&SequentialDesign>,
) -> String {
    let how = match all.iter().filter(|matched| matched.paired).count() {
        0 => "All trials of one side are compared with all of the other",
        paired if paired == all.len() => "Trials of one seed are paired",
        _ => "Trials of one seed are paired if both sides have that seed",
    };
    let share = design.map_or(1.0, SequentialDesign::last_share);
    let looks = design.and_then(SequentialDesign::in_words);
    let looks = looks.map_or_else(String::new, |looks| format!(". {looks}"));
    let percent = short(rule.alpha * 100.0);
    let limit = match rule.error_control {
        ErrorControl::Fdr => {
            format!(
                "On average, at most {percent} % of all verdicts \"better\" and \"worse\" are wrong"
            )
        }
        ErrorControl::Fwer => {
            format!(
                "The chance that any verdict \"better\" or \"worse\" is wrong is at most \
                 {percent} %"
            )
        }
    };
    format!(
        "{how}. Numbers and changes are estimated from these. Each interval by itself has {} % \
         confidence. {limit}. \"Same\" means that the whole interval is within ±{} %{looks}",
        short(100.0 - rule.alpha * 100.0 * share),
        short(rule.smallest_effect * 100.0)
    )
}

/// Formats a number with as few decimal places as it needs, at most two.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::RelativeChange;
    use crate::comparison::Modes;
    use disklab_record::outcome::Cell;

    fn cell(array: &str, percent: f64, verdict: Verdict) -> Comparison {
        Comparison {
            cell: Cell(vec![("array".to_owned(), array.to_owned())]),
            metric: Metric::Iops,
            treatment: "queue".to_owned(),
            baseline: "pid".to_owned(),
            paired: true,
            trials: (5, 5),
            unit: "1/s".to_owned(),
            better: disklab_stats::Better::Higher,
            censored: (None, None),
            limits: (None, None),
            treatment_median: None,
            baseline_median: None,
            treatment_estimate: None,
            baseline_estimate: None,
            modes: Modes::default(),
            change: Some(RelativeChange { percent, low: percent, high: percent }),
            noise: None,
            verdict,
            seeds_to_decide: None,
            no_choice: None,
            seeds_at_least: false,
            too_few_seeds: false,
            remarks: Vec::new(),
        }
    }

    #[test]
    fn an_answer_counts_and_names_the_extremes() {
        let cells = [
            cell("one", 20.0, Verdict::Better),
            cell("two", 1200.0, Verdict::Better),
            cell("three", -50.0, Verdict::Worse),
            cell("four", 0.1, Verdict::Same),
            cell("five", 70.0, Verdict::Undecided),
        ];
        assert_eq!(
            sentences(&cells),
            ["IOPS of queue compared with pid: better in 2 of 5 comparisons, worse in 1, the \
                 same in 1, undecided in 1; largest gain: x 13 (two); largest loss: -50 % (three)"]
        );
    }

    #[test]
    fn too_few_seeds_are_counted_apart() {
        let open = cell("one", 70.0, Verdict::Undecided);
        let few = Comparison { too_few_seeds: true, ..cell("two", 9.0, Verdict::Undecided) };
        assert_eq!(
            sentences(&[open, few.clone()]),
            ["IOPS of queue compared with pid: undecided in 1 of 2 comparisons, too few seeds \
                 for a verdict in 1"]
        );
        assert_eq!(few.change_and_verdict(), "+9.0 % too few seeds");
    }

    #[test]
    fn the_seeds_that_would_decide_are_about_so_many() {
        let open =
            |seeds| Comparison { seeds_to_decide: seeds, ..cell("one", 3.0, Verdict::Undecided) };
        let said = |seeds: &[Option<usize>]| {
            let all: Vec<Comparison> = seeds.iter().map(|seeds| open(*seeds)).collect();
            Some(more_seeds(&all, &[])?.to_string())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[None]), None);
        assert_eq!(more_seeds(&[cell("one", 3.0, Verdict::Better)], &[]), None);
        assert_eq!(
            said(&[Some(14)]).unwrap(),
            "1 verdict on IOPS is undecided. 14 seeds in all would decide it, with a chance of 80 \
             %, if effects and spreads are as measured"
        );
        assert_eq!(
            said(&[Some(131), Some(9), None, Some(5000)]).unwrap(),
            "4 verdicts on IOPS are undecided. 140 seeds in all would decide 2 of them, and 9 \
             seeds half of these, with a chance of 80 % for each verdict, if effects and \
             spreads are as measured"
        );
        let few = Comparison { seeds_at_least: true, ..open(Some(6)) };
        assert_eq!(few.seeds_in_words().unwrap(), "at least 6 seeds");
        assert_eq!(
            more_seeds(&[few], &[]).unwrap().to_string(),
            "1 verdict on IOPS is undecided. At least 6 seeds are needed to decide any of them"
        );
    }

    #[test]
    fn two_modes_are_said_once() {
        let modes = Modes { treatment: None, baseline: Some((330.0, 551.0)) };
        let cells = [20.0, 30.0]
            .map(|percent| Comparison { modes, ..cell("hdd-raid1", percent, Verdict::Better) });
        assert_eq!(
            two_modes(&cells).unwrap(),
            "One of two values, depending on the seed: pid 330 or 551 a second (IOPS, hdd-raid1)"
        );
        assert_eq!(two_modes(&[cell("one", 1.0, Verdict::Same)]), None);
    }

    #[test]
    fn what_is_undecided_says_why() {
        let open = |low, high| Comparison {
            change: Some(RelativeChange { percent: 53.0, low, high }),
            ..cell("one", 53.0, Verdict::Undecided)
        };
        let why = |low, high, verdicts| open(low, high).why_undecided(verdicts, 0.02);
        assert_eq!(why(52.0, 54.0, 27).unwrap(), "5 seeds are too few among 27 verdicts");
        assert_eq!(why(-54.0, -52.0, 1).unwrap(), "5 seeds are too few to be certain");
        assert_eq!(why(-1.0, 54.0, 27), None);
        assert_eq!(why(-1.0, 1.5, 27).unwrap(), "5 seeds are too few among 27 verdicts");
        assert_eq!(cell("one", 3.0, Verdict::Better).why_undecided(9, 0.02), None);
        let few = Comparison { too_few_seeds: true, ..open(-1.0, 54.0) };
        assert_eq!(
            few.why_undecided(27, 0.02).unwrap(),
            "5 seeds cannot decide this among 27 verdicts"
        );
        assert_eq!(few.why_undecided(1, 0.02).unwrap(), "5 seeds cannot decide this");
    }
}
