//! Results over two numeric axes: a field for each pair of values, darker for larger numbers.

use std::collections::BTreeSet;

use disklab_compare::{Metric, answer};
use disklab_stats::Better;
use disklab_units::prose::count;
use maud::{Markup, html};

use crate::chart::palette::COLOURS;
use crate::chart::{Chart, NumbersTable, WIDTH, centred, ending, ink, number as pixels};
use crate::panel::{Nothing, Panel, Piece, Section, with_words};
use crate::source::ReportSource;
use crate::swept::{self, SweepMap, number};
use crate::text::slug;

pub const PANEL: Panel = Panel {
    place: 33,
    name: "sweep-map",
    title: "Over two ranges",
    pictures: "a metric each, over each two axes that go over numbers: iops, p99",
    draw,
};

/// Margins beside the fields, in pixels.
const LEFT: f64 = 78.0;
const RIGHT: f64 = 12.0;
const ABOVE: f64 = 8.0;
const BELOW: f64 = 46.0;
/// Height of a field if there are few, and its least height.
const ROW: f64 = 30.0;
const LOWEST: f64 = 4.0;
/// Largest number of fields in a row that have room for their numbers.
const MOST_NUMBERS: usize = 7;
const MOST_NAMES: usize = 12;
/// Darkest shade on which letters can still be read, on a dark background too.
const DARKEST: f64 = 0.55;
const LIGHTEST: f64 = 0.06;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let (cells, axes) = swept::over_numbers(source)?;
    let names: Vec<&str> = axes.iter().map(String::as_str).collect();
    if let [only] = names.as_slice() {
        let why = format!("Only {only} is numeric, and two such axes are needed.");
        return Err(Nothing::Elsewhere(why));
    }
    let pairs = names.iter().enumerate();
    let pairs = pairs.flat_map(|(at, x)| names[at + 1..].iter().map(move |y| [*x, *y]));
    let maps = pairs
        .flat_map(|axes| fields(&cells, axes, &names).into_iter().map(move |field| (axes, field)));
    let (sections, left) =
        swept::sections(maps, |(axes, field), open| section(source, axes, &field, open));
    let words = html! {
        p.says { "Darker fields have greater medians over the seeds. If there are few fields, they \
                  show their numbers. A field that is crossed out has no result." }
        (swept::not_drawn(left, "more map"))
    };
    Ok(with_words(words, sections))
}

/// Returns the maps of a grid. If no two cells differ in these axes only, as with samples, the map
/// has all cells for any other numbers.
fn fields<'s, 'a>(
    cells: &'s [swept::Full<'s, 'a>],
    axes: [&str; 2],
    all: &[&str],
) -> Vec<SweepMap<'s, 'a>> {
    let grid = swept::fields(cells, axes, &[]);
    if grid.iter().any(|field| field.marks.len() > 1) {
        grid
    } else {
        swept::fields(cells, axes, all)
    }
}

fn section(source: &ReportSource, [x, y]: [&str; 2], field: &SweepMap, open: bool) -> Section {
    let rest = answer::title(&field.rest);
    let charts = metrics(source).filter_map(|metric| chart([x, y], field, metric));
    Section {
        name: slug(&format!("{x} {y} {rest}")),
        title: format!("{x} and {y}: {rest}"),
        summary: summary(source, field),
        open,
        cell: field.rest.clone(),
        pieces: charts.map(Piece::Chart).collect(),
    }
}

/// Returns the first metric, and the most important latency.
fn metrics<'s>(source: &'s ReportSource) -> impl Iterator<Item = &'s Metric> {
    let all = &source.metrics;
    let slow = all.iter().find(|metric| **metric == Metric::P99);
    let slow = slow.or_else(|| all.iter().find(|metric| metric.better([]) == Better::Lower));
    let first = all.first();
    first.into_iter().chain(slow.filter(|metric| Some(*metric) != first))
}

/// Summarizes a map, as in `IOPS: 512 to 1720`.
fn summary(source: &ReportSource, field: &SweepMap) -> String {
    let Some(metric) = source.metrics.first() else { return String::new() };
    let Some((least, most, unit)) = range(field, metric) else { return "no result".to_owned() };
    format!("{}: {} to {}", metric.name(), answer::value(least, &unit), answer::value(most, &unit))
}

/// Returns the least and the greatest of all medians, with their unit.
fn range(field: &SweepMap, metric: &Metric) -> Option<(f64, f64, String)> {
    let medians =
        || field.marks.iter().filter_map(|(_, choice)| Some(choice.spread(metric)?.median));
    let unit = metric.unit(field.marks.iter().flat_map(|(_, choice)| choice.outcomes()));
    Some((medians().reduce(f64::min)?, medians().reduce(f64::max)?, unit))
}

