//! A forest plot: a row for each cell and choice, with the change against the baseline, its
//! interval and its verdict. Shapes show the verdicts to readers who see no colours.

use disklab_compare::{Comparison, Metric, RelativeChange, answer};
use disklab_record::outcome::Cell;
use disklab_stats::{Better, Verdict};
use disklab_units::prose::count;
use itertools::Itertools;
use maud::{Markup, html};

use crate::chart::{Chart, NumbersTable, centred, ending, ink, number};
use crate::panel::{Piece, Section};
use crate::source::{Group, ReportSource};
use crate::text::{distinct, slug};

/// Sizes in pixels: a row, a letter, the space above the rows, the space below them, and the axis.
const ROW: f64 = 15.0;
const LETTER: f64 = 6.8;
const ABOVE: f64 = 26.0;
const BELOW: f64 = 40.0;
const AXIS: f64 = 230.0;
/// Pixels between columns.
const GAP: f64 = 10.0;
/// Largest number of letters in a line of a cell's name, and in a choice's name.
const CELL: usize = 24;
const CHOICE: usize = 40;
/// Largest number of lines of a cell's name.
const LINES: usize = 6;
/// Number of rows above which the plot is folded by the first axis that distinguishes cells.
const MOST_ROWS: usize = 45;
/// Least change that the axis covers (a logarithm).
const LEAST_REACH: f64 = 0.05;
/// Changes, in per cent, that may be marked on the axis, the more important ones first.
const TICKS: [f64; 26] = [
    0.0, 100.0, -50.0, 900.0, -90.0, 10.0, -10.0, 50.0, 20.0, -20.0, 400.0, -80.0, 2.0, -2.0, 5.0,
    -5.0, 25.0, -25.0, 200.0, -75.0, 1900.0, 9900.0, -99.0, 1.0, -1.0, 99_900.0,
];
/// Least distance of two of them, in pixels.
const APART: f64 = 44.0;

/// Text in place of a verdict.
const NO_VERDICT: &str = "no verdict";

/// Rows of a cell.
struct ForestCell<'s> {
    group: usize,
    /// Name in lines.
    name: Vec<String>,
    rows: Vec<ForestRow<'s>>,
}

struct ForestRow<'s> {
    choice: &'s str,
    comparison: Option<&'s Comparison>,
    /// Reason why there is no change.
    without: String,
}

impl ForestCell<'_> {
    /// Returns the height in rows.
    fn height(&self) -> usize {
        self.rows.len().max(self.name.len())
    }
}

/// Draws the plot of all cells. With many rows, each value of the first axis has a section, all on
/// the same scale. The result is empty if nothing is compared in this metric.
pub fn pieces(source: &ReportSource, metric: &Metric) -> Vec<Piece> {
    let Some(baseline) = source.baseline.as_deref() else { return Vec::new() };
    let cells: Vec<ForestCell> = cells(source, baseline, metric);
    let rows: usize = cells.iter().map(|cell| cell.rows.len()).sum();
    let changes = cells.iter().flat_map(|cell| &cell.rows).filter_map(ForestRow::change);
    let Some(scale) = ForestScale::new(&changes.collect_vec(), source.rule.smallest_effect) else {
        return Vec::new();
    };
    let draw = |own: &[&ForestCell]| chart(source, metric, baseline, own, &scale);
    let axis = source.axes.first();
    let Some(axis) = axis.filter(|_| rows > MOST_ROWS) else {
        return vec![Piece::Chart(draw(&cells.iter().collect_vec()))];
    };
    let value = |cell: &&ForestCell| source.groups[cell.group].cell.value(axis).unwrap_or_default();
    let mut names = Vec::new();
    let striking = source.striking();
    let by_value = cells.iter().into_group_map_by(value);
    let section = |value: &str| {
        let own = &by_value[value];
        Piece::Section(Section {
            name: distinct(slug(&format!("forest {value}")), "forest", &mut names),
            title: answer::named(axis, value),
            summary: counted(own),
            open: own.iter().any(|cell| cell.group == striking),
            cell: Cell(vec![(axis.to_owned(), value.to_owned())]),
            pieces: vec![Piece::Chart(draw(own))],
        })
    };
    cells.iter().map(|cell| value(&cell)).unique().map(section).collect()
}

