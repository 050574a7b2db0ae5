//! The verdicts of all comparisons in words, and what they rest on.

use std::fmt::Write as _;

use disklab_stats::Verdict;
use disklab_units::prose::{count, listed};
use indexmap::{IndexMap, IndexSet};

use crate::answer;
use crate::comparison::Comparison;
use crate::decision::{DecisionRule, ErrorControl};
use crate::matching::MatchedTrials;
use crate::metric::Metric;
use crate::sensitivity::is_at_end;
use crate::sequential::SequentialDesign;

/// The verdicts in the order in which they are counted, and the words before a count.
const COUNTED: [(Verdict, &str); 4] = [
    (Verdict::Better, "better than"),
    (Verdict::Worse, "worse than"),
    (Verdict::Same, "the same"),
    (Verdict::Undecided, "undecided"),
];

/// A sentence for each treatment and metric: in how many cells it is better, worse or the same, and
/// where the largest gain and loss are.
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
    let verdicts = COUNTED.map(|(verdict, words)| {
        let words = match verdict {
            Verdict::Better | Verdict::Worse => {
                format!("{words} {}", answer::name(&cells[0].baseline))
            }
            Verdict::Same | Verdict::Undecided => words.to_owned(),
        };
        (compared.iter().filter(|cell| cell.verdict == verdict).count(), words)
    });
    let others = [
        (censored, "given up on both sides".to_owned()),
        (without.len() - censored, "without enough results to compare".to_owned()),
    ];
    let counted = verdicts.into_iter().chain(others).filter(|(number, _)| *number > 0);
    let counts: Vec<String> =
        counted.map(|(number, words)| format!("{words} in {number}")).collect();
    let mut text = format!(
        "{}: {} is {} of {}",
        metric.name(),
        answer::name(treatment),
        listed(&counts),
        count(cells.len(), "cell")
    );
    for (verdict, noun) in [(Verdict::Better, "gain"), (Verdict::Worse, "loss")] {
        let decided = compared.iter().filter(|cell| cell.verdict == verdict);
        let changes = decided.filter_map(|cell| Some((&cell.cell, cell.change?)));
        let sized = changes.map(|(cell, change)| (answer::size(change.percent), cell, change));
        if let Some((_, cell, change)) = sized.max_by(|(one, ..), (other, ..)| one.total_cmp(other))
        {
            let _ = write!(text, "; the largest {noun}: {}", change.in_words());
            if !cell.0.is_empty() {
                let _ = write!(text, " ({})", answer::values(cell));
            }
        }
    }
    text
}

/// How many seeds would decide what is undecided, as a sentence without its full stop; `None` where
/// nothing is undecided, or where nothing can be said.
pub fn seeds_to_decide(comparisons: &[Comparison]) -> Option<String> {
    let is_open = |comparison: &&Comparison| {
        comparison.verdict == Verdict::Undecided
            && comparison.change.is_some()
            && !is_at_end(&comparison.cell)
    };
    let open: Vec<&Comparison> = comparisons.iter().filter(is_open).collect();
    let mut known: Vec<usize> = open.iter().filter_map(|open| open.seeds_to_decide).collect();
    known.sort_unstable();
    let most = answer::seeds(*known.last()?);
    let half = answer::seeds(known[(known.len() - 1) / 2]);
    let whole = match known.len() {
        1 => format!("{most} would decide it"),
        _ if half == most => format!("{most} would decide them"),
        _ => format!("{half} would decide half of them, and of {most} all"),
    };
    let unknown = match open.len() - known.len() {
        0 => String::new(),
        unknown => format!("; of {unknown} more nothing can be said"),
    };
    let metrics: IndexSet<&str> =
        comparisons.iter().map(|comparison| comparison.metric.name()).collect();
    Some(format!(
        "Undecided on {}: {}. If effects and spreads are what they seem, a new run of {whole}, \
         each with a chance of {:.0} %{unknown}",
        listed(&metrics.into_iter().collect::<Vec<_>>()),
        known.len(),
        disklab_stats::PLANNED_POWER * 100.0
    ))
}

/// The rule of the verdicts as a sentence without its full stop.
pub fn basis(
    rule: DecisionRule,
    all: &[MatchedTrials],
    design: Option<&SequentialDesign>,
) -> String {
    let how = match all.iter().filter(|matched| matched.paired).count() {
        0 => "All trials of one side are held against all of the other",
        paired if paired == all.len() => "Trials of one seed are paired",
        _ => "Trials of one seed are paired where there are such",
    };
    let share = design.map_or(1.0, SequentialDesign::last_share);
    let looks = design.and_then(SequentialDesign::in_words);
    let looks = looks.map_or_else(String::new, |looks| format!("; {looks}"));
    let percent = short(rule.alpha * 100.0);
    let limit = match rule.error_control {
        ErrorControl::Fdr => {
            format!("of all verdicts better and worse, {percent} % are wrong on average at most")
        }
        ErrorControl::Fwer => {
            format!("the chance that any verdict better or worse is wrong is {percent} % at most")
        }
    };
    format!(
        "{how}, and changes are of these, not of the medians; intervals hold each for itself with \
         {} % confidence; {limit}; the same is what is within {} % with its whole interval{looks}",
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
            change: Some(RelativeChange { percent, low: percent, high: percent }),
            noise: None,
            verdict,
            seeds_to_decide: None,
            no_choice: None,
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
            ["IOPS: queue is better than pid in 2, worse than pid in 1, the same in 1 and \
                 undecided in 1 of 5 cells; the largest gain: x 13 (two); the largest loss: -50 % \
                 (three)"]
        );
    }

    #[test]
    fn the_seeds_that_would_decide_are_about_so_many() {
        let open =
            |seeds| Comparison { seeds_to_decide: seeds, ..cell("one", 3.0, Verdict::Undecided) };
        let said = |seeds: &[Option<usize>]| {
            let all: Vec<Comparison> = seeds.iter().map(|seeds| open(*seeds)).collect();
            let said = seeds_to_decide(&all)?;
            Some(said.split_once("a new run of ").expect("a number").1.to_owned())
        };
        assert_eq!(said(&[]), None);
        assert_eq!(said(&[None]), None);
        assert_eq!(seeds_to_decide(&[cell("one", 3.0, Verdict::Better)]), None);
        assert_eq!(
            said(&[Some(14)]).unwrap(),
            "about 14 seeds would decide it, each with a chance of 80 %"
        );
        assert_eq!(
            said(&[Some(131), Some(9), None, Some(5000)]).unwrap(),
            "about 140 seeds would decide half of them, and of more than 1000 seeds all, each with \
             a chance of 80 %; of 1 more nothing can be said"
        );
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
    }
}
