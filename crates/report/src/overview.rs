//! All cells in one picture: each one's change against the baseline, a row for each choice. Shapes
//! tell verdicts to those who see no colours.

use disklab_compare::{Comparison, Metric, RelativeChange, answer};
use disklab_stats::Verdict;
use maud::{Markup, html};

use crate::chart::{Chart, NumbersTable, WIDTH, centred, ending, ink, number};
use crate::source::{Group, ReportSource};

/// Pixels: of a letter of a name, above and below the rows, and beside them.
const LETTER: f64 = 7.4;
const ABOVE: f64 = 30.0;
const BELOW: f64 = 44.0;
const RIGHT: f64 = 16.0;
/// Pixels right of the axis for cells without a verdict.
const LANE: f64 = 18.0;
/// Pixels of a cell within its row, and of a row at least and at most.
const CELL: f64 = 5.0;
const ROW: (f64, f64) = (28.0, 84.0);
/// Letters of a name at most.
const NAME: usize = 18;
/// Changes, in per cent, that the axis may be marked with, the more important first.
const TICKS: [f64; 23] = [
    0.0, 100.0, -50.0, 900.0, -90.0, 10.0, -10.0, 50.0, 20.0, -20.0, 400.0, -80.0, 2.0, -2.0, 5.0,
    -5.0, 25.0, -25.0, 200.0, -75.0, 1900.0, 1.0, -1.0,
];
/// Pixels between two of them, at least.
const APART: f64 = 48.0;

/// `None` where nothing is held against anything in this metric.
pub fn overview(source: &ReportSource, metric: &Metric) -> Option<Chart> {
    let baseline = source.baseline.as_deref()?;
    let rows: Vec<ChoiceRow> = source
        .choices()
        .into_iter()
        .filter(|choice| *choice != baseline)
        .map(|choice| ChoiceRow::new(source, choice, metric))
        .filter(|row| !row.judged.is_empty() || !row.without.is_empty())
        .collect();
    let has_crosses = rows.iter().any(|row| !row.without.is_empty());
    let axis = ChangeAxis::new(&rows, if has_crosses { LANE } else { 0.0 })?;
    let each = (source.groups.len() as f64 * CELL + 8.0).clamp(ROW.0, ROW.1);
    let bottom = ABOVE + rows.len() as f64 * each;
    let groups = source.groups.len() as f64;
    let label = format!("{}, change against {}", metric.name(), ink::shortened(baseline, NAME));
    let inner = html! {
        g fill=(ink::TEXT) font-size="12" {
            (key(has_crosses))
            @for percent in axis.ticks() {
                @let x = number(axis.x(percent));
                path d={"M" (x) " " (ABOVE - 4.0) "V" (number(bottom + 4.0))}
                    stroke=(if percent == 0.0 { ink::LINE } else { ink::GRID }) {}
                (centred(axis.x(percent), bottom + 18.0, tick(percent)))
            }
            @for (at, row) in rows.iter().enumerate() {
                @let top = ABOVE + at as f64 * each;
                @if at > 0 { path d={"M0 " (number(top)) "H" (WIDTH)} stroke=(ink::GRID) {} }
                @let name = ink::shortened(row.choice, NAME);
                (ending(axis.left - 8.0, top + each / 2.0 + 4.0, name))
                @let y = |group: usize| top + each * (group as f64 + 0.5) / groups;
                @for (group, comparison) in &row.judged {
                    (mark(source, *group, comparison, &axis, y(*group))) }
                @for (group, why) in &row.without { g.tt { title { (why) }
                    (cross(WIDTH - RIGHT, y(*group))) } }
            }
            (centred(axis.left.midpoint(axis.right), bottom + 36.0, label))
        }
    };
    let title = format!("{} of all cells", metric.name());
    let says = source.sentences().join(". ")
        + ". A mark is a cell, the line through it its interval. Crosses stand for cells without a \
            verdict, because trials failed or were given up.";
    let table = table(source, &rows);
    let size = (WIDTH, bottom + BELOW);
    Some(Chart::of_svg("overview", title, says, size, inner, table))
}

/// The cells of one choice, each with the place of its group.
struct ChoiceRow<'s> {
    choice: &'s str,
    judged: Vec<(usize, &'s Comparison)>,
    /// Without a change because trials of it or of the baseline failed or were given up, and which.
    without: Vec<(usize, String)>,
}

impl<'s> ChoiceRow<'s> {
    fn new(source: &'s ReportSource, choice: &'s str, metric: &Metric) -> Self {
        let (mut judged, mut without) = (Vec::new(), Vec::new());
        for (at, group) in source.groups.iter().enumerate() {
            let comparison = source.comparison(group, choice, metric);
            let finite = comparison.filter(|comparison| {
                comparison.change.is_some_and(|change| change.percent.is_finite())
            });
            match finite {
                Some(comparison) => judged.push((at, comparison)),
                None => {
                    without.extend(failures(source, group, choice, metric).map(|why| (at, why)));
                }
            }
        }
        Self { choice, judged, without }
    }

    /// A field of the table.
    fn field(&self, group: usize) -> String {
        if let Some((_, comparison)) = self.judged.iter().find(|(at, _)| *at == group) {
            return comparison.change_and_verdict();
        }
        let why = self.without.iter().find(|(at, _)| *at == group);
        why.map_or_else(|| "-".to_owned(), |(_, why)| format!("✕ {why}"))
    }
}