/// Counts verdicts, as in `6 same, 2 better, 1 worse`.
fn counted(cells: &[&ForestCell]) -> String {
    let all = cells.iter().flat_map(|cell| &cell.rows);
    let words = all.map(|row| match row.change() {
        Some(_) => row.verdict_in_words(),
        None => NO_VERDICT.to_owned(),
    });
    let counts = words.counts().into_iter().map(|(word, number)| (number, word));
    let counts = counts.sorted_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    counts.map(|(number, word)| format!("{number} {word}")).join(", ")
}

fn cells<'s>(source: &'s ReportSource, baseline: &str, metric: &Metric) -> Vec<ForestCell<'s>> {
    let cell = |(at, group): (usize, &'s Group)| {
        let choices = group.choices.iter().filter(|choice| choice.value != baseline);
        let rows = choices.filter_map(|choice| {
            let comparison = source.comparison(group, &choice.value, metric);
            let without = without(source, group, &choice.value, comparison, metric);
            let is_there = comparison.is_some() || without.1;
            let without = without.0;
            is_there.then_some(ForestRow { choice: &choice.value, comparison, without })
        });
        let rows = rows.collect_vec();
        (!rows.is_empty()).then(|| ForestCell {
            group: at,
            name: lines(&source.apart(group)),
            rows,
        })
    };
    source.groups.iter().enumerate().filter_map(cell).collect()
}

/// Returns the reason why there is no change, and whether trials failed.
fn without(
    source: &ReportSource,
    group: &Group,
    choice: &str,
    comparison: Option<&Comparison>,
    metric: &Metric,
) -> (String, bool) {
    let sides = [Some(choice), source.baseline.as_deref()];
    let failed = sides.into_iter().flatten().find_map(|name| {
        let failures = group.choice(name)?.failures(metric).into_iter();
        let mut failed = failures.filter(|failure| failure.failed).map(|failure| failure.text);
        let failed = failed.join("; ");
        (!failed.is_empty()).then(|| format!("{name}: {failed}"))
    });
    let remarks = || comparison.map(|comparison| comparison.remarks.join("; "));
    let is_failed = failed.is_some();
    (failed.or_else(remarks).unwrap_or_default(), is_failed)
}

/// Breaks a name into lines of at most [`CELL`] letters, behind commas if possible, or else behind
/// hyphens. If it does not fit into [`LINES`], it ends with `…`.
fn lines(name: &str) -> Vec<String> {
    let length = |text: &str| text.trim_end().chars().count();
    let fits = |text: &str| length(text) <= CELL;
    let pieces = |text: &str| {
        let letters = text.chars().collect_vec();
        letters.chunks(CELL).map(|part| part.iter().collect::<String>()).collect_vec()
    };
    let words = |value: &str| {
        if fits(value) {
            return vec![value.to_owned()];
        }
        value.split_inclusive([' ', '-', '/']).flat_map(pieces).collect()
    };
    let mut lines: Vec<String> = vec![String::new()];
    for word in name.split_inclusive(", ").flat_map(words) {
        match lines.last_mut() {
            Some(last) if length(last) == 0 || fits(&(last.clone() + &word)) => *last += &word,
            _ => lines.push(word),
        }
    }
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    if lines.len() > LINES {
        lines.truncate(LINES);
        lines[LINES - 1].push('…');
    }
    lines
}

impl ForestRow<'_> {
    fn change(&self) -> Option<RelativeChange> {
        self.comparison?.change.filter(|change| change.percent.is_finite())
    }

    fn verdict_in_words(&self) -> String {
        self.comparison.map_or_else(|| NO_VERDICT.to_owned(), Comparison::verdict_in_words)
    }

    /// Returns the change and its interval as text, or two dashes.
    fn change_and_interval(&self) -> (String, String) {
        let none = || answer::change_and_interval(None);
        let known = self.comparison.filter(|_| self.change().is_some());
        known.map_or_else(none, Comparison::change_and_interval)
    }

    /// Returns the text right of the axis: with the interval, if one of its ends is beyond the
    /// axis.
    fn words(&self, scale: &ForestScale) -> String {
        let Some(change) = self.change() else { return NO_VERDICT.to_owned() };
        let (told, interval) = self.change_and_interval();
        let verdict = self.verdict_in_words();
        if scale.holds(change.low) && scale.holds(change.high) {
            format!("{told} {verdict}")
        } else {
            format!("{told} {verdict} ({interval})")
        }
    }
}

/// Scale of changes along the axis: doubling and halving have the same distance from zero.
struct ForestScale {
    /// Logarithms of the least and the greatest ratio.
    from: f64,
    to: f64,
    /// Smallest effect of interest, on the same scale.
    smallest: f64,
}

