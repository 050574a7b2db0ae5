//! Pictures of one trial over time: lines for each disk, and where its requests were.

mod scale;
mod strips;
mod table;

pub use scale::Scale;

use disklab_trace::Timeline;
use disklab_trace::timeline::{DiskTimeline, TimelineBin};
use disklab_units::prose::digits;
use kuva::prelude::{LegendPosition, LinePlot, Plot};
use kuva::render::annotations::{ShadedRegion, TextAnnotation};

use crate::addresses::{Beyond, Reach};
use crate::chart::{Chart, WIDTH, ink};
use crate::traces::Detail;
use table::{stretches, table};

pub const HEIGHT: f64 = 225.0;
/// Of each further row of the legend; and disks in a row.
const LEGEND: f64 = 18.0;
const IN_A_ROW: usize = 5;
/// Pixels left of what is drawn, and its width: all pictures of a trial stand under each other.
pub const LEFT: f64 = 52.0;
pub const DRAWN: f64 = 330.0;
/// The part of the width that the name of a phase needs.
const ROOM_FOR_A_NAME: f64 = 0.12;
const MIB: f64 = (1 << 20) as f64;

/// A trial of which there is a trace.
#[derive(Debug)]
pub struct Watched {
    pub label: String,
    /// Of the disks.
    pub names: Vec<String>,
    pub line: Timeline,
    /// By disk: the sectors that the rows of its rasters are of.
    pub frames: Vec<Reach>,
    /// By disk: what is beyond the upper edge and the lower.
    pub beyond: Vec<[Beyond; 2]>,
    pub detail: Detail,
    /// Its trace ends before the phase does.
    pub cut: bool,
    /// Of the whole phase, as far as it is known.
    pub seconds: f64,
    /// Those that what was measured is made of, from when to when, s; none where it is one.
    pub phases: Vec<(String, f64, f64)>,
}

impl Watched {
    /// So far the trace goes.
    pub fn told(&self) -> f64 {
        (self.line.bins.end - self.line.bins.begin) as f64 / 1e9
    }

    /// What it is called under a picture.
    fn about(&self) -> String {
        let phase = |(name, from, to): &(String, f64, f64)| {
            format!("{name} {} to {} s", digits(*from), digits(*to))
        };
        if !self.cut && !self.phases.is_empty() {
            let phases: Vec<_> = self.phases.iter().map(phase).collect();
            return format!("{}: {}", self.label, phases.join(", "));
        }
        if self.cut {
            format!("{}, cut off: its trace ends after {} s", self.label, digits(self.told()))
        } else {
            self.label.clone()
        }
    }
}

/// A number of a disk over time.
pub struct Measure {
    pub kind: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub of: fn(&TimelineBin) -> f64,
}

pub const THROUGHPUT: Measure = Measure {
    kind: "throughput",
    title: "Throughput",
    unit: "MiB/s",
    of: |bin| bin.per_second(bin.read_bytes + bin.write_bytes) / MIB,
};

pub const SEEKS: Measure =
    Measure { kind: "seeks", title: "Seeks", unit: "1/s", of: |bin| bin.per_second(bin.seeks) };

const MEASURES: [Measure; 4] = [
    THROUGHPUT,
    SEEKS,
    Measure { kind: "depth", title: "Queue depth", unit: "requests", of: TimelineBin::mean_depth },
    Measure {
        kind: "utilisation",
        title: "Utilisation",
        unit: "%",
        of: |bin| bin.utilisation() * 100.0,
    },
];

/// The kind of each begins with `side`.
pub fn pictures(it: &Watched, side: &str, scale: &Scale) -> Vec<Chart> {
    let mut charts: Vec<Chart> = MEASURES
        .iter()
        .zip(&scale.tops)
        .map(|(measure, top)| lines(measure, *top, it, side, scale))
        .collect();
    charts.push(strips::addresses(it, side, scale));
    charts
}

