//! A number over time, a line for each disk or each trial.

use disklab_trace::timeline::{DiskTimeline, TimelineBin};
use disklab_units::prose::digits;
use itertools::Itertools;
use kuva::prelude::{Layout, Plot};
use kuva::render::annotations::{ShadedRegion, TextAnnotation};

use super::frame::{DRAWN, LEFT, table};
use super::measure::DiskMeasure;
use super::scale::Scale;
use crate::chart::coinciding::{LineOverlap, overlaps};
use crate::chart::{Chart, WIDTH, ink};
use crate::watched::WatchedTrial;

const HEIGHT: f64 = 225.0;

/// Draws lines over seconds, with a legend below them. `most` holds the ends of the axes.
pub fn over_seconds(
    names: &[String],
    lines: impl Iterator<Item = Vec<(f64, f64)>>,
    most: (f64, f64),
    x_label: &str,
) -> (Vec<Plot>, Layout) {
    let lines: Vec<(&str, Vec<(f64, f64)>)> = names.iter().map(String::as_str).zip(lines).collect();
    let overlaps = overlaps(&lines, most.1);
    let line = |(index, ((_, points), overlap)): (usize, ((&str, Vec<_>), &LineOverlap))| {
        Plot::Line(ink::Series::numbered(index).line(points, 1.3 + overlap.wider))
    };
    let layout = ink::layout((0.0, most.0), (0.0, most.1), WIDTH, HEIGHT)
        .with_force_margins(LEFT, WIDTH - LEFT - DRAWN)
        .with_x_label(x_label);
    // The margin has room for five digits.
    let layout = if most.1 < 100_000.0 {
        layout
    } else {
        layout.with_y_tick_format(ink::ticks(|number| format!("{}k", digits(number / 1000.0))))
    };
    let notes = overlaps.iter().map(|overlap| overlap.note.as_str());
    let series = names.iter().zip(notes).enumerate();
    let series = series.map(|(index, (name, note))| (index, name.as_str(), note));
    let layout = ink::with_legend(layout, (HEIGHT, DRAWN), series, ink::Series::entry);
    (lines.into_iter().zip(&overlaps).enumerate().map(line).collect(), layout)
}

/// Draws a line for each disk of a trial.
pub fn lines(
    measure: &DiskMeasure,
    top: f64,
    trial: &WatchedTrial,
    side: &str,
    scale: &Scale,
) -> Chart {
    let WatchedTrial { line, names, .. } = trial;
    let points = line.disks.iter().map(|disk| {
        let bins = disk.bins.iter().enumerate();
        bins.map(|(index, bin)| (trial.middle(index), (measure.of)(bin))).collect()
    });
    let (plots, mut layout) =
        over_seconds(names, points, (scale.seconds, top), "s of the measured phase");
    // Every other phase is shaded, so that its end is visible.
    for (index, (name, from, to)) in trial.phases.iter().enumerate() {
        if index % 2 == 1 {
            let region = ShadedRegion::vertical(*from, *to);
            layout = layout.with_shaded_region(region.with_color(ink::GRID).with_opacity(0.4));
        }
        if scale.has_room(*from, *to) {
            let name = TextAnnotation::new(name.as_str(), from.midpoint(*to), top * 0.96);
            layout = layout.with_annotation(name);
        }
    }
    if trial.cut {
        let region = ShadedRegion::vertical(trial.traced(), scale.seconds);
        layout = layout.with_shaded_region(region.with_color(ink::GRID).with_opacity(1.0));
        if let Some((middle, words)) = scale.missing(trial) {
            layout = layout.with_annotation(TextAnnotation::new(words, middle, top / 2.0));
        }
    }
    let whole = |(disk, name): (&DiskTimeline, &String)| {
        format!("{name} {}", digits((measure.of)(&TimelineBin::joined(&disk.bins))))
    };
    let whole = line.disks.iter().zip(names).map(whole).join(", ");
    let over = if trial.cut { "as far as the trace goes" } else { "over the whole phase" };
    let says = format!("{} of each disk in {}, {over}: {whole}", measure.title, measure.unit);
    let title = format!("{} ({})", measure.title, measure.unit);
    let table = table(trial, |bin| digits((measure.of)(bin)));
    let chart = Chart::draw(&format!("{side}-{}", measure.kind), title, says, plots, layout, table);
    scale.finish(chart, trial)
}
