//! Along an axis that goes over numbers: a line a choice, its seeds as a band, and where the best
//! choice changes.

use disklab_compare::{Metric, answer};
use disklab_units::prose::count;
use kuva::prelude::Plot;
use maud::html;

use crate::chart::{Chart, NumbersTable, WIDTH, ink};
use crate::panel::{Nothing, Panel, Piece, Section, with_words};
use crate::source::{CellChoice, ReportSource};
use crate::swept::{self, Along, SweepLine};
use crate::text::slug;

pub const PANEL: Panel = Panel {
    place: 32,
    name: "sweep-lines",
    title: "Over a range",
    pictures: "a metric each, over each axis that goes over numbers: iops, bandwidth, \
        mean-latency, p50, p99",
    draw,
};

const HEIGHT: f64 = 300.0;
/// Pixels beside what is drawn.
const LEFT: f64 = 74.0;
const RIGHT: f64 = 24.0;
/// Names of points that there is room for.
const MOST_TICKS: usize = 8;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let cells = swept::all(source);
    let axes = swept::axes(&cells);
    if axes.is_empty() {
        return Err(Nothing::Elsewhere(swept::NONE.to_owned()));
    }
    let along = swept::along(source, &cells);
    let (sections, left) = swept::sections(&along, |along, open| section(source, along, open));
    let has_samples = along.iter().take(sections.len()).any(|along| along.line.is_sampled);
    if sections.is_empty() {
        return Err("Along no range there is more than one cell.".into());
    }
    let words = html! {
        p.says { "A line is the medians of a choice over its seeds; the band around it reaches \
            from the least to the greatest seed. Points \
                  stand in equal distances, whatever their values. A choice is first where its \
                  worst seed is better than the best seed of \
                  each other." }
        @if has_samples { p.says { "Where numbers vary together, as samples of a hypercube do, \
            there is a mark for each sample and no \
                  line: neighbours differ in the other numbers, too." } }
        @if left > 0 { p { "Not drawn: " (count(left, "more line")) "; " a href="#matrix" {
            "All cells" } " has their numbers." } }
    };
    Ok(with_words(words, sections))
}

fn section(source: &ReportSource, along: &Along, open: bool) -> Section {
    let Along { axis, line, .. } = along;
    let told: Vec<(&Metric, String)> =
        source.metrics.iter().filter_map(|metric| Some((metric, along.winner(metric)?))).collect();
    let words = html! {
        @if !told.is_empty() { ul.winners { @for (metric, sentence) in &told { li {
            (along.title(metric)) ": " (sentence) "." } } } }
    };
    let charts =
        source.metrics.iter().filter_map(|metric| chart(source, along, metric)).map(Piece::Chart);
    let rest = answer::title(&line.rest);
    Section {
        name: slug(&format!("{axis} {rest}")),
        title: format!("{axis}: {rest}"),
        summary: told
            .first()
            .map(|(metric, sentence)| format!("{}: {sentence}", metric.name()))
            .unwrap_or_default(),
        open,
        cell: line.rest.clone(),
        pieces: with_words(words, charts),
    }
}

