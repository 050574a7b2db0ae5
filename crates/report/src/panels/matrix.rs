//! Every cell: how it did, against its baseline, and what went wrong in it.

use disklab_compare::{Judgement, Metric, answer};
use disklab_stats::Verdict;
use maud::{Markup, html};

use crate::fates::Fate;
use crate::notes::Notes;
use crate::panel::{Panel, Piece};
use crate::source::{Choice, Group, Source};

pub const PANEL: Panel = Panel { place: 20, name: "matrix", title: "All cells", pictures: "", draw };

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let metric = source.metrics.first().ok_or("No number was asked for.")?;
    if source.groups.is_empty() {
        return Err("The record has no trials.".to_owned());
    }
    let mut notes = Notes::default();
    let axes = axes(source);
    let judged = source.baseline.is_some();
    let table = html! {
        div.scroll.matrix tabindex="0" role="group" aria-label="All cells" {
            table id="matrix-table" data-sortable {
                caption { (metric.name()) " of each cell: the median over its seeds"
                    @if let Some(baseline) = &source.baseline { ", and the change against " (baseline) " with its interval" } }
                thead { tr {
                    @for axis in &axes { th scope="col" data-axis=(axis) { (axis) } }
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
                        (row(source, &axes, group, choice, metric, &mut notes))
                    } }
                }
            }
        }
    };
    Ok(vec![Piece::Words(html! {
        @if judged { (glance(source, &axes, metric)) }
        (table)
        @let sentences = notes.sentences();
        @if !sentences.is_empty() {
            ol.notes { @for (at, sentence) in sentences.iter().enumerate() { li id={"matrix-note-" (at + 1)} { (sentence) } } }
        }
    })])
}

/// Those that tell groups apart; the conditions tell the others.
fn axes<'a>(source: &'a Source) -> Vec<&'a str> {
    let mut axes: Vec<&str> = Vec::new();
    for (axis, value) in source.groups.iter().flat_map(|group| &group.cell.0) {
        let differs = || source.groups.iter().any(|other| other.cell.value(axis) != Some(value));
        if !axes.contains(&axis.as_str()) && differs() {
            axes.push(axis);
        }
    }
    axes
}

/// A row for each group, a column for each choice: what became of it, without the numbers.
fn glance(source: &Source, axes: &[&str], metric: &Metric) -> Markup {
    let choices = source.choices();
    html! {
        div.scroll.glance tabindex="0" role="group" aria-label="At a glance" {
            table id="matrix-glance" {
                caption { (metric.name()) " at a glance: the change against " (source.baseline.as_deref().unwrap_or_default()) }
                thead { tr {
                    th scope="col" { (axes.join(", ")) }
                    @for choice in &choices { th scope="col" { (choice) } }
                } }
                tbody { @for group in &source.groups { tr {
                    th scope="row" { (axes.iter().filter_map(|axis| Some(answer::named(axis, group.cell.value(axis)?))).collect::<Vec<_>>().join(", ")) }
                    @for choice in &choices {
                        @let choice = group.choices.iter().find(|it| it.value == *choice);
                        (choice.map_or_else(|| html! { td {} }, |choice| at_a_glance(source, group, choice, metric)))
                    }
                } } }
            }
        }
    }
}

fn at_a_glance(source: &Source, group: &Group, choice: &Choice, metric: &Metric) -> Markup {
    let judgement = source.judgement(group, &choice.value, metric);
    let is_baseline = judgement.is_none() && source.baseline.as_deref() == Some(&choice.value);
    html! {
        td data-verdict=[judgement.map(|it| it.verdict)] {
            a href={"#bars-" (group.name)} {
                @match (choice.spread(metric), judgement) {
                    (None, _) => { (nothing(choice)) },
                    (Some(_), Some(it)) if it.change.is_some() => { (answer::told(it.change, it.verdict)) },
                    (Some(_), _) => { @if is_baseline { "baseline" } @else { "-" } },
                }
            }
        }
    }
}

