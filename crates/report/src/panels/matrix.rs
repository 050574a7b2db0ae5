//! Every cell: its numbers, its comparison with the baseline, and its failures.

use std::collections::BTreeMap;

use disklab_compare::{Comparison, Metric, answer};
use disklab_stats::Verdict;
use disklab_units::prose::count;
use indexmap::IndexMap;
use maud::{Markup, html};

use crate::failures::TrialFailure;
use crate::notes::Notes;
use crate::panel::{Nothing, Panel, Piece};
use crate::source::{CellChoice, Group, ReportSource};

pub const PANEL: Panel =
    Panel { place: 20, name: "matrix", title: "All cells", pictures: "", draw };

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let metric = source.metrics.first().ok_or("No number was requested.")?;
    if source.groups.is_empty() {
        return Err("The record has no trials.".into());
    }
    let mut notes = (Notes::default(), Vec::new());
    let judged = source.baseline.is_some();
    let table = html! {
        div.scroll.matrix tabindex="0" role="group" aria-label="All cells" {
            table id="matrix-table" data-sortable {
                caption { (metric.name()) " of each cell"
                    @if let Some(baseline) = &source.baseline { ": the estimate that the \
                        verdicts use, and its change against " (baseline) " with the interval" }
                    @else { ": the median over its seeds" } }
                thead { tr {
                    @for axis in &source.axes { th scope="col" data-axis=(axis) { (axis) } }
                    th scope="col" data-axis=(source.compared) { (source.compared) }
                    @if judged {
                        th scope="col" data-axis="verdict" { "verdict" }
                        th.number scope="col" data-numbers { "change" }
                        th.number scope="col" data-numbers { "interval" }
                    }
                    th.number scope="col" data-numbers { (metric.name()) }
                    th.number scope="col" data-numbers { "trials" }
                    th scope="col" { "remarks" }
                } }
                tbody {
                    @for group in &source.groups { @for choice in &group.choices {
                        (row(source, group, choice, metric, &mut notes))
                    } }
                }
            }
        }
    };
    Ok(vec![Piece::Words(html! {
        (table)
        (listed(&notes.0, &notes.1))
    })])
}

/// Remarks of one kind on the trials of one row.
struct Remarked {
    /// Number of the kind.
    number: usize,
    /// Name of the row in ids.
    row: String,
    /// Cell of the row.
    of: String,
    /// Remarks such as `seed 1: remark`, `seeds 2 and 3: remark`.
    told: Vec<String>,
    trials: usize,
}

type Kept<'a> = (Notes<'a>, Vec<Remarked>);

/// Lists each kind once, with the remarks on each trial folded below it.
fn listed(notes: &Notes, all: &[Remarked]) -> Markup {
    let sentences = notes.sentences();
    let of_kind = |number: usize| -> Vec<&Remarked> {
        all.iter().filter(|remarked| remarked.number == number).collect()
    };
    html! {
        @if !sentences.is_empty() {
            ol.notes { @for (at, sentence) in sentences.iter().enumerate() {
                li id={"matrix-note-" (at + 1)} {
                    (sentence)
                    @let own = of_kind(at + 1);
                    details {
                        summary { "This remark on each of "
                            (count(own.iter().map(|remarked| remarked.trials).sum(), "trial"))
                                " in " (count(own.len(), "cell")) }
                        ul { @for remarked in own { li id={"matrix-note-" (at + 1) "-"
                            (remarked.row)} {
                            a href={"#matrix-" (remarked.row)} { (remarked.of) } ": "
                                (remarked.told.join("; "))
                        } } }
                    }
                }
            } }
        }
    }
}

fn row<'a>(
    source: &ReportSource,
    group: &Group<'a>,
    choice: &CellChoice<'a>,
    metric: &Metric,
    notes: &mut Kept<'a>,
) -> Markup {
    let comparison = source.comparison(group, &choice.value, metric);
    let is_baseline = comparison.is_none() && source.baseline.as_deref() == Some(&choice.value);
    let change = comparison.and_then(|comparison| comparison.change);
    let (told, interval) =
        comparison.map_or_else(Default::default, Comparison::change_and_interval);
    let shown = source.number(group, choice, metric);
    let trials = choice.results().count();
    let (failures, remarked) = (choice.failures(metric), remarked(&mut notes.0, group, choice));
    let said = comparison.into_iter().flat_map(|comparison| &comparison.remarks);
    let said = said.filter(|remark| !repeats(remark, &failures));
    let least = source.rule.smallest_effect;
    let undecided = comparison.and_then(|one| one.why_undecided(source.family, least));
    let markup = html! {
        tr id={"matrix-" (group.name) "--" (choice.name)}
            data-verdict=[comparison.map(|comparison| comparison.verdict)] {
            @for axis in &source.axes { @let value = group.cell.value(axis).unwrap_or_default(); td
                class=[short(value)] { (value) } }
            th class=[short(&choice.value)] scope="row" { a href={"#bars-" (group.name)} {
                (choice.value) } }
            @if source.baseline.is_some() {
                td.verdict { (verdict(comparison, is_baseline)) }
                td.number data-value=[number(change.map(|change| change.percent))] { (told) }
                td.number data-value=[number(change.map(|change| change.low))] { (interval) }
            }
            td.number data-value=[number(shown)] {
                @match source.number_in_words(group, choice, metric) {
                    Some(shown) => { (shown) },
                    None => { (nothing(choice, metric)) },
                } }
            td.number data-value=(trials) { (trials) @if trials < choice.trials.len() { " of "
                (choice.trials.len()) } }
            td.remarks {
                @for failure in &failures {
                    @if failure.failed { div.failure { span.x aria-hidden="true" { "✕ " }
                        (failure.text) } } @else { div { (failure.text) } }
                }
                @for why in said { div { (why) } }
                @if let Some(why) = undecided { div { (why) } }
                @if let Some(seeds) = comparison.and_then(Comparison::seeds_in_words) {
                    div { (seeds) " would decide" } }
                @for (name, values) in comparison.into_iter().flat_map(Comparison::modes_in_words) {
                    div { (name) ": " (values) ", depending on the seed" } }
                @for remarked in &remarked {
                    a.note href={"#matrix-note-" (remarked.number) "-" (remarked.row)}
                        title=(remarked.told.join("; ")) { "[" (remarked.number) "]" } " "
                }
            }
        }
    };
    notes.1.extend(remarked);
    markup
}