/// `None` where no point has a result.
fn chart(source: &ReportSource, along: &Along, metric: &Metric) -> Option<Chart> {
    let Along { axis, line, series } = along;
    let all = || line.points.iter().flat_map(|point| point.choices.iter().flatten());
    let unit = metric.unit(all().flat_map(|choice| choice.outcomes()));
    let spreads = || all().filter_map(|choice| choice.spread(metric));
    let most = spreads().map(|spread| spread.max).reduce(f64::max)?;
    let mut plots: Vec<Plot> = Vec::new();
    for (at, _) in series.iter().enumerate() {
        plots.extend(one(line, at, metric));
    }
    let values: Vec<String> = line.points.iter().map(|point| point.value.clone()).collect();
    let last = values.len().saturating_sub(1);
    let step = values.len().div_ceil(MOST_TICKS).max(1);
    let x = (-0.2, last as f64 + 0.2);
    let y = (0.0, if most > 0.0 { most * 1.08 } else { 1.0 });
    let edges = edges(values.len());
    let name = move |x: f64| {
        let is_point = (x - x.round()).abs() < 1e-6 && x >= 0.0;
        values.get(x.round() as usize).filter(|_| is_point).cloned().unwrap_or_default()
    };
    let of_unit = unit.clone();
    let layout = ink::layout(x, y, WIDTH, HEIGHT)
        .with_force_margins(LEFT, RIGHT)
        .with_x_label(ink::plain(axis))
        .with_x_tick_step(step as f64)
        .with_x_tick_format(ink::ticks(name))
        .with_y_tick_format(ink::ticks(move |y| answer::value(y, &of_unit)));
    let entry = if line.is_sampled { ink::Series::mark_entry } else { ink::Series::entry };
    let layout = ink::with_legend(layout, series, entry);
    let (table, says) = (table(along, metric, &unit), says(source, along, metric));
    Some(
        Chart::draw(&slug(metric.name()), along.title(metric), says, plots, layout, table)
            .with_edges(edges),
    )
}

/// A series: its band and its line; marks, so that points without a result are seen to be missing.
fn one(line: &SweepLine, at: usize, metric: &Metric) -> Vec<Plot> {
    let ink = ink::Series::numbered(at);
    let spread = |point: &swept::SweepPoint| {
        point.choices.get(at).copied().flatten().and_then(|choice| choice.spread(metric))
    };
    let known: Vec<(f64, disklab_results::Spread)> = line
        .points
        .iter()
        .enumerate()
        .filter_map(|(x, point)| Some((x as f64, spread(point)?)))
        .collect();
    if known.is_empty() {
        return Vec::new();
    }
    let medians: Vec<(f64, f64)> = known.iter().map(|(x, spread)| (*x, spread.median)).collect();
    let marks = ink.marks(medians.clone()).with_size(if line.is_sampled { 4.5 } else { 3.5 });
    if line.is_sampled {
        return vec![marks.into()];
    }
    let line = ink.line(medians, 2.0).with_band(
        known.iter().map(|(_, spread)| spread.min),
        known.iter().map(|(_, spread)| spread.max),
    );
    vec![line.into(), marks.into()]
}

/// Between the points, in pixels.
fn edges(points: usize) -> Vec<f64> {
    let width = (points.saturating_sub(1)) as f64 + 0.4;
    let x = |place: f64| LEFT + (place + 0.2) / width * (WIDTH - LEFT - RIGHT);
    let middles = (1..points).map(|point| x(point as f64 - 0.5));
    std::iter::once(LEFT).chain(middles).chain([WIDTH - RIGHT]).collect()
}

fn table(along: &Along, metric: &Metric, unit: &str) -> NumbersTable {
    let Along { axis, line, series } = along;
    let heads = series.iter().map(|name| if name.is_empty() { metric.name() } else { *name });
    let mut table = NumbersTable::new(axis, heads);
    for point in &line.points {
        let field = |choice: Option<&CellChoice>| {
            let Some(choice) = choice else { return "-".to_owned() };
            let Some(spread) = choice.spread(metric) else {
                return choice.without_result(metric).0.to_owned();
            };
            let [median, min, max] = [spread.median, spread.min, spread.max]
                .map(|value| choice.known(metric, value, unit));
            format!("{median} ({min} to {max})")
        };
        table.row(&point.value, point.choices.iter().copied().map(field));
    }
    table
}

fn says(source: &ReportSource, along: &Along, metric: &Metric) -> String {
    let Along { line, series, .. } = along;
    let ends = [line.points.first(), line.points.last()]
        .map(|point| point.map_or("", |point| point.value.as_str()));
    let drawn = if line.is_sampled { "kind of mark" } else { "line" };
    let what = if *series == [""] {
        String::new()
    } else {
        format!(", one {drawn} for each {}", source.compared)
    };
    let winner = along.winner(metric).map(|sentence| format!(" {sentence}.")).unwrap_or_default();
    format!("{} from {} to {}{what}.{winner}", along.title(metric), ends[0], ends[1])
}