fn row<'a>(
    source: &Source,
    axes: &[&str],
    group: &Group<'a>,
    choice: &Choice<'a>,
    metric: &Metric,
    notes: &mut Notes<'a>,
) -> Markup {
    let judgement = source.judgement(group, &choice.value, metric);
    let is_baseline = judgement.is_none() && source.baseline.as_deref() == Some(&choice.value);
    let change = judgement.and_then(|it| it.change);
    let (told, interval) =
        judgement.map_or_else(Default::default, |it| answer::change_and_interval(it.change));
    let spread = choice.spread(metric);
    let median = judgement.and_then(|it| it.treatment_median).or(spread.map(|spread| spread.median));
    let unit = metric.unit(choice.results().map(|(_, outcome)| outcome));
    let trials = choice.results().count();
    let (fates, marks) = (choice.fates(), marks(notes, choice));
    html! {
        tr id={"matrix-" (group.name) "--" (choice.name)} data-verdict=[judgement.map(|it| it.verdict)] {
            @for axis in axes { td { (group.cell.value(axis).unwrap_or_default()) } }
            th scope="row" { a href={"#bars-" (group.name)} { (choice.value) } }
            @if source.baseline.is_some() {
                td.verdict { (verdict(judgement, is_baseline)) }
                td.number data-value=[number(change.map(|change| change.percent))] { (told) }
                td.number data-value=[number(change.map(|change| change.low))] { (interval) }
            }
            td.number data-value=[number(median)] { @if let Some(median) = median { (answer::value(median, &unit)) } @else { (nothing(choice)) } }
            td.number data-value=(trials) { (trials) @if trials < choice.trials.len() { " of " (choice.trials.len()) } }
            td.remarks {
                @for fate in &fates {
                    @if fate.failed { div.failure { span.x aria-hidden="true" { "✕ " } (fate.text) } } @else { div { (fate.text) } }
                }
                @for why in judgement.into_iter().flat_map(|it| &it.remarks).filter(|it| !repeats(it, &fates)) { div { (why) } }
                @if let Some(seeds) = judgement.and_then(|it| it.seeds_to_decide) { div { (answer::seeds(seeds)) " would decide" } }
                @for (at, number) in &marks { a.note href={"#matrix-note-" (number)} { "[" (number) "]" @if at + 1 < marks.len() { " " } } }
            }
        }
    }
}

/// In the place of a number.
fn nothing(choice: &Choice) -> Markup {
    let (words, failed) = choice.without_result();
    html! { @if failed { span.x { "✕ " (words) } } @else { span.to-come { (words) } } }
}

/// Numbers of notes on a choice, each with its place among them.
fn marks<'a>(notes: &mut Notes<'a>, choice: &Choice<'a>) -> Vec<(usize, usize)> {
    let mut marks: Vec<usize> = Vec::new();
    for (tried, outcome) in choice.results() {
        marks.extend(notes.numbers(&outcome.remarks, tried.id));
    }
    marks.sort_unstable();
    marks.dedup();
    marks.into_iter().enumerate().collect()
}

/// What a column is sorted by, as JavaScript reads numbers.
fn number(value: Option<f64>) -> Option<String> {
    value.map(|value| match value {
        f64::INFINITY => "Infinity".to_owned(),
        f64::NEG_INFINITY => "-Infinity".to_owned(),
        finite => finite.to_string(),
    })
}

/// `seed 3 of queue: reason` says what `seed 3: failed: reason` says already.
fn repeats(remark: &str, fates: &[Fate]) -> bool {
    let reason = remark.split_once(": ").map_or(remark, |(_, reason)| reason);
    fates.iter().any(|fate| fate.text.ends_with(reason))
}

/// A verdict in a word.
pub fn verdict(judgement: Option<&Judgement>, is_baseline: bool) -> Markup {
    html! {
        @match judgement.filter(|it| it.change.is_some()).map(|it| it.verdict) {
            Some(verdict) => span class={"verdict-" (verdict)} { (verdict) },
            None if is_baseline => span.verdict-baseline { "baseline" },
            None => span.verdict-none { "none" },
        }
    }
}

/// In a word or two for each choice of a group: `queue +12 % better`.
pub fn summary(source: &Source, group: &Group, metric: &Metric) -> String {
    let told = |choice: &Choice| {
        let judgement = source.judgement(group, &choice.value, metric)?;
        let change = judgement.change?;
        let told = match judgement.verdict {
            Verdict::Undecided => Verdict::Undecided.to_string(),
            verdict => answer::told(Some(change), verdict),
        };
        // A line ends between choices, not within one.
        Some(format!("{} {told}", choice.value).replace(' ', "\u{a0}"))
    };
    group.choices.iter().filter_map(told).collect::<Vec<_>>().join(" · ")
}
