//! The verdicts in words.

use std::fmt::Write as _;

use disklab_config::suite::SuiteAxis;
use disklab_record::outcome::Cell;
use disklab_stats::Verdict;
use disklab_units::prose::{count, digits, listed};

use crate::judgement::{Change, Judgement};

/// In the order in which they are counted.
const ALL: [Verdict; 4] = [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided];

/// A sentence for each treatment and metric: in how many cells it is what, and where the most is
/// won and lost.
pub fn sentences(judgements: &[Judgement]) -> Vec<String> {
    let mut seen: Vec<(&str, &Judgement)> = Vec::new();
    for judgement in judgements {
        let known = |(treatment, other): &(&str, &Judgement)| {
            *treatment == judgement.treatment && other.metric == judgement.metric
        };
        if !seen.iter().any(known) {
            seen.push((&judgement.treatment, judgement));
        }
    }
    let own = |first: &Judgement| -> Vec<&Judgement> {
        let same = |it: &&Judgement| it.treatment == first.treatment && it.metric == first.metric;
        judgements.iter().filter(same).collect()
    };
    seen.iter().map(|(_, first)| sentence(&own(first))).collect()
}

fn sentence(cells: &[&Judgement]) -> String {
    let Some(first) = cells.first() else { return String::new() };
    // Nothing was held against each other there: that is not undecided.
    let (held, without): (Vec<&Judgement>, Vec<&Judgement>) =
        cells.iter().copied().partition(|cell| cell.change.is_some());
    let given_up = without.iter().filter(|cell| cell.is_given_up_on_both_sides()).count();
    let baseline = name(&first.baseline);
    let number = |word: Verdict| held.iter().filter(|cell| cell.verdict == word).count();
    let counts = ALL.map(|word| (word, number(word)));
    let mut counts: Vec<String> = counts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(word, number)| match word {
            Verdict::Better | Verdict::Worse => format!("{word} than {baseline} in {number}"),
            Verdict::Same => format!("the same in {number}"),
            Verdict::Undecided => format!("undecided in {number}"),
        })
        .collect();
    for (number, why) in [
        (given_up, "given up on both sides"),
        (without.len() - given_up, "without enough results to compare"),
    ] {
        if number > 0 {
            counts.push(format!("{why} in {number}"));
        }
    }
    let of = count(cells.len(), "cell");
    let mut text = format!(
        "{}: {} is {} of {of}",
        first.metric.name(),
        name(&first.treatment),
        listed(&counts)
    );
    for (word, noun) in [(Verdict::Better, "gain"), (Verdict::Worse, "loss")] {
        if let Some((cell, change)) = largest(cells, word) {
            let place =
                if cell.0.is_empty() { String::new() } else { format!(" ({})", values(cell)) };
            let _ = write!(text, "; the largest {noun}: {}{place}", as_known(change));
        }
    }
    text
}

/// How many seeds would decide what is undecided, as a sentence without its full stop; `None` where
/// nothing is, or where nothing can be said.
pub fn seeds_to_decide(judgements: &[Judgement]) -> Option<String> {
    let open =
        judgements.iter().filter(|it| it.verdict == Verdict::Undecided && it.change.is_some());
    let all: Vec<Option<usize>> = open.map(|it| it.seeds_to_decide).collect();
    let mut known: Vec<usize> = all.iter().copied().flatten().collect();
    known.sort_unstable();
    let most = *known.last()?;
    let half = known[(known.len() - 1) / 2];
    let whole = match known.len() {
        1 => format!("{} would decide it", seeds(most)),
        _ if rounded(half) == rounded(most) => format!("{} would decide them", seeds(most)),
        _ => format!("{} would decide half of them, and of {} all", seeds(half), seeds(most)),
    };
    let unknown = all.len() - known.len();
    let unknown = if unknown > 0 {
        format!("; of {unknown} more nothing can be said")
    } else {
        String::new()
    };
    let mut metrics: Vec<&str> = Vec::new();
    for name in judgements.iter().map(|it| it.metric.name()) {
        if !metrics.contains(&name) {
            metrics.push(name);
        }
    }
    Some(format!(
        "Undecided on {}: {}. If effects and spreads are what they seem, a new run of {whole}, \
         each with a chance of {:.0} %{unknown}",
        listed(&metrics),
        known.len(),
        disklab_stats::PLANNED_POWER * 100.0
    ))
}

