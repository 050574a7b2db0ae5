//! What the disks did over time, of two trials side by side: throughput, seeks, depth, utilisation, and where requests were.

use disklab_compare::answer;
use disklab_store::record::name_of;
use disklab_store::{Outcome, Record};
use disklab_units::prose::count;
use maud::{PreEscaped, html};

use crate::embedded;
use crate::over_time::{Scale, Watched, pictures};
use crate::panel::{Panel, Piece, Section};
use crate::source::{Choice, Group, Source};
use crate::traces::{Surveyed, share_addresses};

pub const PANEL: Panel = Panel {
    place: 50,
    name: "over-time",
    title: "Over time",
    pictures: "a-throughput, a-seeks, a-depth, a-utilisation, a-addresses; b-... of the other trial",
    draw,
};

/// Letters that pictures of trials to choose from may take.
const BUDGET: usize = 400_000;
/// Requests of their traces that are read for that.
const REQUESTS: u64 = 2_000_000;

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let (mut lost, mut pair) = (Vec::new(), Vec::new());
    for trial in chosen(source)? {
        match trial.surveyed() {
            Ok(surveyed) => pair.push(surveyed),
            Err(why) => lost.push(why),
        }
    }
    if pair.is_empty() {
        return Err(format!("No trace can be shown. {}.", lost.join("; ")));
    }
    let home = home(source, &pair);
    let labels: Vec<String> = pair.iter().map(|it| it.label.clone()).collect();
    let mut rest = Rest { room: REQUESTS, lost: Vec::new(), cut: Vec::new() };
    let beside = home.map_or_else(Vec::new, |group| line_up(source, group, &labels, &mut rest));
    let (pair, beside): (Vec<_>, Vec<_>) = drawn(pair.into_iter().chain(beside).collect(), &mut rest)
        .into_iter()
        .partition(|it| labels.contains(&it.label));
    let scale = Scale::of(pair.iter().chain(&beside));
    let sides: Vec<_> = pair.iter().zip(["a", "b"]).map(|(it, side)| pictures(it, side, &scale)).collect();
    let mut charts: Vec<Piece> = Vec::new();
    let rows = sides.iter().map(Vec::len).max().unwrap_or(0);
    let mut sides: Vec<_> = sides.into_iter().map(Vec::into_iter).collect();
    for _ in 0..rows {
        charts.extend(sides.iter_mut().filter_map(Iterator::next).map(Piece::Chart));
    }
    let (scripts, left) = to_choose_from(source, home, &pair, &beside, &scale, &mut rest);
    let damaged = rest.lost.len();
    let words = html! {
        p { "The measured phase, disk by disk. A seek is a read or write that does not begin where the one that ended before \
             it on its disk had ended." }
        @for why in &lost { p.missing { "Not shown: " (why) "." } }
        @if let Some(first) = rest.cut.first() { p.missing { (first)
            @if rest.cut.len() > 1 { "; the like of " (count(rest.cut.len() - 1, "trial")) " more" } "." } }
        @if let Some(first) = rest.lost.first() { p.missing { (count(damaged, "trial")) " cannot be chosen: " (first)
            @if damaged > 1 { "; the like of the others" } "." } }
        div.filters hidden data-choose data-a=[labels.first()] data-b=[labels.get(1)] role="group" aria-label="Trials" {}
        p.terms hidden data-apart role="status" { "The axes of these two go differently far: they are of different cells." }
        @if left > 0 { p.terms { "Not in this page, for its size: " (count(left, "trial")) ". Any two are shown by "
            code { "disklab report " (source.names().join(" ")) " --trial ID --trial ID" } "."
            @if source.records.len() > 1 { " The same id twice is that trial of the first two records." } } }
        @for it in &scripts { script type="text/plain" data-trial=(it.label) data-scale=(it.scale) { (PreEscaped(&it.pictures)) } }
    };
    let section = Section {
        name: "pair".to_owned(),
        title: labels.join(" and "),
        summary: String::new(),
        open: true,
        cell: disklab_store::outcome::Cell::default(),
        pieces: charts,
    };
    let script = html! { script { (PreEscaped(include_str!("over_time.js"))) } };
    Ok(vec![Piece::Words(words), Piece::Section(section), Piece::Words(script)])
}

/// A trial of which there may be a trace.
struct Trial<'a> {
    /// Its id, with its record's name where there are several records.
    label: String,
    record: &'a Record,
    outcome: &'a Outcome,
}

/// Those that were asked for; else the baseline's and the best other choice's of the group to begin with.
fn chosen<'a>(source: &Source<'a>) -> Result<Vec<Trial<'a>>, String> {
    if !source.wanted.trials.is_empty() {
        let mut found: Vec<Trial> = Vec::new();
        for id in source.wanted.trials.iter().take(2) {
            let named = of_id(source, id);
            // The same id again is another record's.
            let other = named.into_iter().find(|it| found.iter().all(|known| known.label != it.label));
            found.extend(other);
        }
        return Ok(found);
    }
    let group = source.groups.get(source.striking()).ok_or("The record has no trials.")?;
    let metric = source.metrics.first().ok_or("No number was asked for.")?;
    let is_baseline = |choice: &&Choice| source.baseline.as_deref() == Some(&choice.value);
    let baseline = group.choices.iter().find(is_baseline);
    // The one that there is most to see of.
    let size = |choice: &Choice| {
        let change = source.judgement(group, &choice.value, metric).and_then(|it| it.change);
        change.map_or(0.0, |change| answer::size(change.percent))
    };
    let others =
        group.choices.iter().filter(|choice| !is_baseline(choice) && first(source, choice).is_some());
    let other = others.max_by(|one, another| size(one).total_cmp(&size(another)));
    let pair: Vec<Trial> =
        [baseline, other].into_iter().flatten().filter_map(|choice| first(source, choice)).collect();
    if pair.is_empty() { Err("No trial has a result.".to_owned()) } else { Ok(pair) }
}