/// Returns the logarithm of a change, or infinity for an unbounded one.
fn log_ratio(percent: f64) -> f64 {
    (1.0 + percent / 100.0).max(0.0).ln()
}

impl ForestScale {
    /// Makes a scale for every change and, as far as possible, every interval. Intervals extend it
    /// beyond the changes by at most the range of the changes.
    fn new(changes: &[RelativeChange], smallest: f64) -> Option<Self> {
        let smallest = smallest.ln_1p();
        let extent = |ends: &mut dyn Iterator<Item = f64>| {
            let finite = ends.filter(|end| end.is_finite());
            finite.fold((0.0_f64, 0.0_f64), |(least, most), end| (least.min(end), most.max(end)))
        };
        if changes.is_empty() {
            return None;
        }
        // A change of -100 % has no place on a logarithmic axis, and is drawn at its end.
        let (least, most) = extent(&mut changes.iter().map(|change| log_ratio(change.percent)));
        let reach = (most - least).max(LEAST_REACH);
        let ends = changes.iter().flat_map(|change| [change.low, change.high]).map(log_ratio);
        // Other ends are arrows, and need no room.
        let mut ends = ends.filter(|end| (least - reach..=most + reach).contains(end));
        let (low, high) = extent(&mut ends);
        let (low, high) = (low.min(least), high.max(most));
        let (low, high) = (low.min(-1.5 * smallest), high.max(1.5 * smallest));
        let pad = (high - low) * 0.06;
        Some(Self { from: low - pad, to: high + pad, smallest })
    }

    fn holds(&self, percent: f64) -> bool {
        (self.from..=self.to).contains(&log_ratio(percent))
    }

    /// Returns the position of a logarithm on an axis that begins at `left`.
    fn place(&self, log: f64, left: f64) -> f64 {
        left + ((log - self.from) / (self.to - self.from)).clamp(0.0, 1.0) * AXIS
    }

    fn ticks(&self, left: f64) -> Vec<f64> {
        let mut chosen: Vec<f64> = Vec::new();
        let x = |percent: f64| self.place(log_ratio(percent), left);
        for percent in TICKS.into_iter().filter(|percent| self.holds(*percent)) {
            if chosen.iter().all(|known| (x(*known) - x(percent)).abs() >= APART) {
                chosen.push(percent);
            }
        }
        chosen
    }
}

/// Columns of a plot, in pixels.
struct ForestColumns {
    /// Right edge of the choices' names, and left edges of the axis and of the text.
    choices: f64,
    axis: f64,
    words: f64,
    width: f64,
}

impl ForestColumns {
    fn new(cells: &[&ForestCell], scale: &ForestScale) -> Self {
        let widest =
            |names: &mut dyn Iterator<Item = usize>| LETTER * names.max().unwrap_or(0) as f64;
        let rows = || cells.iter().flat_map(|cell| &cell.rows);
        let names = cells.iter().flat_map(|cell| &cell.name);
        let cell = widest(&mut names.map(|line| line.chars().count()));
        let choice = widest(&mut rows().map(|row| row.choice.chars().count().min(CHOICE)));
        let told = widest(&mut rows().map(|row| row.words(scale).chars().count()));
        let choices = 4.0 + cell + GAP + choice;
        let axis = choices + GAP;
        let words = axis + AXIS + GAP;
        Self { choices, axis, words, width: (words + told + 4.0).ceil() }
    }
}

