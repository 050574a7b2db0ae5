//! The picture of `disklab history`: a line for each cell over records of one suite.

use std::fmt::Write as _;

use disklab_compare::answer;
use disklab_stats::Verdict;
use maud::html;

use crate::chart::{Chart, NumbersTable, centred, ending, ink, number};

/// Sizes in pixels: the picture, a cell's line, its name, and the margins at the right, above and
/// below.
const WIDTH: f64 = 860.0;
const ROW: f64 = 64.0;
const LEFT: f64 = 220.0;
const RIGHT: f64 = 96.0;
const ABOVE: f64 = 12.0;
const BELOW: f64 = 40.0;
/// Largest number of letters in a name.
const NAME: usize = 30;
/// Least distance of two labels below the picture, in pixels.
const APART: f64 = 90.0;

/// A cell over the records.
#[derive(Debug, Clone, Default)]
pub struct HistoryLine {
    pub name: String,
    /// The points of the records, in their order.
    pub points: Vec<HistoryPoint>,
}

/// A cell in one record.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct HistoryPoint {
    /// The median over seeds, or None if the record has none.
    pub value: Option<f64>,
    pub verdict: Option<Verdict>,
    /// Whether a new level begins here.
    pub begins_level: bool,
}

/// Draws a line for each cell, on a scale of its own. `records` has a label for each record.
pub fn chart(title: &str, unit: &str, records: &[String], lines: &[HistoryLine]) -> Chart {
    let steps = records.len().saturating_sub(1).max(1) as f64;
    let x = |record: usize| LEFT + (WIDTH - LEFT - RIGHT) * record as f64 / steps;
    let bottom = ABOVE + lines.len() as f64 * ROW;
    let between = (WIDTH - LEFT - RIGHT) / steps;
    let every = (APART / between).ceil().max(1.0) as usize;
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            @for (record, word) in records.iter().enumerate().step_by(every) {
                path d={"M" (number(x(record))) " " (ABOVE) "V" (number(bottom + 4.0))}
                    stroke=(ink::GRID) {}
                (centred(x(record), bottom + 20.0, ink::shortened(word, 14)))
            }
            @for (row, line) in lines.iter().enumerate() {
                @let top = ABOVE + row as f64 * ROW;
                @if row > 0 { path d={"M0 " (number(top)) "H" (WIDTH)} stroke=(ink::GRID) {} }
                (ending(LEFT - 14.0, top + ROW / 2.0 + 4.0, ink::shortened(&line.name, NAME)))
                @let scale = RowScale::new(&line.points, top);
                @for (record, point) in line.points.iter().enumerate() {
                    @if point.begins_level {
                        path d={"M" (number(x(record) - between.min(24.0) / 2.0)) " "
                            (number(top + 4.0)) "V" (number(top + ROW - 4.0))}
                            stroke=(ink::LINE) stroke-dasharray="3 3" {
                            title { "a new level begins with " (records[record]) } }
                    }
                }
                path d=(way(&line.points, x, &scale)) fill="none" stroke=(ink::LINE)
                    stroke-width="1.5" {}
                @for (record, point) in line.points.iter().enumerate() {
                    @if let Some(value) = point.value {
                        circle cx=(number(x(record))) cy=(number(scale.y(value))) r="4"
                            fill=(colour(point.verdict)) {
                            title { (records[record]) ": " (answer::value(value, unit))
                                @if let Some(verdict) = point.verdict { ", " (verdict) } } }
                    }
                }
                @if let Some(value) = line.points.iter().rev().find_map(|point| point.value) {
                    text x=(number(WIDTH - RIGHT + 12.0)) y=(number(top + ROW / 2.0 + 4.0))
                        { (answer::value(value, unit)) }
                }
            }
        }
    };
    let says = format!(
        "A line for each of {} cells over {} records; each line has its own scale. Green points \
         are better and red points worse than the record that they are compared with. A dashed \
         line marks a new level.",
        lines.len(),
        records.len()
    );
    Chart::of_svg(
        "history",
        title,
        says,
        (WIDTH, bottom + BELOW),
        inner,
        table(unit, records, lines),
    )
}