/// In the order of records.
fn of_id<'a>(source: &Source<'a>, id: &str) -> Vec<Trial<'a>> {
    let all = source.groups.iter().flat_map(|group| &group.choices).flat_map(|choice| &choice.trials);
    let named = all.filter(|tried| tried.id == id);
    named.filter_map(|tried| Some(trial(source, tried.id, tried.record, tried.outcome?))).collect()
}

/// The first seed that has a result.
fn first<'a>(source: &Source<'a>, choice: &Choice<'a>) -> Option<Trial<'a>> {
    let (tried, outcome) = choice.results().next()?;
    Some(trial(source, tried.id, tried.record, outcome))
}

fn trial<'a>(source: &Source<'a>, id: &str, record: &'a Record, outcome: &'a Outcome) -> Trial<'a> {
    let label =
        if source.records.len() > 1 { format!("{id} ({})", name_of(record.folder())) } else { id.to_owned() };
    Trial { label, record, outcome }
}

impl Trial<'_> {
    fn surveyed(&self) -> Result<Surveyed, String> {
        let surveyed = Surveyed::of(&self.label, self.record, self.outcome);
        surveyed.map_err(|why| format!("{}: {why}", self.label))
    }
}

/// The group that all of a pair are of: its trials are drawn so that any two can be held against each other.
fn home<'s, 'a>(source: &'s Source<'a>, pair: &[Surveyed]) -> Option<&'s Group<'a>> {
    let labels = |group: &'s Group<'a>| -> Vec<String> {
        let all = group.choices.iter().flat_map(Choice::results);
        all.map(|(tried, outcome)| trial(source, tried.id, tried.record, outcome).label).collect()
    };
    source.groups.iter().find(|group| {
        let own = labels(group);
        pair.iter().all(|it| own.contains(&it.label))
    })
}

/// What may still be read, and what could not be.
struct Rest {
    /// Requests in traces.
    room: u64,
    /// Trials that are not shown, with the reason.
    lost: Vec<String>,
    /// Trials that are shown in part, likewise.
    cut: Vec<String>,
}

/// Trials that are held against each other.
fn drawn(mut all: Vec<Surveyed>, rest: &mut Rest) -> Vec<Watched> {
    share_addresses(&mut all);
    let mut found = Vec::new();
    for it in &all {
        match it.drawn() {
            Ok(watched) => {
                found.push(watched);
                rest.cut.extend(it.cut());
            }
            Err(why) => rest.lost.push(format!("{}: {why}", it.label)),
        }
    }
    found
}

/// The first seed of each choice of a group, without those that are there already, as long as there is room.
fn line_up(source: &Source, group: &Group, without: &[String], rest: &mut Rest) -> Vec<Surveyed> {
    let mut found = Vec::new();
    for trial in group.choices.iter().filter_map(|choice| first(source, choice)) {
        if without.contains(&trial.label) {
            continue;
        }
        let devices = trial.outcome.sample.as_ref().map_or(&[][..], |sample| &sample.devices);
        let requests = devices.iter().map(|it| it.reads + it.writes).sum();
        let Some(room) = rest.room.checked_sub(requests) else { break };
        rest.room = room;
        match trial.surveyed() {
            Ok(surveyed) => found.push(surveyed),
            Err(why) => rest.lost.push(why),
        }
    }
    found
}

/// Pictures of a trial, packed.
struct Packed {
    label: String,
    /// Those with the same have the same axes.
    scale: String,
    pictures: String,
}

impl Packed {
    fn of(it: &Watched, scale: &Scale, name: &str) -> Self {
        let charts = pictures(it, "side", scale);
        let figures =
            charts.iter().map(|chart| chart.figure(&format!("over-time-pair-{}", chart.kind)).into_string());
        let pictures = embedded::packed(&figures.collect::<String>());
        Self { label: it.label.clone(), scale: name.to_owned(), pictures }
    }
}

/// Those of the pair, of `beside` in the same scale, and of the first seed of each cell else, as many as there is room for;
/// and how many trials with a result are not among them.
fn to_choose_from(
    source: &Source,
    home: Option<&Group>,
    pair: &[Watched],
    beside: &[Watched],
    scale: &Scale,
    rest: &mut Rest,
) -> (Vec<Packed>, usize) {
    let mut packed: Vec<Packed> =
        pair.iter().chain(beside).map(|it| Packed::of(it, scale, "of-the-pair")).collect();
    let labels: Vec<String> = pair.iter().map(|it| it.label.clone()).collect();
    let mut room = BUDGET.saturating_sub(packed.iter().map(|it| it.pictures.len()).sum());
    let others = source.groups.iter().filter(|group| home.is_none_or(|home| home.name != group.name));
    'all: for group in others {
        let own = drawn(line_up(source, group, &labels, rest), rest);
        let scale = Scale::of(own.iter());
        for it in &own {
            let one = Packed::of(it, &scale, &group.name);
            if one.pictures.len() > room {
                break 'all;
            }
            room -= one.pictures.len();
            packed.push(one);
        }
    }
    let all = source.groups.iter().flat_map(|group| &group.choices).map(|choice| choice.results().count());
    let left = all.sum::<usize>().saturating_sub(packed.len() + rest.lost.len());
    (packed, left)
}
