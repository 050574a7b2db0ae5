//! The question, the answer, the conditions, and the limits of the answer.

use indexmap::{IndexMap, IndexSet};
use itertools::Itertools;
use maud::{Markup, html};

use disklab_compare::conclusion::basis;
use disklab_compare::{CellIndex, Metric, RECORD, Recommendation};
use disklab_config::disk_times::DiskTimes;
use disklab_record::Record;
use disklab_record::manifest::HostDisk;
use disklab_units::prose::{count, listed};

use crate::disks;
use crate::forest;
use crate::limits;
use crate::merge::made_with;
use crate::numbers;
use crate::panel::{self, Nothing, Panel, Piece};
use crate::source::{ReportSource, values_by_axis};
use crate::survival;

pub const PANEL: Panel =
    Panel { place: 10, name: "question", title: "Question and answer", pictures: "forest", draw };

#[expect(clippy::unnecessary_wraps, reason = "all panels are drawn by a function of this form")]
fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let forest = source.metrics.first().map(|metric| forest::pieces(source, metric));
    let verdicts = answer(source);
    let (first, below) = match &source.recommendation {
        Some(Recommendation { headline, details, to_settle, .. }) => (
            html! { p.recommendation { strong { (headline) "." } } },
            Some(html! {
                @if !details.is_empty() {
                    h3 { "The other choices" }
                    ul.answer {
                        @for detail in details { li { (detail) "." } }
                        @for command in to_settle { li { code { (command) } } }
                    }
                }
                h3 { "Verdicts" }
                (verdicts)
            }),
        ),
        None => (verdicts, None),
    };
    let first = Piece::Words(html! { div.first { (first) } });
    let rest = Piece::Words(html! {
        (below.unwrap_or_default())
        @for sentence in source.merged.iter().flat_map(|report| &report.machine) { p { (sentence)
            "." } }
        (terms(source))
        h3 { "Conditions" }
        (panel::facts(facts(source)))
        h3 { "What these results cannot tell" }
        @for validity in validities(source) { p.validity { (validity) } }
    });
    let numbers = (!source.groups.is_empty()).then(|| Piece::Words(tables(source)));
    let forest = forest.into_iter().flatten();
    Ok(std::iter::once(first).chain(forest).chain(numbers).chain([rest]).collect())
}

/// Draws the numbers of the first metric, and folded those of the others.
fn tables(source: &ReportSource) -> Markup {
    let (first, others) = source
        .metrics
        .split_first()
        .map_or((None, &[][..]), |(first, others)| (Some(first), others));
    html! {
        @if let Some(metric) = first {
            (numbers::table(source, metric))
            p.terms { (numbers::MARKS) "." }
        }
        @for metric in others {
            details { summary { "Numbers: " (metric.name()) } (numbers::table(source, metric)) }
        }
    }
}

/// Draws the rules by which the recommendation and the verdicts were made.
fn terms(source: &ReportSource) -> Markup {
    html! {
        @if let Some(Recommendation { rule, .. }) = &source.recommendation {
            p.terms { "The rule: " (rule) "." }
        }
        @if !source.comparisons.is_empty() {
            p.terms { (basis(source.rule, &source.matched, source.design.as_ref())) ". "
                (count(source.comparisons.len(), "verdict")) " in all, on "
                (listed(&source.metrics.iter().map(Metric::name).collect::<Vec<_>>()))
                @if source.until.is_none() && source.metrics.len() > 1 {
                    "; the limit on wrong verdicts holds for each of these by itself" } "." }
        }
    }
}

fn answer(source: &ReportSource) -> Markup {
    let sentences = source.sentences();
    html! {
        @if let Some(why) = &source.no_comparisons { p.missing { "No verdicts: " (why) "." } }
        @if let Some(why) = &source.no_recommendation {
            p.missing { "No recommendation: " (why) "." }
        }
        @if !sentences.is_empty() {
            ul.answer { @for sentence in &sentences { li { (emphasised(sentence)) "." } } }
            @for sentence in source.on_other_disks() { p { (sentence) "." } }
            @if let Some(seeds) = source.seeds_to_decide() { p { (seeds) "." } }
        }
        @for sentence in source.records.iter().filter_map(survival::sentence) { p { (sentence)
            "." } }
    }
}

/// Draws the counts first, and large; the largest gains and losses are below them.
fn emphasised(sentence: &str) -> Markup {
    let (counts, extremes) = sentence.split_once("; ").unwrap_or((sentence, ""));
    html! { b { (counts) } @if !extremes.is_empty() { span.extremes { "; " (extremes) } } }
}