/// Returns the values of an axis in rising order.
fn values(axis: &str, field: &SweepMap, at: usize) -> Vec<String> {
    let distinct: BTreeSet<&String> = field.marks.iter().map(|(values, _)| &values[at]).collect();
    let mut values: Vec<String> = distinct.into_iter().cloned().collect();
    let of = |value: &String| number(axis, value).unwrap_or_default();
    values.sort_by(|one, other| of(one).total_cmp(&of(other)));
    values
}

fn chart([x, y]: [&str; 2], field: &SweepMap, metric: &Metric) -> Option<Chart> {
    let (least, most, unit) = range(field, metric)?;
    let (columns, rows) = (values(x, field, 0), values(y, field, 1));
    let height = (ROW * 8.0 / rows.len() as f64).clamp(LOWEST, ROW);
    let width = (WIDTH - LEFT - RIGHT) / columns.len() as f64;
    let full = ABOVE + height * rows.len() as f64 + BELOW;
    let told = |value: f64| answer::value(value, &unit);
    let has_numbers = columns.len() <= MOST_NUMBERS && height >= 16.0;
    let mut drawn = Vec::new();
    let mut table = NumbersTable::new(x, [y, metric.name()]);
    for (values, choice) in &field.marks {
        let place = |all: &[String], value: &String| {
            all.iter().position(|known| known == value).unwrap_or_default() as f64
        };
        let left = LEFT + width * place(&columns, &values[0]);
        let top = ABOVE + height * (rows.len() as f64 - 1.0 - place(&rows, &values[1]));
        let median = choice.spread(metric).map(|spread| spread.median);
        let text = median.map_or_else(|| choice.without_result(metric).0.to_owned(), told);
        let share =
            median.map(|median| if most > least { (median - least) / (most - least) } else { 1.0 });
        let title = format!("{x} {}, {y} {}: {text}", values[0], values[1]);
        let text_within = has_numbers.then_some(text.as_str());
        drawn.push(one((left, top, width, height), share, &title, text_within));
        table.row(&values[0], [&values[1], &text]);
    }
    let middle = pixels(ABOVE + height * rows.len() as f64 / 2.0);
    let inner = html! {
        g font-size="12" fill=(ink::TEXT) {
            @for field in &drawn { (field) }
            @for (at, name) in some(columns.iter(), MOST_NAMES / 2) {
                (centred(LEFT + width * (at as f64 + 0.5), full - BELOW + 16.0, name))
            }
            @for (at, name) in some(rows.iter().rev(), MOST_NAMES) {
                (ending(LEFT - 6.0, ABOVE + height * (at as f64 + 0.5) + 4.0, name))
            }
            text x=(pixels(LEFT + (WIDTH - LEFT - RIGHT) / 2.0)) y=(pixels(full - 6.0))
                text-anchor="middle" font-size="13" { (x) }
            text x="12" y=(middle) text-anchor="middle" font-size="13"
                transform={"rotate(-90 12 " (middle) ")"} { (y) }
        }
    };
    let title = format!("{} over {x} and {y}", metric.name());
    let says = format!(
        "{title}: from {} to {}, in {} of {} by {} values.",
        told(least),
        told(most),
        count(field.marks.len(), "field"),
        columns.len(),
        rows.len()
    );
    Some(Chart::of_svg(&slug(metric.name()), title, says, (WIDTH, full), inner, table))
}

/// Returns names with their positions, as many as have room.
fn some<T>(
    names: impl ExactSizeIterator<Item = T>,
    room: usize,
) -> impl Iterator<Item = (usize, T)> {
    let step = names.len().div_ceil(room).max(1);
    names.enumerate().step_by(step)
}

/// Draws a field. `share` is its position between the least and the greatest value; `None` means no
/// result.
fn one(
    (left, top, width, height): (f64, f64, f64, f64),
    share: Option<f64>,
    title: &str,
    text: Option<&str>,
) -> Markup {
    let [x, y, right, bottom] = [left, top, left + width - 1.0, top + height - 1.0].map(pixels);
    html! {
        g {
            title { (title) }
            @match share {
                Some(share) => rect x=(x) y=(y)
                    width=(pixels(width - 1.0)) height=(pixels(height - 1.0))
                    fill=(COLOURS[0].0)
                    fill-opacity=(format!("{:.2}", LIGHTEST + share * (DARKEST - LIGHTEST))) {},
                None => path d=(format!("M{x} {y}L{right} {bottom}M{x} {bottom}L{right} {y}"))
                    fill="none" stroke=(ink::BAD) stroke-width="1" {},
            }
            @if let Some(text) = text {
                text x=(pixels(left + width / 2.0)) y=(pixels(top + height / 2.0 + 4.0))
                    text-anchor="middle" font-size="11" { (text) }
            }
        }
    }
}