/// Beyond this a run has no more seeds.
const MOST_SEEDS: usize = 1000;

/// `about 140 seeds`: no more digits than are known.
pub fn seeds(number: usize) -> String {
    if number > MOST_SEEDS {
        format!("more than {MOST_SEEDS} seeds")
    } else {
        format!("about {} seeds", rounded(number))
    }
}

/// Up to two digits.
fn rounded(number: usize) -> usize {
    let step = if number < 100 { 1 } else { 10 };
    number.min(MOST_SEEDS + 1).div_ceil(step) * step
}

/// The cell with the greatest change among those with this verdict.
fn largest<'a>(cells: &[&'a Judgement], word: Verdict) -> Option<(&'a Cell, Change)> {
    let decided = cells.iter().filter(|cell| cell.verdict == word);
    let changes = decided.filter_map(|cell| Some((&cell.cell, cell.change?)));
    changes.max_by(|(_, a), (_, b)| size(a.percent).total_cmp(&size(b.percent)))
}

/// What is compared, within a sentence: a scheduler of the name `none` is somebody.
pub fn name(choice: &str) -> String {
    if choice == "none" { "\"none\"".to_owned() } else { choice.to_owned() }
}

/// How great a change of so many percent is, up or down: one to a tenth is as great as one to ten
/// times. Nothing is less than a change that is no number.
pub fn size(percent: f64) -> f64 {
    let size = (1.0 + percent / 100.0).ln().abs();
    if size.is_nan() { 0.0 } else { size }
}

/// `+12 % better`; nothing where nothing was held against each other: that is not undecided. A word
/// and no arrow: less latency is better, and would be down or up.
pub fn told(change: Option<Change>, verdict: Verdict) -> String {
    change.map_or_else(String::new, |change| format!("{} {verdict}", as_known(change)))
}

/// Why a change is undecided whose interval looks as if it decided, for better, worse or the same:
/// `None` where it says so itself, and of a verdict that is given. `verdicts` is how many alpha
/// holds over, `smallest` the effect (a share) below which two are the same.
pub fn why_undecided(it: &Judgement, verdicts: usize, smallest: f64) -> Option<String> {
    let change = it.change.filter(|_| it.verdict == Verdict::Undecided)?;
    if it.noise.is_some_and(|noise| noise.hides(change.percent)) {
        return Some("within this machine's noise".to_owned());
    }
    let reaches = size(change.low).max(size(change.high)) >= smallest.ln_1p();
    if change.low <= 0.0 && change.high >= 0.0 && reaches {
        return None;
    }
    let (one, other) = it.trials;
    let seeds = disklab_units::prose::count(one.min(other), "seed");
    let are = if one.min(other) == 1 { "is" } else { "are" };
    let among = if verdicts > 1 {
        format!("among {verdicts} verdicts")
    } else {
        "to be certain".to_owned()
    };
    Some(format!("{seeds} {are} too few {among}"))
}

/// `hdd-raid1, background none, randread-4k-qd1, jobs 4`.
pub fn values(cell: &Cell) -> String {
    cell.0.iter().map(|(axis, value)| named(axis, value)).collect::<Vec<_>>().join(", ")
}

/// A value, with its axis where it says nothing by itself.
pub fn named(axis: &str, value: &str) -> String {
    if value == "none" || value.chars().all(|letter| letter.is_ascii_digit()) || is_number_of(axis)
    {
        format!("{axis} {value}")
    } else {
        value.to_owned()
    }
}

/// Whether an axis goes over a number, whose values say nothing by themselves.
fn is_number_of(axis: &str) -> bool {
    matches!(axis.parse::<SuiteAxis>(), Ok(SuiteAxis::Parameter(_)))
}