/// Returns the validity of each record, without repetitions.
pub fn validities(source: &ReportSource) -> Vec<&'static str> {
    let mut all: Vec<&str> = source.merged.iter().map(|report| report.validity).collect();
    all.dedup();
    let parts = |validity| {
        if validity == limits::together() {
            limits::all().iter().map(String::as_str).collect()
        } else {
            vec![validity]
        }
    };
    all.into_iter().flat_map(parts).collect()
}

/// Returns the axes with their values and the programs that ran, as (name, value).
pub fn facts(source: &ReportSource) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    if source.compared == RECORD || source.baseline.is_some() {
        let baseline = source.baseline.iter().map(|baseline| format!(" (baseline: {baseline})"));
        let choices = source.choices().join(", ");
        facts.push((
            format!("compared: {}", source.compared),
            choices + &baseline.collect::<String>(),
        ));
    }
    let axes = values_by_axis(source.groups.iter().map(|group| &group.cell));
    facts.extend(axes.iter().map(|(axis, values)| ((*axis).to_owned(), values.iter().join(", "))));
    for (index, report) in source.indexes.iter().zip(&source.merged) {
        let made = made_with(report).join(", ");
        let all = [
            ("trials", Some(report.trials.to_string())),
            ("disks", disks_of(index.record)),
            ("inherited", inherited(index.record)),
            ("measured", measured(index)),
            ("made with", Some(made).filter(|made| !made.is_empty())),
            ("begun", Some(report.created.clone()).filter(|created| !created.is_empty())),
            ("set", (!report.set.is_empty()).then(|| report.set.join(" "))),
        ];
        let of =
            if source.records.len() > 1 { format!(" of {}", index.name()) } else { String::new() };
        let known = all.into_iter().filter_map(|(what, was)| Some((what, was?)));
        facts.extend(known.map(|(what, was)| (format!("{what}{of}"), was)));
    }
    facts
}

/// Returns the names and models of each array's disks, or the disks of a machine, or `None` if the
/// record has none, as with imported results.
fn disks_of(record: &Record) -> Option<String> {
    if let Some(on) = &record.manifest().on_host {
        let disk = |disk: &HostDisk| {
            let model = disk.model.as_deref().unwrap_or("unknown model");
            format!("{} ({model}, {})", disk.named.display(), disk.bytes)
        };
        let at = on.at.iter().map(|path| format!("at {}", path.display()));
        return Some(at.chain(on.disks.iter().map(disk)).join(", "));
    }
    let mut arrays: IndexMap<&str, Vec<String>> = IndexMap::new();
    for outcome in record.lines() {
        let array = outcome.cell.value("array").unwrap_or_default();
        let devices = outcome.sample.iter().flat_map(|sample| &sample.devices);
        let models = devices.filter(|device| device.device.is_some());
        let models: Vec<String> = models.map(disks::name).collect();
        if !models.is_empty() {
            arrays.entry(array).or_insert(models);
        }
    }
    let told = |(array, models): (&&str, &Vec<String>)| {
        let of = if array.is_empty() { String::new() } else { format!("{array}: ") };
        format!("{of}{}", models.join(", "))
    };
    let told = arrays.iter().map(told).join("; ");
    (!told.is_empty()).then(|| format!("models, not hardware. {told}"))
}

/// Returns the numbers of disks that were taken from another device, since no data sheet gave them.
fn inherited(record: &Record) -> Option<String> {
    let all = &record.manifest().inherited;
    let all = all.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).join("; ");
    (!all.is_empty()).then_some(all)
}

/// Returns the measured time, and its kind.
fn measured(index: &CellIndex) -> Option<String> {
    let manifest = index.record.manifest();
    if manifest.imported.is_some() {
        return None;
    }
    let suite = index.suite.as_ref().ok()?;
    let time = if manifest.on_host.is_some() { "the machine's own time" } else { "virtual time" };
    let Some(DiskTimes { rotational, solid_state }) = suite.runtime else {
        return Some(format!("until programs have started, or all phases are done; in {time}"));
    };
    // An axis of times replaces the suite's time.
    let values = index.trials.iter().filter_map(|trial| trial.cell.value("runtime"));
    let values: IndexSet<&str> = values.collect();
    if !values.is_empty() {
        return Some(format!("for {}; in {time}", listed(&Vec::from_iter(values))));
    }
    Some(format!("for {rotational} on hard disks, for {solid_state} on others; in {time}"))
}
