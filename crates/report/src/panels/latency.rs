//! The whole range of latencies: one curve a choice, its seeds as a band, from the least to the greatest and far into the tail.

use disklab_compare::answer;
use kuva::plot::{LinePlot, ScatterPlot};
use kuva::prelude::{LegendPosition, Plot, TickFormat};
use maud::html;

use crate::chart::{Chart, Table, ink};
use crate::latency::{self, Curve, Origin};
use crate::panel::{Panel, Piece, Section};
use crate::source::Source;

pub const PANEL: Panel = Panel { place: 40, name: "latency", title: "Latency, all of it", draw };

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 380.0;
/// The percentiles of the table.
const TABLE: [f64; 9] = [0.0, 10.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0];

/// One of the two views of the same latencies.
struct View {
    kind: &'static str,
    title: &'static str,
    x_label: &'static str,
    x: (f64, f64),
    step: f64,
    /// Where on the axis a percentile stands.
    place: fn(f64) -> f64,
    tick: fn(f64) -> String,
}

const RANGE: View = View {
    kind: "range",
    title: "Latency of all requests",
    x_label: "percentile",
    x: (0.0, 100.0),
    step: 20.0,
    place: |percent| percent,
    tick: |x| format!("{x:.0}"),
};

const TAIL: View = View {
    kind: "tail",
    title: "The slowest requests",
    x_label: "percentile; each step holds a tenth of the requests of the one before",
    x: (0.0, latency::NINES),
    step: 1.0,
    place: latency::nines,
    tick: |x| {
        let percent = latency::percent_of_nines(x.round());
        format!("{}", (percent * 1e4).round() / 1e4)
    },
};

fn draw(source: &Source) -> Result<Vec<Piece>, String> {
    let striking = source.striking();
    let mut any = false;
    let mut pieces = vec![Piece::Words(html! {
        p.says { "A line is all seeds of a choice together; the band around it reaches from the least to the greatest seed. Left: \
                  every request, the fastest first. Right: the slowest, where each step is a tenth of the requests of the one \
                  before, to where one request is left." }
    })];
    for (at, group) in source.groups.iter().enumerate() {
        let (curves, missing) = latency::curves(source, group);
        any |= !curves.is_empty();
        let mut own = charts(&curves);
        if !missing.is_empty() {
            own.push(Piece::Words(html! { ul.failures { @for sentence in &missing { li { (sentence) } } } }));
        }
        pieces.push(Piece::Section(Section {
            name: group.name.clone(),
            title: group.title(),
            summary: medians(&curves),
            open: at == striking,
            cell: group.cell.clone(),
            pieces: own,
        }));
    }
    if any { Ok(pieces) } else { Err("No trial has latencies: fio told none, or its reports are gone.".to_owned()) }
}

/// `p99: pid 12 ms · queue 9.1 ms`.
fn medians(curves: &[Curve]) -> String {
    let p99 = |curve: &Curve| Some(format!("{} {}", curve.choice, time(curve.at(99.0)?.of_all)));
    let told: Vec<String> = curves.iter().filter_map(p99).collect();
    if told.is_empty() { String::new() } else { format!("p99: {}", told.join(" · ")) }
}

fn charts(curves: &[Curve]) -> Vec<Piece> {
    if curves.is_empty() {
        return Vec::new();
    }
    let views = [(RANGE, Curve::range as fn(&Curve) -> _), (TAIL, Curve::tail)];
    views.into_iter().map(|(view, points)| Piece::Chart(chart(curves, &view, points))).collect()
}

fn chart(curves: &[Curve], view: &View, points: fn(&Curve) -> Vec<latency::Point>) -> Chart {
    let mut plots: Vec<Plot> = Vec::new();
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for curve in curves {
        let series = ink::Series::of(curve.series);
        let points = points(curve);
        let line: Vec<(f64, f64)> = points.iter().map(|point| ((view.place)(point.percent), point.of_all)).collect();
        least = points.iter().map(|point| point.least).fold(least, f64::min);
        most = points.iter().map(|point| point.greatest).fold(most, f64::max);
        if curve.origin == Origin::Percentiles {
            plots.push(ScatterPlot::new().with_data(line.clone()).with_color(series.colour).with_marker(series.mark).into());
        }
        let line = LinePlot::new()
            .with_data(line)
            .with_color(series.colour)
            .with_stroke_width(2.0)
            .with_line_style(series.line())
            .with_band(points.iter().map(|point| point.least), points.iter().map(|point| point.greatest));
        plots.push(line.into());
    }
    let tick = view.tick;
    let layout = ink::layout(view.x, (least * 0.9, most * 1.1), WIDTH, HEIGHT)
        .with_force_margins(76.0, 26.0)
        .with_log_y()
        .with_x_label(view.x_label)
        .with_x_tick_step(view.step)
        .with_x_tick_format(TickFormat::Custom(std::sync::Arc::new(tick)))
        .with_y_tick_format(TickFormat::Custom(std::sync::Arc::new(time)))
        .with_legend_entries(curves.iter().map(|curve| ink::Series::of(curve.series).entry(&curve.choice)).collect())
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    Chart::draw(view.kind, view.title, says(curves), plots, layout, table(curves))
}

fn time(ns: f64) -> String {
    answer::value(ns, "ns")
}

fn says(curves: &[Curve]) -> String {
    let one = |curve: &Curve| {
        let at = |percent: f64| curve.at(percent).map_or_else(|| "unknown".to_owned(), |point| time(point.of_all));
        format!("{}: half within {}, 99 % within {}", curve.choice, at(50.0), at(99.0))
    };
    format!("Latency over percentiles, on a logarithmic scale. {}.", curves.iter().map(one).collect::<Vec<_>>().join("; "))
}

fn table(curves: &[Curve]) -> Table {
    let mut table = Table::new(std::iter::once("percentile".to_owned()).chain(curves.iter().map(|it| it.choice.clone())));
    for percent in TABLE {
        let field = |curve: &Curve| {
            curve.at(percent).map_or_else(
                || "-".to_owned(),
                |it| format!("{} ({} to {})", time(it.of_all), time(it.least), time(it.greatest)),
            )
        };
        if curves.iter().any(|curve| curve.at(percent).is_some()) {
            table.row(std::iter::once(percent.to_string()).chain(curves.iter().map(field)));
        }
    }
    table
}