fn lines(measure: &Measure, top: f64, it: &Watched, side: &str, scale: &Scale) -> Chart {
    let Watched { line, names, .. } = it;
    let middle = |bin: usize| {
        let edges = line.bins.edge(bin).midpoint(line.bins.edge(bin + 1));
        (edges - line.bins.begin) as f64 / 1e9
    };
    let plot = |(index, disk): (usize, &DiskTimeline)| {
        let series = ink::Series::of(index);
        let points: Vec<(f64, f64)> =
            disk.bins.iter().enumerate().map(|(at, bin)| (middle(at), (measure.of)(bin))).collect();
        let plot =
            LinePlot::new().with_data(points).with_color(series.colour).with_stroke_width(1.3);
        Plot::Line(plot.with_line_style(series.line()))
    };
    let plots = line.disks.iter().enumerate().map(plot).collect();
    let legend = names.len().saturating_sub(1) / IN_A_ROW;
    let height = HEIGHT + legend as f64 * LEGEND;
    let mut layout = ink::layout((0.0, scale.seconds), (0.0, top), WIDTH, height)
        .with_force_margins(LEFT, WIDTH - LEFT - DRAWN)
        .with_x_label("s of the measured phase")
        .with_legend_entries(
            names.iter().enumerate().map(|(at, name)| ink::Series::of(at).entry(name)).collect(),
        )
        .with_legend_position(LegendPosition::OutsideBottomColumns);
    // Every other one is shaded, so that where one ends is seen.
    for (at, (name, from, to)) in it.phases.iter().enumerate() {
        if at % 2 == 1 {
            let region = ShadedRegion::vertical(*from, *to);
            layout = layout.with_shaded_region(region.with_color(ink::GRID).with_opacity(0.4));
        }
        if (to - from) / scale.seconds.max(1e-9) >= ROOM_FOR_A_NAME {
            layout = layout.with_annotation(TextAnnotation::new(
                name.as_str(),
                from.midpoint(*to),
                top * 0.96,
            ));
        }
    }
    if it.cut {
        let region = ShadedRegion::vertical(it.told(), scale.seconds);
        layout = layout.with_shaded_region(region.with_color(ink::GRID).with_opacity(1.0));
        if let Some((middle, words)) = missing(it, scale) {
            layout = layout.with_annotation(TextAnnotation::new(words, middle, top / 2.0));
        }
    }
    let whole = line.disks.iter().zip(names).map(|(disk, name)| {
        format!("{name} {}", digits((measure.of)(&TimelineBin::joined(&disk.bins))))
    });
    let over = if it.cut { "as far as the trace goes" } else { "over the whole phase" };
    let says = format!(
        "{} of each disk in {}, {over}: {}",
        measure.title,
        measure.unit,
        whole.collect::<Vec<_>>().join(", ")
    );
    let title = format!("{} ({})", measure.title, measure.unit);
    let table = table(line, names, &|bin| digits((measure.of)(bin)));
    let chart = Chart::draw(&format!("{side}-{}", measure.kind), title, says, plots, layout, table);
    finished(chart, it, scale)
}

/// Where, in s, and what is written in the place of what a trace that was cut off does not tell;
/// `None` where it has no room.
fn missing(it: &Watched, scale: &Scale) -> Option<(f64, &'static str)> {
    let part = (scale.seconds - it.told()) / scale.seconds.max(1e-9);
    (part >= 0.25).then(|| (it.told().midpoint(scale.seconds), "not in the trace"))
}

/// Where on the width a moment of the phase stands.
fn place(seconds: f64, scale: &Scale) -> f64 {
    LEFT + DRAWN * seconds / scale.seconds.max(1e-9)
}

/// With what it is about, and where the rows of its table are.
fn finished(mut chart: Chart, it: &Watched, scale: &Scale) -> Chart {
    chart.about = it.about();
    if scale.one_of_several {
        chart.about = format!("{}; its axis is {} s long", chart.about, digits(scale.seconds));
    }
    let line = &it.line;
    let at = |edge: usize| place((line.bins.edge(edge) - line.bins.begin) as f64 / 1e9, scale);
    let edges =
        std::iter::once(0).chain(stretches(line).into_iter().map(|(_, to)| to)).map(at).collect();
    chart.with_edges(edges)
}

