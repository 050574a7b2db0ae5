//! Throughput against the p99.9 latency: the cells that no other cell beats in both.

use disklab_compare::{Metric, answer};
use disklab_record::outcome::Cell;
use disklab_units::prose::count;
use itertools::Itertools;
use kuva::plot::LinePlot;
use kuva::prelude::Plot;
use maud::html;

use crate::chart::{Chart, NumbersTable, ink};
use crate::panel::{Nothing, Panel, Piece, Section, with_words};
use crate::source::{CellChoice, ReportSource};
use crate::swept::{self, Cloud};
use crate::text::slug;

pub const PANEL: Panel = Panel {
    place: 34,
    name: "sweep-front",
    title: "Throughput against the slowest requests",
    pictures: "front",
    draw,
};

const HEIGHT: f64 = 330.0;
const THROUGHPUT: Metric = Metric::Iops;
const LATENCY: Metric = Metric::P999;

/// A cell with both numbers.
struct CellMark {
    series: usize,
    /// Numbers of the cell, and its value of the compared axis.
    name: String,
    throughput: f64,
    latency: f64,
    is_on_front: bool,
}

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let (cells, axes) = swept::over_numbers(source)?;
    let axes: Vec<&str> = axes.iter().map(String::as_str).collect();
    let series = swept::series(source, &axes);
    let clouds = swept::clouds(source, &cells, &axes);
    let all = clouds.iter().map(|cloud| (cloud, marks(cloud, &series)));
    let (sections, left) =
        swept::sections(all.filter(|(_, marks)| marks.len() > 1), |(cloud, marks), open| {
            section(cloud, &marks, &series, open)
        });
    if sections.is_empty() {
        return Err(
            "Fewer than two cells have IOPS and a p99.9, for which a trial needs 1000 requests."
                .into(),
        );
    }
    let words = html! {
        p.says { "Each mark is a cell, with the medians over its seeds. The line joins the cells \
                  that no other cell beats in both numbers: more requests per second than in one \
                  of these cells cost slower requests." }
        @if left > 0 { p { "Not drawn: " (count(left, "more picture")) "." } }
    };
    Ok(with_words(words, sections))
}

fn marks(cloud: &Cloud, series: &[&str]) -> Vec<CellMark> {
    let mark = |(own, numbers, choice): &(usize, Cell, &CellChoice)| {
        let own_name = series.get(*own).copied().unwrap_or_default();
        let numbers = numbers.0.iter().map(|(axis, value)| format!("{axis} {value}")).join(", ");
        let parts = [own_name, &numbers];
        Some(CellMark {
            series: *own,
            name: parts.into_iter().filter(|part| !part.is_empty()).join(", "),
            throughput: choice.spread(&THROUGHPUT)?.median,
            latency: choice.spread(&LATENCY)?.median,
            is_on_front: false,
        })
    };
    let mut marks: Vec<CellMark> = cloud.marks.iter().filter_map(mark).collect();
    let points: Vec<(f64, f64)> =
        marks.iter().map(|mark| (mark.throughput, mark.latency)).collect();
    for at in disklab_stats::front(&points, (THROUGHPUT.better([]), LATENCY.better([]))) {
        marks[at].is_on_front = true;
    }
    marks.sort_by(|one, other| one.throughput.total_cmp(&other.throughput));
    marks
}

fn section(cloud: &Cloud, marks: &[CellMark], series: &[&str], open: bool) -> Section {
    let front: Vec<&CellMark> = marks.iter().filter(|mark| mark.is_on_front).collect();
    let title = answer::title(&cloud.rest);
    let ends = [front.first(), front.last()]
        .map(|mark| mark.map(|mark| mark.name.as_str()).unwrap_or_default());
    let range = if front.len() > 1 {
        format!("{}: {} … {}", front.len(), ends[0], ends[1])
    } else {
        ends[0].to_owned()
    };
    Section {
        name: slug(&title),
        summary: format!("on the front {range}"),
        title,
        open,
        cell: cloud.rest.clone(),
        pieces: vec![Piece::Chart(chart(marks, &front, series))],
    }
}

fn chart(marks: &[CellMark], front: &[&CellMark], series: &[&str]) -> Chart {
    let most = |of: fn(&CellMark) -> f64| marks.iter().map(of).fold(1.0, f64::max);
    let least =
        marks.iter().map(|mark| mark.latency).filter(|ns| *ns > 0.0).fold(f64::INFINITY, f64::min);
    let floor = if least.is_finite() { least * 0.8 } else { 1.0 };
    let drawn = |mark: &CellMark| (mark.throughput, mark.latency.max(floor));
    let line = LinePlot::new()
        .with_data(front.iter().map(|mark| drawn(mark)).collect::<Vec<_>>())
        .with_color(ink::LINE)
        .with_stroke_width(1.5);
    let mut plots: Vec<Plot> = vec![line.into()];
    for (at, _) in series.iter().enumerate() {
        let own: Vec<&CellMark> = marks.iter().filter(|mark| mark.series == at).collect();
        if own.is_empty() {
            continue;
        }
        let points = ink::Series::numbered(at)
            .marks(own.iter().map(|mark| drawn(mark)).collect())
            .with_size(5.0)
            .with_tooltips()
            .with_tooltip_labels(own.iter().map(|mark| mark.name.clone()).collect::<Vec<_>>());
        plots.push(points.into());
    }
    let x = (0.0, most(|mark| mark.throughput) * 1.05);
    let y = (floor, most(|mark| mark.latency) * 1.25);
    let layout = ink::framed(x, y, HEIGHT)
        .with_log_y()
        .with_x_label("IOPS")
        .with_x_tick_format(ink::ticks(|iops| answer::value(iops, "1/s")))
        .with_y_tick_format(ink::ticks(|ns| answer::value(ns, "ns")));
    let names = series.iter().copied().enumerate();
    let names = names.map(|(at, name)| (at, name, ""));
    let layout = ink::with_legend(layout, (HEIGHT, ink::ROOM), names, ink::Series::mark_entry);
    let mut table = NumbersTable::new("cell", ["IOPS", "p99.9", "on the front"]);
    for mark in marks {
        let on = if mark.is_on_front { "yes" } else { "" };
        let (iops, p999) =
            (answer::value(mark.throughput, "1/s"), answer::value(mark.latency, "ns"));
        table.row(&mark.name, [iops, p999, on.to_owned()]);
    }
    let names: Vec<&str> = front.iter().map(|mark| mark.name.as_str()).collect();
    let says = format!(
        "p99.9 over IOPS of {}, on a logarithmic scale. On the front: {}.",
        count(marks.len(), "cell"),
        names.join("; ")
    );
    Chart::draw("front", "p99.9 over IOPS", says, plots, layout, table)
}
