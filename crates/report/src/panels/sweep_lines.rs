//! Results along a numeric axis: a line for each choice with its seeds as a band, and the points at
//! which the best choice changes.

use disklab_compare::{Metric, answer};
use disklab_results::Spread;
use kuva::prelude::Plot;
use maud::html;

use crate::chart::coinciding::overlaps;
use crate::chart::{Chart, NumbersTable, ink};
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
/// Largest number of labels for points.
const MOST_TICKS: usize = 8;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let (cells, _) = swept::over_numbers(source)?;
    let along = swept::along(source, &cells);
    let (sections, left) = swept::sections(&along, |along, open| section(source, along, open));
    let has_samples = along.iter().take(sections.len()).any(|along| along.line.is_sampled);
    if sections.is_empty() {
        return Err("No range has more than one cell.".into());
    }
    let words = html! {
        p.says { "Each line joins the medians of a choice over its seeds; the band around it \
                  reaches from the least to the greatest seed. Points are equally spaced, whatever \
                  their values. A choice is first if its worst seed is better than the best seed \
                  of every other choice." }
        @if has_samples { p.says { "If several numbers vary together, as in a Latin hypercube, \
                                    each sample has a mark and no line joins them, since \
                                    neighbours differ in the other numbers too." } }
        (swept::not_drawn(left, "more line"))
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

/// Draws the chart. Returns `None` if no point has a result.
fn chart(source: &ReportSource, along: &Along, metric: &Metric) -> Option<Chart> {
    let Along { axis, line, series } = along;
    let all = || line.points.iter().flat_map(|point| point.choices.iter().flatten());
    let unit = metric.unit(all().flat_map(|choice| choice.outcomes()));
    let spreads = || all().filter_map(|choice| choice.spread(metric));
    let most = spreads().map(|spread| spread.max).reduce(f64::max)?;
    let top = if most > 0.0 { most * 1.08 } else { 1.0 };
    let medians = |at: usize| {
        known(line, at, metric).into_iter().map(|(x, spread)| (x, spread.median)).collect()
    };
    let medians = (0..series.len()).map(medians);
    let places: Vec<(&str, Vec<(f64, f64)>)> = series.iter().copied().zip(medians).collect();
    let overlaps = overlaps(&places, top);
    let mut plots: Vec<Plot> = Vec::new();
    for (at, overlap) in overlaps.iter().enumerate() {
        plots.extend(one(line, at, metric, overlap.wider));
    }
    let values: Vec<String> = line.points.iter().map(|point| point.value.clone()).collect();
    let last = values.len().saturating_sub(1);
    let step = values.len().div_ceil(MOST_TICKS).max(1);
    let x = (-0.2, last as f64 + 0.2);
    let y = (0.0, top);
    let edges = edges(values.len());
    let name = move |x: f64| {
        let is_point = (x - x.round()).abs() < 1e-6 && x >= 0.0;
        values.get(x.round() as usize).filter(|_| is_point).cloned().unwrap_or_default()
    };
    let of_unit = unit.clone();
    let layout = ink::framed(x, y, HEIGHT)
        .with_x_label(ink::plain(axis))
        .with_x_tick_step(step as f64)
        .with_x_tick_format(ink::ticks(name))
        .with_y_tick_format(ink::ticks(move |y| answer::value(y, &of_unit)));
    let entry = if line.is_sampled { ink::Series::mark_entry } else { ink::Series::entry };
    let names = series.iter().zip(&overlaps).enumerate();
    let names = names.map(|(at, (name, overlap))| (at, *name, overlap.note.as_str()));
    let layout = ink::with_legend(layout, (HEIGHT, ink::ROOM), names, entry);
    let (table, says) = (table(along, metric, &unit), says(source, along, metric));
    Some(
        Chart::draw(&slug(metric.name()), along.title(metric), says, plots, layout, table)
            .with_edges(edges),
    )
}

/// Draws a series: its band, its line, and marks, so that points without a result are visible.
fn one(line: &SweepLine, at: usize, metric: &Metric, wider: f64) -> Vec<Plot> {
    let ink = ink::Series::numbered(at);
    let known = known(line, at, metric);
    if known.is_empty() {
        return Vec::new();
    }
    let medians: Vec<(f64, f64)> = known.iter().map(|(x, spread)| (*x, spread.median)).collect();
    let marks = ink.marks(medians.clone()).with_size(if line.is_sampled { 4.5 } else { 3.5 });
    if line.is_sampled {
        return vec![marks.into()];
    }
    let line = ink.line(medians, 2.0 + wider).with_band(
        known.iter().map(|(_, spread)| spread.min),
        known.iter().map(|(_, spread)| spread.max),
    );
    vec![line.into(), marks.into()]
}

/// Returns the points of a series that have a result, with their positions.
fn known(line: &SweepLine, at: usize, metric: &Metric) -> Vec<(f64, Spread)> {
    let spread = |point: &swept::SweepPoint| point.choices.get(at).copied()??.spread(metric);
    let points = line.points.iter().enumerate();
    points.filter_map(|(x, point)| Some((x as f64, spread(point)?))).collect()
}

/// Returns the edges between the points, in pixels.
fn edges(points: usize) -> Vec<f64> {
    let width = (points.saturating_sub(1)) as f64 + 0.4;
    let x = |place: f64| ink::LEFT + (place + 0.2) / width * ink::ROOM;
    ink::edges((1..points).map(|point| x(point as f64 - 0.5)))
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