/// 1, 2 or 5 times a power of ten, of which four to eight fit.
fn tick_step(most: f64) -> f64 {
    let power = 10_f64.powf((most.max(1e-9) / 8.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|it| it * power)
        .find(|step| most / step <= 8.0)
        .unwrap_or(power)
}

/// With as many places after the point as multiples of `step` have.
fn short(value: f64, step: f64) -> String {
    let places = (-step.log10().floor()).max(0.0) as usize;
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use disklab_disks::Op;
    use disklab_trace::timeline::Shape;
    use disklab_trace::{Served, Survey, TraceEntry, TracePhase};

    use super::*;

    fn watched() -> Watched {
        let read = |at: u64| {
            let (submitted, ended) = (at * 10_000_000, at * 10_000_000 + 5_000_000);
            let served = Served {
                disk: 0,
                op: Op::Read,
                fua: false,
                sector: at * 100,
                sectors: 2048,
                submitted,
                started: submitted,
                ended,
            };
            Ok(TraceEntry::Served(served))
        };
        let entries = || (0..100).map(read);
        let survey = Survey::of(entries());
        let entries_of = 0..u64::MAX;
        let phase = TracePhase {
            name: "measure".to_owned(),
            begin: 0,
            end: 1_000_000_000,
            ramp: 1,
            entries: entries_of,
            cut: false,
        };
        let line =
            Timeline::of(entries(), &survey, &phase, Shape { bins: 24, columns: 8, rows: 4 })
                .unwrap();
        Watched {
            label: "a trial".to_owned(),
            names: vec!["<b>vda".to_owned()],
            line,
            frames: vec![(1 << 20, 5 << 20)],
            beyond: vec![[
                Beyond {
                    writes: 2,
                    from: 1 << 29,
                    to: 1 << 29,
                    columns: vec![3],
                    ..Beyond::default()
                },
                Beyond::default(),
            ]],
            detail: Detail::Fine,
            cut: false,
            seconds: 1.0,
            phases: Vec::new(),
        }
    }

    #[test]
    fn pictures_have_their_numbers_in_tables_and_names_as_text() {
        let it = watched();
        let charts = pictures(&it, "a", &Scale::of_each(std::slice::from_ref(&it))[0]);
        let kinds: Vec<_> = charts.iter().map(|chart| chart.kind.as_str()).collect();
        assert_eq!(kinds, ["a-throughput", "a-seeks", "a-depth", "a-utilisation", "a-addresses"]);
        // 100 reads of 1 MiB in a second, half of the time at the disk, none where the one before
        // ended.
        for (chart, whole) in charts.iter().zip(["100", "99.0", "0.50", "50.0"]) {
            assert!(chart.says.ends_with(&format!("<b>vda {whole}")), "{}", chart.says);
            assert_eq!((chart.table.rows.len(), chart.table.head.len()), (12, 2));
        }
        let drawn: String =
            charts.iter().map(|chart| chart.figure(&chart.kind).into_string()).collect();
        assert!(drawn.contains("&lt;b&gt;vda") && !drawn.contains("<b>vda"));
        assert!(drawn.contains("data:image/png;base64,iVBORw0KGgo"));
        assert!(drawn.contains(">2.5</text>") && drawn.contains(">0.5</text>"), "{drawn}");
        // What is beyond is marked and told.
        assert!(drawn.contains("▲ 2</text>"), "{drawn}");
        assert!(charts[4].note.contains("<b>vda 2 writes at 256 GiB"), "{}", charts[4].note);
        assert_eq!(drawn.matches("class=\"fine\"").count(), 1);
    }

    #[test]
    fn what_a_cut_trace_does_not_tell_is_said_in_its_place() {
        let whole = watched();
        let cut = Watched { cut: true, seconds: 4.0, ..watched() };
        let scale =
            Scale { seconds: 4.0, ..Scale::of_each(std::slice::from_ref(&whole))[0].clone() };
        for (it, is_cut) in [(&whole, false), (&cut, true)] {
            for chart in pictures(it, "a", &scale) {
                let drawn = chart.figure("a").into_string();
                assert_eq!(drawn.contains(">not in the trace</text>"), is_cut, "{drawn}");
                assert_eq!(
                    chart.about.ends_with("cut off: its trace ends after 1.00 s"),
                    is_cut,
                    "{}",
                    chart.about
                );
            }
        }
    }

    #[test]
    fn phases_are_told_and_named_where_they_have_room() {
        let phases = [("create", 0.0, 0.6), ("read", 0.6, 0.95), ("mount", 0.95, 1.0)];
        let phases = phases.map(|(name, from, to)| (name.to_owned(), from, to)).to_vec();
        let it = Watched { phases, ..watched() };
        for chart in pictures(&it, "a", &Scale::of_each(std::slice::from_ref(&it))[0]) {
            assert!(
                chart.about.starts_with("a trial: create 0 to 0.60 s, read 0.60 to"),
                "{}",
                chart.about
            );
            let drawn = chart.figure("a").into_string();
            let named = [">create</text>", ">read</text>", ">mount</text>"]
                .map(|name| drawn.contains(name));
            assert_eq!(named, [true, true, false], "{}", chart.kind);
        }
    }

    /// As in a cell of hard disks and SSDs.
    #[test]
    fn a_short_trial_is_not_on_the_axis_of_long_ones() {
        let all = [20.0, 0.3, 19.0, 0.31].map(|seconds| Watched { seconds, ..watched() });
        let scales = Scale::of_each(&all);
        let of = |number: usize| scales.iter().map(|it| it.number == number).collect::<Vec<_>>();
        assert_eq!(
            scales.iter().map(|it| it.seconds).collect::<Vec<_>>(),
            [20.0, 0.31, 20.0, 0.31]
        );
        assert_eq!(
            (of(0), of(1)),
            (vec![false, true, false, true], vec![true, false, true, false])
        );
        for chart in pictures(&all[1], "a", &scales[1]) {
            assert_eq!(chart.about, "a trial; its axis is 0.31 s long");
        }
        let alike = [20.0, 19.0].map(|seconds| Watched { seconds, ..watched() });
        let scales = Scale::of_each(&alike);
        assert_eq!(scales[0], scales[1]);
        assert_eq!(pictures(&alike[1], "a", &scales[1])[0].about, "a trial");
    }
}