fn chart(
    source: &ReportSource,
    metric: &Metric,
    baseline: &str,
    cells: &[&ForestCell],
    scale: &ForestScale,
) -> Chart {
    let columns = ForestColumns::new(cells, scale);
    let rows: usize = cells.iter().map(|cell| cell.height()).sum();
    let bottom = ABOVE + ROW * rows as f64;
    let tops = cells.iter().scan(0, |rows, cell| {
        let top = ABOVE + ROW * *rows as f64;
        *rows += cell.height();
        Some(top)
    });
    let x = |log: f64| scale.place(log, columns.axis);
    let (low, high) = (x(-scale.smallest), x(scale.smallest));
    let middle = columns.axis + AXIS / 2.0;
    let better = cells.iter().flat_map(|cell| &cell.rows).find_map(|row| row.comparison);
    let way = match better.map(|comparison| comparison.better) {
        Some(Better::Higher) => "more is better",
        Some(Better::Lower) => "less is better",
        None => "",
    };
    let label = format!("{}: change against {}", metric.name(), ink::shortened(baseline, CHOICE));
    let least = source.rule.smallest_effect * 100.0;
    let zone = format!("{way}; shaded: changes within ±{} % count as the same", number(least));
    let inner = html! {
        g fill=(ink::TEXT) font-size="11" {
            (key(columns.width))
            rect x=(number(low)) y=(ABOVE - 4.0) width=(number(high - low))
                height=(number(bottom - ABOVE + 8.0)) fill=(ink::GRID) fill-opacity="0.6" {}
            @for percent in scale.ticks(columns.axis) {
                @let at = x(log_ratio(percent));
                path d={"M" (number(at)) " " (ABOVE - 4.0) "V" (number(bottom + 4.0))}
                    stroke=(if percent == 0.0 { ink::LINE } else { ink::GRID }) {}
                (centred(at, bottom + 15.0, tick(percent)))
            }
            @for (cell, top) in cells.iter().zip(tops) {
                @if top > ABOVE { path d={"M0 " (number(top)) "H" (number(columns.width))}
                    stroke=(ink::GRID) {} }
                g { title { (source.groups[cell.group].title()) }
                    @for (at, line) in cell.name.iter().enumerate() {
                        text x="4" y=(number(top + ROW * at as f64 + 11.0)) { (line) }
                    } }
                @for (at, row) in cell.rows.iter().enumerate() {
                    (drawn(row, scale, &columns,
                        top + ROW * (at as f64 + 0.5)))
                }
            }
            (centred(middle, bottom + 27.0, label))
            (centred(middle, bottom + 38.0, zone))
        }
    };
    let counts = counted(cells);
    let says = format!(
        "Each row is a choice in a cell: its change against {baseline} with the interval as a \
         line, and the verdict as a shape. An arrow marks an interval that goes beyond the axis; \
         its ends are written beside it. {}: {counts}.",
        count(cells.iter().map(|cell| cell.rows.len()).sum(), "row")
    );
    let own = || format!("{} of all cells", metric.name());
    let title = source.wanted.title.clone().unwrap_or_else(own);
    let size = (columns.width, bottom + BELOW + 2.0);
    Chart::of_svg("forest", title, says, size, inner, table(source, cells))
}

fn tick(percent: f64) -> String {
    match percent {
        900.0.. => answer::change(percent),
        0.0 => "0".to_owned(),
        _ => format!("{percent:+.0} %"),
    }
}

/// Draws a row: its choice, its interval with its shape, and its text.
fn drawn(row: &ForestRow, scale: &ForestScale, columns: &ForestColumns, y: f64) -> Markup {
    let change = row.change();
    let verdict = row.comparison.filter(|_| change.is_some()).map(|comparison| comparison.verdict);
    let colour = match verdict {
        Some(Verdict::Better) => ink::GOOD,
        Some(Verdict::Worse) | None => ink::BAD,
        Some(Verdict::Same | Verdict::Undecided) => ink::LINE,
    };
    let (told, interval) = row.change_and_interval();
    let known = format!("{told} ({interval}), {}", row.verdict_in_words());
    let about = if change.is_some() { &known } else { &row.without };
    html! {
        g.tt {
            title { (row.choice) ": " (about) }
            (ending(columns.choices, y + 4.0, ink::shortened(row.choice, CHOICE)))
            @match change {
                Some(change) => {
                    (interval_line(change, scale, columns.axis, y, colour))
                    (shape(verdict, scale.place(log_ratio(change.percent), columns.axis), y))
                },
                None => (shape(None, columns.axis + AXIS / 2.0, y)),
            }
            text x=(number(columns.words)) y=(number(y + 4.0)) fill=(colour) {
                (row.words(scale)) }
        }
    }
}

/// Draws a line from the low end to the high end. An end beyond the axis is an arrow.
fn interval_line(
    change: RelativeChange,
    scale: &ForestScale,
    left: f64,
    y: f64,
    colour: &str,
) -> Markup {
    let [low, high] = [change.low, change.high].map(|end| scale.place(log_ratio(end), left));
    let arrow = |x: f64, back: f64| {
        format!("M{} {}l{back} 4m{} -4l{back} -4", number(x), number(y), number(-back))
    };
    let mut way = format!("M{} {}H{}", number(low), number(y), number(high));
    if !scale.holds(change.low) {
        way += &arrow(left, 5.0);
    }
    if !scale.holds(change.high) {
        way += &arrow(left + AXIS, -5.0);
    }
    html! { path d=(way) stroke=(colour) stroke-width="1.4" fill="none" {} }
}