/// Returns the class of a value that fits on one line on paper.
fn short(value: &str) -> Option<&'static str> {
    (value.chars().count() <= 16).then_some("short")
}

/// Draws the text in place of a number.
fn nothing(choice: &CellChoice, metric: &Metric) -> Markup {
    let (words, failed) = choice.without_result(metric);
    html! { @if failed { span.x { "✕ " (words) } } @else { span.to-come { (words) } } }
}

/// Returns the remarks on the trials of a choice, by kind.
fn remarked<'a>(
    notes: &mut Notes<'a>,
    group: &Group<'a>,
    choice: &CellChoice<'a>,
) -> Vec<Remarked> {
    let mut texts: IndexMap<(usize, String), Vec<String>> = IndexMap::new();
    for (trial, outcome) in choice.results() {
        let seed = trial.seed_index.map_or_else(|| trial.id.to_owned(), |seed| seed.to_string());
        let told = |remark: &&disklab_results::Remark| !remark.doubts() && !remark.is_no_choice();
        for remark in outcome.remarks.iter().filter(told) {
            let key = (notes.number(remark, trial.id), remark.to_string());
            texts.entry(key).or_default().push(seed.clone());
        }
    }
    let mut all: BTreeMap<usize, Remarked> = BTreeMap::new();
    for ((number, text), seeds) in texts {
        let remarked = all.entry(number).or_insert_with(|| Remarked {
            number,
            row: format!("{}--{}", group.name, choice.name),
            of: format!("{}, {}", group.title(), choice.value),
            told: Vec::new(),
            trials: 0,
        });
        remarked.told.push(format!("{}: {text}", answer::numbered_seeds(&seeds)));
        remarked.trials += seeds.len();
    }
    all.into_values().collect()
}

/// Formats the number that a column is sorted by, in JavaScript's notation.
fn number(value: Option<f64>) -> Option<String> {
    value.map(|value| match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        finite => finite.to_string(),
    })
}

/// Returns true if a remark such as `seed 3 of queue, left out: reason` repeats `seed 3: failed:
/// reason`.
fn repeats(remark: &str, failures: &[TrialFailure]) -> bool {
    let reason = remark.split_once(": ").map_or(remark, |(_, reason)| reason);
    let to_come = reason == "has not run" && failures.iter().any(|failure| !failure.failed);
    to_come || failures.iter().any(|failure| failure.text.ends_with(reason))
}

/// Formats a verdict.
pub fn verdict(comparison: Option<&Comparison>, is_baseline: bool) -> Markup {
    html! {
        @match comparison.filter(|comparison| comparison.change.is_some()) {
            Some(comparison) => span class={"verdict-" (comparison.verdict)} {
                (comparison.verdict_in_words()) },
            None if is_baseline => span.verdict-baseline { "baseline" },
            None => span.verdict-none { "no verdict" },
        }
    }
}

/// Formats the change and the verdict of each choice of a group: `queue +12 % better`.
pub fn summary(source: &ReportSource, group: &Group, metric: &Metric) -> String {
    let told = |choice: &CellChoice| {
        let comparison = source.comparison(group, &choice.value, metric)?;
        comparison.change?;
        let told = match comparison.verdict {
            Verdict::Undecided => comparison.verdict_in_words(),
            _ => comparison.change_and_verdict(),
        };
        // Lines break between choices, not within one.
        Some(format!("{} {told}", choice.value).replace(' ', "\u{a0}"))
    };
    let all: Vec<String> = group.choices.iter().filter_map(told).collect();
    // Without verdicts, the failures are shown.
    let failed = || group.choices.iter().filter(|choice| choice.has_failed(metric));
    let all = if all.is_empty() {
        failed().map(|choice| format!("{}\u{a0}✕", choice.value)).collect()
    } else {
        all
    };
    all.join(" · ")
}