/// Scale of one cell's line: from its least value to its greatest, at least 2 % apart, so that
/// noise does not look like a change.
struct RowScale {
    low: f64,
    high: f64,
    top: f64,
}

impl RowScale {
    fn new(points: &[HistoryPoint], top: f64) -> Self {
        let values = || points.iter().filter_map(|point| point.value);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        let least = high.abs().max(f64::MIN_POSITIVE) * 0.02;
        let more = ((least - (high - low)) / 2.0).max(0.0);
        Self { low: low - more, high: high + more, top }
    }

    fn y(&self, value: f64) -> f64 {
        let part = (value - self.low) / (self.high - self.low);
        self.top + ROW - 14.0 - part * (ROW - 28.0)
    }
}

/// Returns the path through all values. A record without a value divides it.
fn way(points: &[HistoryPoint], x: impl Fn(usize) -> f64, scale: &RowScale) -> String {
    let mut way = String::new();
    let mut pen = 'M';
    for (record, point) in points.iter().enumerate() {
        let Some(value) = point.value else {
            pen = 'M';
            continue;
        };
        // Writing to a string does not fail.
        let _ = write!(way, "{pen}{} {}", number(x(record)), number(scale.y(value)));
        pen = 'L';
    }
    way
}

const fn colour(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Better) => ink::GOOD,
        Some(Verdict::Worse) => ink::BAD,
        Some(Verdict::Same | Verdict::Undecided) | None => ink::LINE,
    }
}

fn table(unit: &str, records: &[String], lines: &[HistoryLine]) -> NumbersTable {
    let row = |line: &HistoryLine| {
        let value = |point: &HistoryPoint| {
            point.value.map_or_else(|| "-".to_owned(), |value| answer::value(value, unit))
        };
        std::iter::once(line.name.clone()).chain(line.points.iter().map(value)).collect()
    };
    NumbersTable {
        head: std::iter::once("cell".to_owned()).chain(records.iter().cloned()).collect(),
        rows: lines.iter().map(row).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Provenance;

    fn point(value: f64, verdict: Option<Verdict>) -> HistoryPoint {
        HistoryPoint { value: Some(value), verdict, begins_level: false }
    }

    #[test]
    fn each_cell_is_a_line_with_a_mark_for_each_record() {
        let line = HistoryLine {
            name: "hdd-raid1, pid".to_owned(),
            points: vec![
                point(100.0, None),
                HistoryPoint::default(),
                point(100.0, Some(Verdict::Same)),
                HistoryPoint { begins_level: true, ..point(50.0, Some(Verdict::Worse)) },
            ],
        };
        let records = ["1 Jan", "2 Jan", "3 Jan", "4 Jan"].map(str::to_owned);
        let drawn = chart("IOPS <by date>", "1/s", &records, std::slice::from_ref(&line));
        let provenance =
            Provenance { records: String::new(), command: String::new(), disklab: String::new() };
        let svg = drawn.standalone(&provenance);
        assert_eq!(svg.matches("<circle").count(), 3, "{svg}");
        assert!(svg.contains("IOPS &lt;by date&gt;") && svg.contains("hdd-raid1, pid"), "{svg}");
        assert!(svg.contains("a new level begins with 4 Jan"), "{svg}");
        // The line is divided where a record has no value.
        let scale = RowScale::new(&line.points, 0.0);
        assert_eq!(way(&line.points, |record| record as f64, &scale).matches('M').count(), 2);
    }

    #[test]
    fn equal_values_are_in_the_middle() {
        let scale = RowScale::new(&[point(0.0, None), point(0.0, None)], 0.0);
        assert!((scale.y(0.0) - ROW / 2.0).abs() < 1.0);
        let scale = RowScale::new(&[point(7.0, None)], 0.0);
        assert!((scale.y(7.0) - ROW / 2.0).abs() < 1.0);
    }
}
