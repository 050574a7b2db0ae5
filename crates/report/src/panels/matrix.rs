//! Every cell: how it did, against its baseline, and what went wrong in it.

use std::mem::discriminant;

use disklab_collect::Remark;
use disklab_compare::{Judgement, Metric, answer};
use disklab_stats::Verdict;
use disklab_units::prose::count;
use maud::{Markup, html};

use crate::panel::{Panel, Piece};
use crate::source::{Choice, Group, Source};
use crate::text::slug;

pub const PANEL: Panel = Panel { place: 20, name: "matrix", title: "All cells", draw };

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
        (table) (notes.markup())
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
                    (None, _) => { span.x { "✕ no result" } },
                    (Some(_), Some(it)) => {
                        (answer::arrow(it.verdict)) " " (it.change.map_or_else(|| it.verdict.to_string(), |change| answer::change(change.percent)))
                    },
                    (Some(_), None) => { @if is_baseline { "baseline" } @else { "-" } },
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
    let (failures, marks) = (choice.failures_in_words(), notes.marks(choice));
    html! {
        tr id={"matrix-" (group.name) "-" (slug(&choice.value))} data-verdict=[judgement.map(|it| it.verdict)] {
            @for axis in axes { td { (group.cell.value(axis).unwrap_or_default()) } }
            th scope="row" { a href={"#bars-" (group.name)} { (choice.value) } }
            @if source.baseline.is_some() {
                td.verdict { (verdict(judgement, is_baseline)) }
                td.number data-value=[number(change.map(|change| change.percent))] { (told) }
                td.number data-value=[number(change.map(|change| change.low))] { (interval) }
            }
            td.number data-value=[number(median)] { @if let Some(median) = median { (answer::value(median, &unit)) } @else { span.x title="no result" { "✕" } } }
            td.number data-value=(trials) { (trials) @if trials < choice.trials.len() { " of " (choice.trials.len()) } }
            td.remarks {
                @for failure in &failures { div.failure { span.x aria-hidden="true" { "✕ " } (failure) } }
                @for why in judgement.into_iter().flat_map(|it| &it.remarks).filter(|it| !repeats(it, &failures)) { div { (why) } }
                @for (at, number) in &marks { a.note href={"#matrix-note-" (number)} { "[" (number) "]" @if at + 1 < marks.len() { " " } } }
            }
        }
    }
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
fn repeats(remark: &str, failures: &[String]) -> bool {
    let reason = remark.split_once(": ").map_or(remark, |(_, reason)| reason);
    failures.iter().any(|failure| failure.ends_with(reason))
}

/// A verdict by a sign and a word.
pub fn verdict(judgement: Option<&Judgement>, is_baseline: bool) -> Markup {
    html! {
        @match judgement.map(|it| it.verdict) {
            Some(verdict) => span class={"verdict-" (verdict)} { span aria-hidden="true" { (answer::arrow(verdict)) " " } (verdict) },
            None if is_baseline => span.verdict-baseline { "baseline" },
            None => span.verdict-none { "none" },
        }
    }
}

/// In a word or two for each choice of a group: `queue ▲ +12 %`.
pub fn summary(source: &Source, group: &Group, metric: &Metric) -> String {
    let told = |choice: &Choice| {
        let judgement = source.judgement(group, &choice.value, metric)?;
        let change = judgement.change.filter(|_| judgement.verdict != Verdict::Undecided);
        let change = change.map_or_else(String::new, |change| format!(" {}", answer::change(change.percent)));
        Some(format!("{} {}{change}", choice.value, answer::arrow(judgement.verdict)))
    };
    group.choices.iter().filter_map(told).collect::<Vec<_>>().join(" · ")
}

/// Remarks that do not keep a trial out of verdicts: each kind once below the table, with the first trial that it is on.
#[derive(Debug, Default)]
struct Notes<'a> {
    /// The remark, its trial and on how many trials the like is.
    all: Vec<(&'a Remark, &'a str, usize)>,
}

impl<'a> Notes<'a> {
    /// Numbers from 1, each with its place among them.
    fn marks(&mut self, choice: &Choice<'a>) -> Vec<(usize, usize)> {
        let mut numbers: Vec<usize> = Vec::new();
        for (tried, outcome) in choice.results() {
            for remark in &outcome.remarks {
                let known = self.all.iter().position(|(it, ..)| discriminant(*it) == discriminant(remark));
                let at = known.unwrap_or(self.all.len());
                if known.is_none() {
                    self.all.push((remark, tried.id, 0));
                }
                self.all[at].2 += 1;
                if !numbers.contains(&(at + 1)) {
                    numbers.push(at + 1);
                }
            }
        }
        numbers.into_iter().enumerate().collect()
    }

    fn markup(&self) -> Markup {
        html! {
            @if !self.all.is_empty() {
                ol.notes {
                    @for (at, (remark, trial, trials)) in self.all.iter().enumerate() {
                        li id={"matrix-note-" (at + 1)} { (trial) ": " (remark)
                            @if *trials > 1 { ", and the like of " (count(trials - 1, "trial")) " more" } }
                    }
                }
            }
        }
    }
}