/// Names the failed trials of the choice or else of the baseline, if any failed.
fn failures(source: &ReportSource, group: &Group, choice: &str, metric: &Metric) -> Option<String> {
    let names = [Some(choice), source.baseline.as_deref()];
    names.into_iter().flatten().find_map(|name| {
        let choice = group.choice(name)?;
        let failures = choice.failures(metric).into_iter().filter(|failure| failure.failed);
        let failed: Vec<String> = failures.map(|failure| failure.text).collect();
        (!failed.is_empty()).then(|| format!("{name}, {}: {}", group.title(), failed.join("; ")))
    })
}

/// Changes along the width: twice and half are equally far from none.
struct ChangeAxis {
    left: f64,
    right: f64,
    /// Logarithms of the least and the greatest ratio.
    from: f64,
    to: f64,
}

fn ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(1e-3).ln()
}

impl ChangeAxis {
    /// `lane`: the pixels beside it that crosses take.
    fn new(rows: &[ChoiceRow], lane: f64) -> Option<Self> {
        let changes =
            rows.iter().flat_map(|row| &row.judged).filter_map(|(_, comparison)| comparison.change);
        let ratios: Vec<f64> = changes.map(|change| ratio(change.percent)).collect();
        if ratios.is_empty() {
            return None;
        }
        let (least, most) =
            ratios.iter().fold((0.0_f64, 0.0_f64), |(a, b), ratio| (a.min(*ratio), b.max(*ratio)));
        let pad = ((most - least) * 0.08).max(0.01);
        let longest =
            rows.iter().map(|row| row.choice.chars().count().min(NAME)).max().unwrap_or(0);
        let left = 14.0 + LETTER * longest as f64;
        Some(Self { left, right: WIDTH - RIGHT - lane, from: least - pad, to: most + pad })
    }

    /// Returns the place of a change on the axis, within the frame.
    fn x(&self, percent: f64) -> f64 {
        let part = (ratio(percent) - self.from) / (self.to - self.from);
        self.left + part.clamp(0.0, 1.0) * (self.right - self.left)
    }

    fn ticks(&self) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        for percent in TICKS {
            let within = (self.from..self.to).contains(&ratio(percent));
            if within
                && chosen.iter().all(|known| (self.x(*known) - self.x(percent)).abs() >= APART)
            {
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
fn mark(
    source: &ReportSource,
    group: usize,
    comparison: &Comparison,
    axis: &ChangeAxis,
    y: f64,
) -> Markup {
    let change = comparison.change.unwrap_or(RelativeChange { percent: 0.0, low: 0.0, high: 0.0 });
    let (low, high) = (axis.x(change.low), axis.x(change.high));
    let title = source.groups[group].title();
    let (told, interval) = comparison.change_and_interval();
    html! {
        g.tt {
            title { (comparison.treatment) ", " (title) ": " (told) " (" (interval) "), "
                (comparison.verdict_in_words()) }
            path d={"M" (number(low)) " " (number(y)) "H" (number(high))} stroke=(ink::LINE)
                stroke-opacity="0.35" {}
            (shape(comparison.verdict, axis.x(change.percent), y))
        }
    }
}

fn shape(verdict: Verdict, x: f64, y: f64) -> Markup {
    let at = |dx: f64, dy: f64| format!("M{} {}", number(x + dx), number(y + dy));
    let (way, fill, stroke) = match verdict {
        Verdict::Better => (at(-4.0, 3.5) + "l4 -7l4 7z", ink::GOOD, None),
        Verdict::Worse => (at(-4.0, -3.5) + "l4 7l4 -7z", ink::BAD, None),
        Verdict::Same => (at(-3.0, -3.0) + "h6v6h-6z", ink::LINE, None),
        Verdict::Undecided => {
            (at(-3.0, 0.0) + "a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", "none", Some(ink::LINE))
        }
    };
    html! { path d=(way) fill=(fill) stroke=[stroke] {} }
}

/// A cell of which nothing can be said.
fn cross(x: f64, y: f64) -> Markup {
    let way = format!("M{} {}l7 7m0 -7l-7 7", number(x - 3.5), number(y - 3.5));
    html! { path d=(way) fill="none" stroke=(ink::BAD) stroke-width="1.6" {} }
}

/// Draws the key of the shapes.
fn key(has_crosses: bool) -> Markup {
    let all = [
        (Verdict::Better, "better"),
        (Verdict::Worse, "worse"),
        (Verdict::Same, "the same"),
        (Verdict::Undecided, "undecided"),
    ];
    let marks = all.map(|(verdict, word)| (Some(verdict), word)).into_iter();
    let marks = marks.chain(has_crosses.then_some((None, "no verdict")));
    let apart = if has_crosses { 84.0 } else { 96.0 };
    html! {
        @for (at, (verdict, word)) in marks.enumerate() {
            @let x = 12.0 + at as f64 * apart;
            (verdict.map_or_else(|| cross(x, 10.0), |verdict| shape(verdict, x, 10.0)))
            text x=(number(x + 10.0)) y="14" { (word) }
        }
    }
}

/// A row for each cell, a column for each choice.
fn table(source: &ReportSource, rows: &[ChoiceRow]) -> NumbersTable {
    let mut table = NumbersTable::new("", rows.iter().map(|row| row.choice));
    for (at, group) in source.groups.iter().enumerate() {
        table.row(group.title(), rows.iter().map(|row| row.field(at)));
    }
    table
}
