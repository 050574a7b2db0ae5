//! Two trials in one picture: throughput of all disks of each, and their seeks, over time.

use disklab_trace::timeline::{DiskTimeline, TimelineBin};
use disklab_units::prose::digits;
use itertools::Itertools;
use kuva::prelude::Plot;
use maud::html;

use crate::chart::{Chart, NumbersTable, ink};
use crate::over_time::{DRAWN, DiskMeasure, LEFT, SEEKS, THROUGHPUT, over_seconds};
use crate::panel::{Nothing, Panel, Piece, with_words};
use crate::source::ReportSource;
use crate::to_watch::{Reading, pair};
use crate::watched::{Detail, WatchedTrial};

pub const PANEL: Panel = Panel {
    place: 55,
    name: "together",
    title: "Two trials in one picture",
    pictures: "seeks, throughput",
    draw,
};

/// Number of rows of a table: stretches of time.
const STRETCHES: u32 = 12;

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let mut reading = Reading::new(0);
    let pair = pair(source, &mut reading);
    let both = reading.drawn(pair, |_| Detail::Usual);
    let [one, other] = both.as_slice() else {
        return Err(if both.is_empty() {
            reading.why_nothing().into()
        } else {
            "Only one trial has a trace that can be shown, and two are needed.".into()
        });
    };
    let words = html! {
        p { "The two trials above on the same axes, all disks of each added up. " (one.label)
            " and " (other.label) "." }
        (reading.not_shown())
    };
    let names = told_apart(&one.label, &other.label);
    let sides = [one, other].into_iter().zip(names);
    let sides: Vec<JoinedTrial> =
        sides.map(|(trial, name)| JoinedTrial::new(trial, name)).collect();
    let charts = [SEEKS, THROUGHPUT].map(|measure| Piece::Chart(lines(&measure, &sides)));
    Ok(with_words(words, charts))
}

/// Returns the parts in which two ids differ; the whole ids if they have other parts, or no
/// difference.
fn told_apart(one: &str, other: &str) -> [String; 2] {
    let [first, second] = [one, other].map(|label| label.split('+').collect::<Vec<_>>());
    let differ = first.iter().zip(&second).filter(|(one, other)| one != other);
    let (own, others): (Vec<&str>, Vec<&str>) = differ.unzip();
    if first.len() == second.len() && !own.is_empty() {
        [own.join("+"), others.join("+")]
    } else {
        [one.to_owned(), other.to_owned()]
    }
}

/// A trial with all its disks as one.
struct JoinedTrial {
    name: String,
    /// Time of each stretch, in s of the measurement, and the work of all disks in it.
    bins: Vec<(f64, TimelineBin)>,
    seconds: f64,
    /// Phases of the measurement, with their begin and end in s. The list is empty if the
    /// measurement has no phases of its own.
    phases: Vec<(String, f64, f64)>,
}

impl JoinedTrial {
    fn new(trial: &WatchedTrial, name: String) -> Self {
        let disks = &trial.line.disks;
        let bins = 0..trial.line.bins.count;
        let bins = bins.map(|bin| (trial.middle(bin), added_up(disks, bin))).collect();
        Self { name, bins, seconds: trial.seconds, phases: trial.phases.clone() }
    }

    /// Returns the end of each phase but the last, in s.
    fn boundaries(&self) -> impl Iterator<Item = f64> {
        let inner = self.phases.len().saturating_sub(1);
        self.phases.iter().take(inner).map(|(_, _, to)| *to)
    }

    /// Describes the phases with the end of each, or is None if there is only one.
    fn phases_in_words(&self) -> Option<String> {
        let end = |(name, _, to): &(String, f64, f64)| format!("{name} to {} s", digits(*to));
        let ends = self.phases.iter().map(end).join(", ");
        (!ends.is_empty()).then(|| format!("{}: {ends}", self.name))
    }

    /// Joins the stretches between two moments. Returns `None` if there are none.
    fn between(&self, from: f64, to: f64) -> Option<TimelineBin> {
        let own = self.bins.iter().filter(|(at, _)| (from..to).contains(at));
        let own: Vec<TimelineBin> = own.map(|(_, bin)| *bin).collect();
        (!own.is_empty()).then(|| TimelineBin::joined(&own))
    }
}

/// Adds up all disks in one stretch of time.
fn added_up(disks: &[DiskTimeline], at: usize) -> TimelineBin {
    let own: Vec<TimelineBin> =
        disks.iter().filter_map(|disk| disk.bins.get(at)).copied().collect();
    TimelineBin { length: own.first().map_or(0, |bin| bin.length), ..TimelineBin::joined(&own) }
}

