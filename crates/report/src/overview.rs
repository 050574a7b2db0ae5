//! All cells in one picture: each one's change against the baseline, a row for each choice. Shapes tell verdicts to those who
//! see no colours.

use disklab_compare::{Judgement, Metric, answer};
use disklab_stats::Verdict;
use maud::{Markup, html};

use crate::chart::{Chart, Table, WIDTH, ink, number};
use crate::source::Source;

/// Pixels: of a letter of a name, above and below the rows, and beside them.
const LETTER: f64 = 7.4;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 44.0;
const RIGHT: f64 = 16.0;
/// Pixels of a cell within its row, and of a row at least and at most.
const CELL: f64 = 5.0;
const ROW: (f64, f64) = (28.0, 84.0);
/// Letters of a name at most.
const NAME: usize = 18;
/// Changes, in per cent, that the axis may be marked with, the more important first.
const TICKS: [f64; 23] = [
    0.0, 100.0, -50.0, 900.0, -90.0, 10.0, -10.0, 50.0, 20.0, -20.0, 400.0, -80.0, 2.0, -2.0, 5.0, -5.0,
    25.0, -25.0, 200.0, -75.0, 1900.0, 1.0, -1.0,
];
/// Pixels between two of them, at least.
const APART: f64 = 48.0;

/// `None` where nothing is held against anything in this metric.
pub fn overview(source: &Source, metric: &Metric) -> Option<Chart> {
    let baseline = source.baseline.as_deref()?;
    let rows: Vec<(&str, Vec<(usize, &Judgement)>)> = source
        .choices()
        .into_iter()
        .filter(|choice| *choice != baseline)
        .map(|choice| (choice, cells(source, choice, metric)))
        .filter(|(_, cells)| !cells.is_empty())
        .collect();
    let axis = Axis::of(&rows)?;
    let each = (source.groups.len() as f64 * CELL + 8.0).clamp(ROW.0, ROW.1);
    let bottom = ABOVE + rows.len() as f64 * each;
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            (key())
            @for percent in axis.ticks() {
                @let x = number(axis.x(percent));
                path d={"M" (x) " " (ABOVE - 4.0) "V" (number(bottom + 4.0))} stroke=(if percent == 0.0 { ink::LINE } else { ink::GRID }) {}
                text x=(x) y=(number(bottom + 18.0)) text-anchor="middle" { (tick(percent)) }
            }
            @for (at, (choice, cells)) in rows.iter().enumerate() {
                @let top = ABOVE + at as f64 * each;
                @if at > 0 { path d={"M0 " (number(top)) "H" (WIDTH)} stroke=(ink::GRID) {} }
                text x=(number(axis.left - 8.0)) y=(number(top + each / 2.0 + 4.0)) text-anchor="end" { (ink::shortened(choice, NAME)) }
                @for (group, it) in cells {
                    @let y = top + each * (*group as f64 + 0.5) / source.groups.len() as f64;
                    (mark(source, *group, it, &axis, y))
                }
            }
            text x=(number(axis.left.midpoint(axis.right))) y=(number(bottom + 36.0)) text-anchor="middle" {
                (metric.name()) ", change against " (ink::shortened(baseline, NAME))
            }
        }
    };
    let title = format!("{} of all cells", metric.name());
    let says = source.sentences().join(". ") + ". A mark is a cell, the line through it its interval.";
    let table = table(source, &rows);
    let size = (WIDTH, bottom + BELOW);
    Some(Chart::of_svg("overview", title, says, size, inner.into_string(), table))
}

/// Of one choice, with the places of their groups.
fn cells<'s>(source: &'s Source, choice: &str, metric: &Metric) -> Vec<(usize, &'s Judgement)> {
    let of = |(at, group)| Some((at, source.judgement(group, choice, metric)?));
    let judged = source.groups.iter().enumerate().filter_map(of);
    judged.filter(|(_, it)| it.change.is_some_and(|change| change.percent.is_finite())).collect()
}

/// Changes along the width: twice and half are equally far from none.
struct Axis {
    left: f64,
    right: f64,
    /// Logarithms of the least and the greatest ratio.
    from: f64,
    to: f64,
}

fn ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-3).ln()
}