fn shape(verdict: Option<Verdict>, x: f64, y: f64) -> Markup {
    let at = |dx: f64, dy: f64| format!("M{} {}", number(x + dx), number(y + dy));
    let (way, fill, stroke) = match verdict {
        Some(Verdict::Better) => (at(-4.0, 3.5) + "l4 -7l4 7z", ink::GOOD, None),
        Some(Verdict::Worse) => (at(-4.0, -3.5) + "l4 7l4 -7z", ink::BAD, None),
        Some(Verdict::Same) => (at(-3.0, -3.0) + "h6v6h-6z", ink::LINE, None),
        Some(Verdict::Undecided) => {
            (at(-3.0, 0.0) + "a3 3 0 1 0 6 0a3 3 0 1 0 -6 0z", "none", Some(ink::LINE))
        }
        None => (at(-3.5, -3.5) + "l7 7m0 -7l-7 7", "none", Some(ink::BAD)),
    };
    html! { path d=(way) fill=(fill) stroke=[stroke] {} }
}

/// Draws the key of the shapes.
fn key(width: f64) -> Markup {
    let all = [
        (Some(Verdict::Better), "better"),
        (Some(Verdict::Worse), "worse"),
        (Some(Verdict::Same), "same"),
        (Some(Verdict::Undecided), "undecided"),
        (None, NO_VERDICT),
    ];
    let apart = ((width - 20.0) / 5.0).min(90.0);
    html! {
        @for (at, (verdict, word)) in all.into_iter().enumerate() {
            @let x = 10.0 + at as f64 * apart;
            (shape(verdict, x, 9.0))
            text x=(number(x + 9.0)) y="13" { (word) }
        }
    }
}

/// Returns the same rows as numbers.
fn table(source: &ReportSource, cells: &[&ForestCell]) -> NumbersTable {
    let mut table =
        NumbersTable::new("", [source.compared.as_str(), "change", "interval", "verdict"]);
    for cell in cells {
        for row in &cell.rows {
            let (told, interval) = row.change_and_interval();
            let verdict = match row.change() {
                Some(_) => row.verdict_in_words(),
                None => format!("✕ {}", row.without),
            };
            let name = source.apart(&source.groups[cell.group]);
            table.row(name, [row.choice.to_owned(), told, interval, verdict]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(percent: f64, low: f64, high: f64) -> RelativeChange {
        RelativeChange { percent, low, high }
    }

    #[test]
    fn the_axis_holds_all_intervals_of_a_usual_size() {
        let changes = [change(10.0, 8.0, 13.0), change(-3.0, -9.0, 4.0)];
        let scale = ForestScale::new(&changes, 0.02).expect("an axis");
        for end in [8.0, 13.0, -9.0, 4.0, 2.0, -2.0, 0.0] {
            assert!(scale.holds(end), "{end}");
        }
        assert!(!scale.holds(30.0));
        assert!(ForestScale::new(&[], 0.02).is_none());
    }

    #[test]
    fn one_wide_interval_leaves_the_others_their_room() {
        let changes = [
            change(10.0, 8.0, 13.0),
            change(5.0, -99.0, 4000.0),
            change(1.0, -100.0, f64::INFINITY),
        ];
        let scale = ForestScale::new(&changes, 0.02).expect("an axis");
        assert!(scale.holds(13.0) && !scale.holds(60.0) && !scale.holds(-60.0));
        let arrows = |change| {
            let drawn = interval_line(change, &scale, 0.0, 0.0, ink::LINE).into_string();
            let way = drawn.split('"').nth(1).expect("a way").to_owned();
            way.matches('m').count()
        };
        assert_eq!(changes.map(arrows), [0, 2, 2]);
    }

    #[test]
    fn names_are_broken_and_never_cut_unmarked() {
        assert_eq!(lines("hdd-raid1, randread-4k-qd32"), ["hdd-raid1,", "randread-4k-qd32"]);
        assert_eq!(lines("x".repeat(30).as_str()), ["x".repeat(24), "x".repeat(6)]);
        let long = lines(&"abc, ".repeat(60));
        assert_eq!(long.len(), LINES);
        assert!(long[LINES - 1].ends_with('…'));
        assert_eq!(lines(""), [""]);
    }
}