fn lines(measure: &DiskMeasure, sides: &[JoinedTrial]) -> Chart {
    let seconds = sides.iter().map(|side| side.seconds).fold(0.0, f64::max);
    let bins = sides.iter().flat_map(|side| &side.bins);
    let most = bins.map(|(_, bin)| (measure.of)(bin)).fold(0.0, f64::max);
    let top = (most * 1.05).max(0.01);
    let points = sides
        .iter()
        .map(|side| side.bins.iter().map(|(middle, bin)| (*middle, (measure.of)(bin))).collect());
    let names: Vec<String> = sides.iter().map(|side| side.name.clone()).collect();
    let (mut plots, layout) =
        over_seconds(&names, points, (seconds, top), "s of what was measured");
    plots.extend(boundaries(sides, top));
    let whole = |side: &JoinedTrial| {
        let all: Vec<TimelineBin> = side.bins.iter().map(|(_, bin)| *bin).collect();
        let (mean, length) = ((measure.of)(&TimelineBin::joined(&all)), digits(side.seconds));
        format!("{} {} over {length} s", side.name, digits(mean))
    };
    let DiskMeasure { title, unit, .. } = measure;
    let all = sides.iter().map(whole).join("; ");
    let says = format!("{title} of all disks together, {unit}: {all}");
    let title = format!("{title} of all disks ({unit})");
    let mut chart =
        Chart::draw(measure.kind, title, says, plots, layout, table(measure, sides, seconds));
    let phases = sides.iter().filter_map(JoinedTrial::phases_in_words).join("; ");
    if !phases.is_empty() {
        chart.note = format!("Upright lines end phases, each in its trial's colour. {phases}.");
    }
    chart.with_edges(
        (0..=STRETCHES).map(|at| LEFT + DRAWN * f64::from(at) / f64::from(STRETCHES)).collect(),
    )
}

/// Draws a vertical line at the end of each phase but the last.
fn boundaries(sides: &[JoinedTrial], top: f64) -> Vec<Plot> {
    let line = |index: usize, end: f64| {
        Plot::Line(ink::Series::numbered(index).line(vec![(end, 0.0), (end, top)], 0.8))
    };
    let ends = sides.iter().enumerate();
    ends.flat_map(|(index, side)| side.boundaries().map(move |end| line(index, end))).collect()
}

/// Builds a table with a row for each stretch of time and a column for each trial. After a trial's
/// end its cells are empty.
fn table(measure: &DiskMeasure, sides: &[JoinedTrial], seconds: f64) -> NumbersTable {
    let mut table = NumbersTable::new("s", sides.iter().map(|side| &side.name));
    let edge = |at: u32| seconds * f64::from(at) / f64::from(STRETCHES);
    for at in 0..STRETCHES {
        let (from, to) = (edge(at), edge(at + 1));
        let field = |side: &JoinedTrial| {
            side.between(from, to).map_or_else(String::new, |bin| digits((measure.of)(&bin)))
        };
        let name = format!("{} to {}", digits(from), digits(to));
        table.row(name, sides.iter().map(field));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(name: &str, seconds: u32, seeks: u64) -> JoinedTrial {
        let bin = |_| TimelineBin {
            length: 1_000_000_000,
            seeks,
            read_bytes: 10 << 20,
            ..TimelineBin::default()
        };
        let bins = (0..seconds).map(|at| (f64::from(at) + 0.5, bin(at))).collect();
        JoinedTrial { name: name.to_owned(), bins, seconds: f64::from(seconds), phases: Vec::new() }
    }

    #[test]
    fn disks_are_added_up_in_the_same_time() {
        let disk = |seeks| DiskTimeline {
            bins: vec![TimelineBin { length: 500, seeks, ..TimelineBin::default() }],
            reads: disklab_trace::timeline::Raster { columns: 1, cells: vec![0] },
            writes: disklab_trace::timeline::Raster { columns: 1, cells: vec![0] },
        };
        let sum = added_up(&[disk(3), disk(4)], 0);
        assert_eq!((sum.length, sum.seeks), (500, 7));
    }

    #[test]
    fn two_of_other_lengths_are_on_one_axis_and_the_shorter_one_has_no_numbers_later() {
        let sides = [side("short", 12, 5), side("<long>", 24, 8)];
        let chart = lines(&SEEKS, &sides);
        assert!(
            chart.says.ends_with("short 5.00 over 12.0 s; <long> 8.00 over 24.0 s"),
            "{}",
            chart.says
        );
        assert_eq!(chart.table.rows.len(), 12);
        assert_eq!(chart.table.rows[0], ["0 to 2.00", "5.00", "8.00"]);
        assert_eq!(chart.table.rows[6], ["12.0 to 14.0", "", "8.00"]);
        let drawn = chart.figure("it").into_string();
        assert!(drawn.contains("&lt;long&gt;") && !drawn.contains("<long>"));
        assert!(lines(&THROUGHPUT, &sides).says.contains("short 10.0 over"));
    }

    #[test]
    fn phases_are_told_and_their_ends_marked() {
        let plain = lines(&SEEKS, &[side("one", 12, 5), side("two", 12, 8)]);
        assert_eq!(plain.note, "");
        let phases = [("create", 0.0, 8.0), ("read", 8.0, 12.0)];
        let phases = phases.map(|(name, from, to)| (name.to_owned(), from, to)).to_vec();
        let sides = [JoinedTrial { phases, ..side("one", 12, 5) }, side("two", 12, 8)];
        let chart = lines(&SEEKS, &sides);
        assert!(chart.note.ends_with("one: create to 8.00 s, read to 12.0 s."), "{}", chart.note);
        assert_eq!(boundaries(&sides, 1.0).len(), 1);
        let ways = |chart: &Chart| chart.figure("it").into_string().matches("<path").count();
        assert_eq!(ways(&chart), ways(&plain) + 1);
    }

    #[test]
    fn names_are_what_tells_trials_apart() {
        assert_eq!(told_apart("raid0+two-files+s1", "raid1+two-files+s1"), ["raid0", "raid1"]);
        assert_eq!(told_apart("a+b", "a+b+c"), ["a+b", "a+b+c"]);
        assert_eq!(told_apart("a+b", "a+b"), ["a+b", "a+b"]);
    }
}