impl Axis {
    fn of(rows: &[(&str, Vec<(usize, &Judgement)>)]) -> Option<Self> {
        let changes = rows.iter().flat_map(|(_, cells)| cells).filter_map(|(_, it)| it.change);
        let ratios: Vec<f64> = changes.map(|change| ratio(change.percent)).collect();
        if ratios.is_empty() {
            return None;
        }
        let (least, most) = ratios.iter().fold((0.0_f64, 0.0_f64), |(a, b), it| (a.min(*it), b.max(*it)));
        let pad = ((most - least) * 0.08).max(0.01);
        let longest = rows.iter().map(|(choice, _)| choice.chars().count().min(NAME)).max().unwrap_or(0);
        let left = 14.0 + LETTER * longest as f64;
        Some(Self { left, right: WIDTH - RIGHT, from: least - pad, to: most + pad })
    }

    /// Within the frame.
    fn x(&self, percent: f64) -> f64 {
        let part = (ratio(percent) - self.from) / (self.to - self.from);
        self.left + part.clamp(0.0, 1.0) * (self.right - self.left)
    }

    fn ticks(&self) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for percent in TICKS {
            let within = (self.from..self.to).contains(&ratio(percent));
            if within && chosen.iter().all(|it| (self.x(*it) - self.x(percent)).abs() >= APART) {
                chosen.push(percent);
            }
        }
        chosen
    }
}

fn tick(percent: f64) -> String {
    match percent {
        900.0.. => answer::change(percent),
        0.0 => "0".to_owned(),
        _ => format!("{percent:+.0} %"),
    }
}

/// A cell: its shape is its verdict.
fn mark(source: &Source, group: usize, it: &Judgement, axis: &Axis, y: f64) -> Markup {
    let change = it.change.unwrap_or(disklab_compare::Change { percent: 0.0, low: 0.0, high: 0.0 });
    let (low, high) = (axis.x(change.low), axis.x(change.high));
    let title = source.groups[group].title();
    let (told, interval) = answer::change_and_interval(it.change);
    html! {
        g.tt {
            title { (it.treatment) ", " (title) ": " (told) " (" (interval) "), " (it.verdict) }
            path d={"M" (number(low)) " " (number(y)) "H" (number(high))} stroke=(ink::LINE) stroke-opacity="0.35" {}
            (shape(it.verdict, axis.x(change.percent), y))
        }
    }
}

fn shape(verdict: Verdict, x: f64, y: f64) -> Markup {
    let at = |dx: f64, dy: f64| format!("M{} {}", number(x + dx), number(y + dy));
    let (way, fill, stroke) = match verdict {
        Verdict::Better => (at(-4.0, 3.5) + "l4 -7l4 7z", ink::GOOD, None),
        Verdict::Worse => (at(-4.0, -3.5) + "l4 7l4 -7z", ink::BAD, None),
        Verdict::Same => (at(-3.0, -3.0) + "h6v6h-6z", ink::LINE, None),
        Verdict::Undecided => (at(-3.0, 0.0) + "a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", "none", Some(ink::LINE)),
    };
    html! { path d=(way) fill=(fill) stroke=[stroke] {} }
}

/// What the shapes are.
fn key() -> Markup {
    let all = [
        (Verdict::Better, "better"),
        (Verdict::Worse, "worse"),
        (Verdict::Same, "the same"),
        (Verdict::Undecided, "undecided"),
    ];
    html! {
        @for (at, (verdict, word)) in all.into_iter().enumerate() {
            @let x = 12.0 + at as f64 * 96.0;
            (shape(verdict, x, 10.0))
            text x=(number(x + 10.0)) y="14" { (word) }
        }
    }
}

/// A row for each cell, a column for each choice.
fn table(source: &Source, rows: &[(&str, Vec<(usize, &Judgement)>)]) -> Table {
    let mut table =
        Table::new(std::iter::once(String::new()).chain(rows.iter().map(|(it, _)| (*it).to_owned())));
    for (at, group) in source.groups.iter().enumerate() {
        let field = |cells: &[(usize, &Judgement)]| {
            let found = cells.iter().find(|(group, _)| *group == at);
            found.map_or_else(|| "-".to_owned(), |(_, it)| answer::told(it.change, it.verdict))
        };
        table.row(std::iter::once(group.title()).chain(rows.iter().map(|(_, cells)| field(cells))));
    }
    table
}
