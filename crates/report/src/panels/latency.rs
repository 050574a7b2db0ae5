//! The whole range of latencies: a curve for each choice, with its seeds as a band, from the least
//! latency to the greatest and far into the tail.

use disklab_compare::answer;
use itertools::Itertools;
use kuva::prelude::Plot;
use maud::html;

use crate::chart::coinciding::overlaps;
use crate::chart::{Chart, NumbersTable, ink};
use crate::latency::{self, Curve, Origin, RequestKind};
use crate::panel::{Nothing, Panel, Piece, of_groups};
use crate::source::ReportSource;

pub const PANEL: Panel = Panel {
    place: 40,
    name: "latency",
    title: "Latency distribution",
    pictures: "range, tail; of reads and writes: reads, reads-tail, writes, writes-tail",
    draw,
};

const HEIGHT: f64 = 330.0;
/// Percentile from which on the axis has room for latencies.
const FASTEST: f64 = 1.0;

/// A view of the latencies.
struct View {
    kind: &'static str,
    title: &'static str,
    x_label: &'static str,
    x: (f64, f64),
    step: f64,
    /// Position of a percentile on the axis.
    place: fn(f64) -> f64,
    tick: fn(f64) -> String,
    /// Percentiles of its table.
    table: &'static [f64],
}

const RANGE: View = View {
    kind: "range",
    title: "Latency of all requests",
    x_label: "percentile",
    x: (0.0, 100.0),
    step: 20.0,
    place: |percent| percent,
    tick: |x| format!("{x:.0}"),
    table: &[
        0.0, 1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 100.0,
    ],
};

const TAIL: View = View {
    kind: "tail",
    title: "The slowest requests",
    x_label: "percentile; each step is the slowest tenth of the one before",
    x: (0.0, latency::NINES),
    step: 1.0,
    place: latency::nines,
    tick: |x| {
        let percent = latency::percent_of_nines(x.round());
        format!("{}", (percent * 1e4).round() / 1e4)
    },
    table: &[0.0, 50.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95, 99.99],
};

const NONE: &str = "No trial has latencies: fio reported none, or its reports were removed.";

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let words = html! {
        p.says { "Each line is for all seeds of a choice together; the band around it reaches \
                  from the least to the greatest seed. Left: every request, the fastest first. \
                  Right: the slowest requests, where each step is a tenth of the requests of the \
                  step before, down to one request. Latencies below the axis are drawn at its \
                  lower edge; the table has their numbers." }
    };
    let mut any = false;
    let pieces = of_groups(source, words, NONE, |group| {
        let (mut pieces, mut summary) = (Vec::new(), Vec::new());
        let mut missing: Vec<String> = Vec::new();
        for &side in latency::sides(group) {
            let (curves, why) = latency::curves(source, group, side);
            any |= !curves.is_empty();
            pieces.extend(charts(&curves, side));
            summary.extend(medians(&curves, side));
            // An unreadable report lacks both sides.
            let told = missing.clone();
            missing.extend(why.into_iter().filter(|why| !told.contains(why)));
        }
        if !missing.is_empty() {
            pieces.push(Piece::Words(
                html! { ul.failures { @for sentence in &missing { li { (sentence) } } } },
            ));
        }
        Some((summary.join("; "), pieces))
    })?;
    if any { Ok(pieces) } else { Err(NONE.into()) }
}

/// Returns the percentiles of the curves: `p99 of all seeds together: pid 12 ms · queue 9.1 ms`.
/// Verdicts are about the median over seeds instead.
fn medians(curves: &[Curve], side: RequestKind) -> Option<String> {
    let p99 = |curve: &Curve| Some(format!("{} {}", curve.choice, time(curve.point(99.0)?.of_all)));
    let told: Vec<String> = curves.iter().filter_map(p99).collect();
    let whose = match side {
        RequestKind::All => "p99 of all seeds together",
        RequestKind::Reads => "p99 of reads, all seeds together",
        RequestKind::Writes => "p99 of writes",
    };
    (!told.is_empty()).then(|| format!("{whose}: {}", told.join(" · ")))
}

fn charts(curves: &[Curve], side: RequestKind) -> Vec<Piece> {
    if curves.is_empty() {
        return Vec::new();
    }
    let views = [(RANGE, Curve::range as fn(&Curve) -> _), (TAIL, Curve::tail)];
    views.map(|(view, points)| Piece::Chart(chart(curves, &view.for_side(side), points))).into()
}

