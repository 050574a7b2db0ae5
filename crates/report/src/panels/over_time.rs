//! What the disks did over time, of two trials side by side: throughput, seeks, depth, utilisation, and where requests were.

use disklab_store::{Outcome, Record};
use disklab_trace::timeline::Shape;
use disklab_trace::{Survey, Timeline};
use disklab_units::prose::count;
use maud::{PreEscaped, html};

use crate::embedded;
use crate::over_time::{Scale, pictures};
use crate::panel::{Panel, Piece, Section};
use crate::source::{Choice, Source};

pub const PANEL: Panel = Panel { place: 50, name: "over-time", title: "Over time", draw };

/// Of time; and pixels of all disks' addresses together, and of each one's at least and at most.
const BINS: usize = 180;
const COLUMNS: usize = 320;
const ROWS: (usize, usize, usize) = (240, 24, 120);
/// Letters that pictures of trials to choose from may take.
const BUDGET: usize = 400_000;

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let chosen = chosen(source)?;
    let mut lost = Vec::new();
    let mut pair = Vec::new();
    for trial in &chosen {
        match watched(trial) {
            Ok(watched) => pair.push(watched),
            Err(why) => lost.push(format!("{}: {why}", trial.id)),
        }
    }
    if pair.is_empty() {
        return Err(format!("No trace can be shown. {}.", lost.join("; ")));
    }
    let scale = Scale::of(pair.iter().map(|it| &it.line));
    let sides: Vec<_> = pair
        .iter()
        .zip(["a", "b"])
        .map(|(it, side)| pictures(&it.line, &it.names, &it.id, side, &scale))
        .collect();
    let mut charts: Vec<Piece> = Vec::new();
    let rows = sides.iter().map(Vec::len).max().unwrap_or(0);
    let mut sides: Vec<_> = sides.into_iter().map(Vec::into_iter).collect();
    for _ in 0..rows {
        charts.extend(sides.iter_mut().filter_map(Iterator::next).map(Piece::Chart));
    }
    let (scripts, left) = to_choose_from(source, &pair);
    let ids: Vec<&str> = pair.iter().map(|it| it.id.as_str()).collect();
    let words = html! {
        p { "The measured phase, disk by disk. A seek is a read or write that does not begin where the one that ended before \
             it on its disk had ended." }
        @for why in &lost { p.missing { "Not shown: " (why) "." } }
        div.filters hidden data-choose data-a=[ids.first()] data-b=[ids.get(1)] role="group" aria-label="Trials" {}
        @if left > 0 { p.terms { "Not in this page, for its size: " (count(left, "trial")) ". Any two are shown by "
            code { "disklab report " (source.names().join(" ")) " --trial ID --trial ID" } "." } }
        @for (id, packed) in &scripts { script type="text/plain" data-trial=(id) { (PreEscaped(packed)) } }
    };
    let section = Section {
        name: "pair".to_owned(),
        title: ids.join(" and "),
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
    id: &'a str,
    record: &'a Record,
    outcome: &'a Outcome,
}

/// Those that were asked for; else the baseline's and the best other choice's of the group to begin with.
fn chosen<'a>(source: &Source<'a>) -> Result<Vec<Trial<'a>>, String> {
    if !source.wanted.trials.is_empty() {
        let asked = source.wanted.trials.iter().take(2);
        return Ok(asked.filter_map(|id| of_id(source, id)).collect());
    }
    let group = source.groups.get(source.striking()).ok_or("The record has no trials.")?;
    let metric = source.metrics.first().ok_or("No number was asked for.")?;
    let is_baseline = |choice: &&Choice| source.baseline.as_deref() == Some(&choice.value);
    let baseline = group.choices.iter().find(is_baseline);
    // By size of the change, up or down: the one that there is most to see of.
    let size = |choice: &Choice| {
        let change = source.judgement(group, &choice.value, metric).and_then(|it| it.change);
        change.map_or(0.0, |change| change.percent.abs())
    };
    let others = group.choices.iter().filter(|choice| !is_baseline(choice) && first(choice).is_some());
    let other = others.max_by(|one, another| size(one).total_cmp(&size(another)));
    let pair: Vec<Trial> = [baseline, other].into_iter().flatten().filter_map(first).collect();
    if pair.is_empty() { Err("No trial has a result.".to_owned()) } else { Ok(pair) }
}

fn of_id<'a>(source: &Source<'a>, id: &str) -> Option<Trial<'a>> {
    let all = source.groups.iter().flat_map(|group| &group.choices).flat_map(|choice| &choice.trials);
    let mut named = all.filter(|tried| tried.id == id);
    named.find_map(|tried| Some(Trial { id: tried.id, record: tried.record, outcome: tried.outcome? }))
}

/// The first seed that has a result.
fn first<'a>(choice: &Choice<'a>) -> Option<Trial<'a>> {
    let (tried, outcome) = choice.results().next()?;
    Some(Trial { id: tried.id, record: tried.record, outcome })
}

struct Watched {
    id: String,
    /// The disks' names, with what they are models of.
    names: Vec<String>,
    line: Timeline,
}

/// Two passes over the trace.
fn watched(trial: &Trial) -> Result<Watched, String> {
    let raw = trial.record.raw(trial.outcome).ok_or("it left no raw output")?;
    let path = disklab_trace::find(&raw).ok_or("it has no trace of its requests (run --no-trace, or imported)")?;
    let open = || disklab_trace::open(&path).map_err(|error| error.to_string());
    let survey = Survey::of(open()?).map_err(|error| error.to_string())?;
    let phase = survey.measure().ok_or("its trace has no measured phase")?;
    let (all, least, most) = ROWS;
    let rows = (all / survey.disks.len().max(1)).clamp(least, most);
    let shape = Shape { bins: BINS, columns: COLUMNS, rows };
    let line = Timeline::of(open()?, &survey, phase, shape).map_err(|error| error.to_string())?;
    let devices = trial.outcome.sample.as_ref().map_or(&[][..], |sample| &sample.devices);
    let name = |index: usize| {
        let device = devices.get(index);
        device.map_or_else(|| format!("disk {}", index + 1), |device| device.name.clone())
    };
    Ok(Watched { id: trial.id.to_owned(), names: (0..line.disks.len()).map(name).collect(), line })
}

/// Packed pictures of the pair and of the first seed of each cell, as many as there is room for; and how many trials with a
/// result are not among them.
fn to_choose_from(source: &Source, pair: &[Watched]) -> (Vec<(String, String)>, usize) {
    let pack = |it: &Watched| {
        let charts = pictures(&it.line, &it.names, &it.id, "side", &Scale::of([&it.line].into_iter()));
        let figures = charts.iter().map(|chart| chart.figure(&format!("over-time-pair-{}", chart.kind)).into_string());
        (it.id.clone(), embedded::packed(&figures.collect::<String>()))
    };
    let mut packed: Vec<(String, String)> = pair.iter().map(pack).collect();
    let mut room = BUDGET.saturating_sub(packed.iter().map(|(_, text)| text.len()).sum());
    let choices = || source.groups.iter().flat_map(|group| &group.choices);
    for trial in choices().filter_map(first) {
        if packed.iter().any(|(id, _)| id == trial.id) {
            continue;
        }
        let Ok(watched) = watched(&trial) else { continue };
        let (id, text) = pack(&watched);
        if text.len() > room {
            break;
        }
        room -= text.len();
        packed.push((id, text));
    }
    let all: usize = choices().map(|choice| choice.results().count()).sum();
    let left = all.saturating_sub(packed.len());
    (packed, left)
}