/// With its unit, as people read it.
pub fn value(value: f64, unit: &str) -> String {
    match unit {
        "1/s" => digits(value),
        "bytes/s" => format!("{} MiB/s", digits(value / f64::from(1 << 20))),
        "bytes" => bytes(value),
        "ns" => disklab_units::Nanos(value.round() as u64).to_string(),
        _ => format!("{} {unit}", digits(value)).trim_end().to_owned(),
    }
}

/// With a sign where it is less than nothing: something shrank.
fn bytes(value: f64) -> String {
    let size = disklab_units::Bytes(value.abs().round() as u64);
    if value <= -0.5 { format!("-{size}") } else { size.to_string() }
}

/// A change and its interval, or two dashes.
pub fn change_and_interval(change: Option<Change>) -> (String, String) {
    change.map_or_else(
        || ("-".to_owned(), "-".to_owned()),
        |it| (as_known(it), format!("{} to {}", self::change(it.low), self::change(it.high))),
    )
}

/// A change, of which one end may not be known: trials were given up, or there was nothing of it.
fn as_known(it: Change) -> String {
    let change = self::change(it.percent);
    let (has_least, has_most) = (it.low > -100.0, it.high.is_finite());
    match it.percent {
        more if more > 0.0 && has_least && !has_most => format!("≥ {change}"),
        less if less < 0.0 && has_most && !has_least => format!("≤ {change}"),
        _ => change,
    }
}

/// `+12 %`, `-3.4 %`; from ten times on `x 13`.
pub fn change(percent: f64) -> String {
    match percent {
        _ if !percent.is_finite() => "unbounded".to_owned(),
        900.0.. => format!("x {:.0}", 1.0 + percent / 100.0),
        _ if percent.abs() >= 9.95 => format!("{percent:+.0} %"),
        _ => format!("{percent:+.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::Metric;

    fn cell(array: &str, percent: f64, verdict: Verdict) -> Judgement {
        Judgement {
            cell: Cell(vec![("array".to_owned(), array.to_owned())]),
            metric: Metric::Iops,
            treatment: "queue".to_owned(),
            baseline: "pid".to_owned(),
            paired: true,
            trials: (5, 5),
            unit: "1/s".to_owned(),
            better: disklab_stats::Better::Higher,
            given_up: (None, None),
            limits: (None, None),
            treatment_median: None,
            baseline_median: None,
            change: Some(Change { percent, low: percent, high: percent }),
            noise: None,
            verdict,
            seeds_to_decide: None,
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
            |seeds| Judgement { seeds_to_decide: seeds, ..cell("one", 3.0, Verdict::Undecided) };
        let said = |seeds: &[Option<usize>]| {
            let all: Vec<Judgement> = seeds.iter().map(|seeds| open(*seeds)).collect();
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
        let open = |low, high| Judgement {
            change: Some(Change { percent: 53.0, low, high }),
            ..cell("one", 53.0, Verdict::Undecided)
        };
        let why = |low, high, verdicts| why_undecided(&open(low, high), verdicts, 0.02);
        assert_eq!(why(52.0, 54.0, 27).unwrap(), "5 seeds are too few among 27 verdicts");
        assert_eq!(why(-54.0, -52.0, 1).unwrap(), "5 seeds are too few to be certain");
        assert_eq!(why(-1.0, 54.0, 27), None);
        assert_eq!(why(-1.0, 1.5, 27).unwrap(), "5 seeds are too few among 27 verdicts");
        assert_eq!(why_undecided(&cell("one", 3.0, Verdict::Better), 9, 0.02), None);
    }

    #[test]
    fn changes_have_a_sign() {
        let texts = [0.04, -3.41, 9.96, 899.0, 900.0, f64::INFINITY].map(change);
        assert_eq!(texts, ["+0.0 %", "-3.4 %", "+10 %", "+899 %", "x 10", "unbounded"]);
    }
}