impl View {
    fn for_side(self, side: RequestKind) -> Self {
        let [kind, title] = match (side, self.kind == RANGE.kind) {
            (RequestKind::All, _) => return self,
            (RequestKind::Reads, true) => ["reads", "Latency of all reads"],
            (RequestKind::Reads, false) => ["reads-tail", "The slowest reads"],
            (RequestKind::Writes, true) => ["writes", "Latency of all writes"],
            (RequestKind::Writes, false) => ["writes-tail", "The slowest writes"],
        };
        Self { kind, title, ..self }
    }
}

fn chart(curves: &[Curve], view: &View, points: fn(&Curve) -> Vec<latency::CurvePoint>) -> Chart {
    let mut plots: Vec<Plot> = Vec::new();
    let all: Vec<latency::CurvePoint> = curves.iter().flat_map(points).collect();
    // A single fastest request would stretch the axis. It begins at the fastest hundredth.
    let usual = all.iter().filter(|point| point.percent >= FASTEST);
    let positive = usual.flat_map(|point| [point.least, point.of_all]).filter(|ns| *ns > 0.0);
    let floor = positive.fold(f64::INFINITY, f64::min);
    let most = all.iter().map(|point| point.greatest).fold(1.0, f64::max);
    let floor = if floor.is_finite() { floor * 0.9 } else { most / 10.0 };
    // Latencies below that, and those of zero (from memory), are drawn at the lower edge of the
    // logarithmic scale.
    let drawn = |ns: f64| ns.max(floor);
    let places = |curve: &Curve| {
        let place =
            |point: &latency::CurvePoint| ((view.place)(point.percent), drawn(point.of_all).ln());
        points(curve).iter().map(place).collect()
    };
    let names = curves.iter().map(|curve| curve.choice.as_str());
    let places: Vec<(&str, Vec<(f64, f64)>)> = names.zip(curves.iter().map(places)).collect();
    let overlaps = overlaps(&places, (most * 1.1 / floor).ln());
    for (curve, overlap) in curves.iter().zip(&overlaps) {
        let series = ink::Series::numbered(curve.series);
        let points = points(curve);
        let line: Vec<(f64, f64)> =
            points.iter().map(|point| ((view.place)(point.percent), drawn(point.of_all))).collect();
        if curve.origin == Origin::Percentiles {
            plots.push(series.marks(line.clone()).into());
        }
        let line = series.line(line, 2.0 + overlap.wider).with_band(
            points.iter().map(|point| drawn(point.least)),
            points.iter().map(|point| drawn(point.greatest)),
        );
        plots.push(line.into());
    }
    let layout = ink::framed(view.x, (floor, most * 1.1), HEIGHT)
        .with_log_y()
        .with_x_label(view.x_label)
        .with_x_tick_step(view.step)
        .with_x_tick_format(ink::ticks(view.tick))
        .with_y_tick_format(ink::ticks(time));
    let names = curves
        .iter()
        .zip(&overlaps)
        .map(|(curve, overlap)| (curve.series, curve.choice.as_str(), overlap.note.as_str()));
    let layout = ink::with_legend(layout, (HEIGHT, ink::ROOM), names, ink::Series::entry);
    let (percents, table) = table(curves, view);
    let place = |percent| ink::LEFT + ((view.place)(percent) / view.x.1).min(1.0) * ink::ROOM;
    let places: Vec<f64> = percents.into_iter().map(place).collect();
    // The pointer shows the row with the nearest position.
    let edges = ink::edges(places.windows(2).map(|two| two[0].midpoint(two[1])));
    Chart::draw(view.kind, view.title, says(curves), plots, layout, table).with_edges(edges)
}

fn time(ns: f64) -> String {
    answer::value(ns, "ns")
}

fn says(curves: &[Curve]) -> String {
    let one = |curve: &Curve| {
        let at = |percent: f64| {
            curve.point(percent).map_or_else(|| "unknown".to_owned(), |point| time(point.of_all))
        };
        format!("{}: half within {}, 99 % within {}", curve.choice, at(50.0), at(99.0))
    };
    format!(
        "Latency over percentiles, on a logarithmic scale. {}.",
        curves.iter().map(one).join("; ")
    )
}

/// Returns the percentiles of a view that a curve has, and a row for each.
fn table(curves: &[Curve], view: &View) -> (Vec<f64>, NumbersTable) {
    let mut table = NumbersTable::new("percentile", curves.iter().map(|curve| &curve.choice));
    let mut percents = Vec::new();
    for &percent in view.table {
        let field = |curve: &Curve| {
            let Some(point) = curve.point(percent) else { return "-".to_owned() };
            let [all, least, most] = [point.of_all, point.least, point.greatest].map(time);
            format!("{all} ({least} to {most})")
        };
        if curves.iter().any(|curve| curve.point(percent).is_some()) {
            percents.push(percent);
            table.row(percent.to_string(), curves.iter().map(field));
        }
    }
    (percents, table)
}
