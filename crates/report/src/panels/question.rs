//! The question, the answer, the conditions, and the limits of the answer.

use indexmap::IndexMap;
use itertools::Itertools;
use maud::{Markup, html};

use disklab_compare::conclusion::basis;
use disklab_compare::{CellIndex, Metric, RECORD, Recommendation};
use disklab_config::disk_times::DiskTimes;
use disklab_record::Record;
use disklab_record::manifest::HostDisk;
use disklab_units::prose::{count, listed};

use crate::limits;
use crate::merge::made_with;
use crate::overview::overview;
use crate::panel::{self, Nothing, Panel, Piece};
use crate::source::{ReportSource, values_by_axis};
use crate::survival;

pub const PANEL: Panel =
    Panel { place: 10, name: "question", title: "Question and answer", pictures: "overview", draw };

#[expect(clippy::unnecessary_wraps, reason = "all panels are drawn by a function of this form")]
fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let recommendation = source.recommendation.as_ref().map(recommended).map(Piece::Words);
    let picture =
        source.metrics.first().and_then(|metric| overview(source, metric)).map(Piece::Chart);
    let answer = Piece::Words(answer(source));
    let rest = Piece::Words(html! {
        h3 { "Conditions" }
        (panel::facts(facts(source)))
        h3 { "What it does not say" }
        @for validity in validities(source) { p.validity { (validity) } }
    });
    Ok(recommendation.into_iter().chain(picture).chain([answer, rest]).collect())
}

/// The candidate to take, large, and below it what another one would cost.
fn recommended(recommendation: &Recommendation) -> Markup {
    let Recommendation { headline, details, rule, .. } = recommendation;
    html! {
        p.recommendation { strong { (headline) "." } }
        ul.answer { @for detail in details { li { (detail) "." } } }
        p.terms { "The rule: " (rule) "." }
    }
}

fn answer(source: &ReportSource) -> Markup {
    let sentences = source.sentences();
    html! {
        @if let Some(why) = &source.no_comparisons { p.missing { "No verdicts: " (why) "." } }
        @if !sentences.is_empty() {
            ul.answer { @for sentence in &sentences { li { (emphasised(sentence)) "." } } }
            @for sentence in source.sensitivity() { p { (sentence) "." } }
            @if let Some(seeds) = source.seeds_to_decide() { p { (seeds) "." } }
            p.terms { (basis(source.rule, &source.matched, source.design.as_ref())) ". "
                (count(source.comparisons.len(), "verdict")) " in all, on "
                (listed(&source.metrics.iter().map(Metric::name).collect::<Vec<_>>()))
                @if source.until.is_none() && source.metrics.len() > 1 {
                    ", the limit holding for each of these by itself" } "." }
        }
        @for sentence in source.merged.iter().flat_map(|report| &report.machine) { p { (sentence)
            "." } }
        @for sentence in source.records.iter().filter_map(survival::sentence) { p { (sentence)
            "." } }
    }
}

/// The counts first, and large; where the most is won and lost below them.
fn emphasised(sentence: &str) -> Markup {
    let (counts, extremes) = sentence.split_once("; ").unwrap_or((sentence, ""));
    html! { b { (counts) } @if !extremes.is_empty() { span.extremes { "; " (extremes) } } }
}

/// Each once, however many records have it.
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

/// The axes with their values and the programs that ran, as (name, value).
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
            ("disks", disks(index.record)),
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

/// The models of the disks of each array, or the disks of a machine; `None` if the disks were
/// somebody else's.
fn disks(record: &Record) -> Option<String> {
    if let Some(on) = &record.manifest().on_host {
        let disk = |disk: &HostDisk| {
            let model = disk.model.as_deref().unwrap_or("no model known");
            format!("{} ({model}, {})", disk.named.display(), disk.bytes)
        };
        let at = on.at.iter().map(|path| format!("at {}", path.display()));
        return Some(at.chain(on.disks.iter().map(disk)).join(", "));
    }
    let mut arrays: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for outcome in record.lines() {
        let array = outcome.cell.value("array").unwrap_or_default();
        let devices = outcome.sample.iter().flat_map(|sample| &sample.devices);
        let models: Vec<&str> = devices.filter_map(|device| device.device.as_deref()).collect();
        if !models.is_empty() {
            arrays.entry(array).or_insert(models);
        }
    }
    let told = |(array, models): (&&str, &Vec<&str>)| {
        let number = |model: &&str| models.iter().filter(|other| *other == model).count();
        let mut counts = models.iter().unique().map(|model| format!("{} {model}", number(model)));
        let of = if array.is_empty() { String::new() } else { format!("{array}: ") };
        format!("{of}{}", counts.join(", "))
    };
    let told = arrays.iter().map(told).join("; ");
    (!told.is_empty()).then(|| format!("models, not hardware. {told}"))
}

/// The numbers of disks that no data sheet gave: those of another device.
fn inherited(record: &Record) -> Option<String> {
    let all = &record.manifest().inherited;
    let all = all.iter().map(|fact| format!("{}: {}", fact.name, fact.value)).join("; ");
    (!all.is_empty()).then_some(all)
}

/// For how long, and in which time.
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
    Some(format!("for {rotational} on disks that turn, for {solid_state} on others; in {time}"))
}
