//! The number of each choice in each metric. A bar shows the number that verdicts rest on, or else
//! the median, and a whisker shows the seeds. A missing result is an X.

use disklab_compare::{Comparison, Metric};
use disklab_results::Spread;
use itertools::Itertools;
use kuva::plot::annotations::TextAnnotation;
use kuva::plot::{BarPlot, MarkerShape, ScatterPlot};
use kuva::prelude::{Layout, Plot};
use maud::html;

use crate::chart::{Chart, NumbersTable, WIDTH, ink};
use crate::failures::TrialFailure;
use crate::panel::{Nothing, Panel, Piece, of_groups};
use crate::panels::matrix::summary;
use crate::source::{CellChoice, Group, ReportSource};
use crate::text::slug;

pub const PANEL: Panel = Panel {
    place: 30,
    name: "bars",
    title: "Results by choice",
    pictures: "a metric each: iops, bandwidth, mean-latency, p50, p99",
    draw,
};

/// Height of a row, and of the space above and below the rows, in pixels.
const ROW: f64 = 36.0;
const ABOVE: f64 = 8.0;
const BELOW: f64 = 42.0;
/// Pixels right of the bars: a gap, a cross, and the longest text.
const GAP: f64 = 10.0;
const CROSS: f64 = 18.0;
/// Largest number of letters in a name beside the bars, and pixels of each.
const NAME: usize = 18;
const LETTER: f64 = 7.4;
/// A bar without a result has no length.
const NO_BAR: Spread = Spread { min: 0.0, median: 0.0, max: 0.0 };

/// Numbers of a choice that are drawn.
struct Bar<'s> {
    choice: &'s str,
    /// Index of the choice among all choices, for its colour.
    series: usize,
    /// Spread over the seeds, with the number in place of the median; and the least, the number and
    /// the greatest as far as they are known.
    seeds: Option<(Spread, [String; 3])>,
    /// Change and verdict, if there is one.
    told: String,
    failures: Vec<TrialFailure>,
    /// Text in place of a median.
    without: &'static str,
    trials: (usize, usize),
}

impl Bar<'_> {
    fn has_failed(&self) -> bool {
        self.failures.iter().any(|failure| failure.failed)
    }

    /// Returns the text right of the bar: the median above the change.
    fn texts(&self) -> [&str; 2] {
        let median = self.seeds.as_ref().map_or(self.without, |(_, known)| &known[1]);
        [median, &self.told]
    }

    /// Returns the reasons of missing results.
    fn reasons(&self) -> String {
        self.failures.iter().map(|failure| failure.text.as_str()).join("; ")
    }

    fn said(&self) -> String {
        let Some((_, [min, median, max])) = &self.seeds else {
            return format!("{}: {}", self.choice, self.without);
        };
        let told = if self.told.is_empty() { String::new() } else { format!(", {}", self.told) };
        format!("{}: {median}, seeds {min} to {max}{told}", self.choice)
    }
}

fn draw(source: &ReportSource) -> Result<Vec<Piece>, Nothing> {
    let Some(metric) = source.metrics.first() else {
        let why = if source.groups.is_empty() { NO_TRIALS } else { "No number was requested." };
        return Err(why.into());
    };
    let words = html! {
        p.says { "Bars show the estimates that the verdicts use, or medians over the seeds if \
            there are no verdicts. Whiskers reach from the least to the greatest seed; ▸ marks a \
            seed that timed out, so that its true value is larger. ✕ marks a trial without a valid \
            result. The open group has the greatest change that is better or worse; without one, \
            it has the greatest change, or a ✕. Undecided means that there are too few seeds; the \
            remarks under " a href="#matrix" { "All cells" } " say how many would decide." }
    };
    of_groups(source, words, NO_TRIALS, |group| {
        Some((summary(source, group, metric), pieces(source, group)))
    })
}

const NO_TRIALS: &str = "The record has no trials.";

fn pieces<'s>(source: &'s ReportSource, group: &'s Group) -> Vec<Piece> {
    let mut pieces: Vec<Piece> =
        source.metrics.iter().map(|metric| Piece::Chart(chart(source, group, metric))).collect();
    // Failures in any of the metrics, each once.
    let of_choice = |choice: &'s CellChoice| {
        let all = source.metrics.iter().flat_map(|metric| choice.failures(metric)).unique();
        all.map(|failure| (choice.value.as_str(), failure))
    };
    let failures: Vec<(&str, TrialFailure)> = group.choices.iter().flat_map(of_choice).collect();
    if !failures.is_empty() {
        pieces.push(Piece::Words(html! {
            ul.failures { @for (choice, failure) in &failures { li {
                @if failure.failed { span.x aria-hidden="true" { "✕ " } }
                (choice) ", " (failure.text)
            } } }
        }));
    }
    pieces
}

fn bars<'s>(source: &ReportSource, group: &'s Group, metric: &Metric) -> Vec<Bar<'s>> {
    let unit = group.unit(metric);
    let bar = |choice: &'s CellChoice| {
        let comparison = source.comparison(group, &choice.value, metric);
        let known = |spread: Spread| {
            let median = source.number(group, choice, metric).unwrap_or(spread.median);
            let spread = Spread { median, ..spread };
            let known = |value| choice.known(metric, value, &unit);
            let number = source.number_in_words(group, choice, metric);
            let number = number.unwrap_or_else(|| known(median));
            (spread, [known(spread.min), number, known(spread.max)])
        };
        Bar {
            choice: &choice.value,
            series: source.series(choice),
            seeds: choice.spread(metric).map(known),
            told: comparison.map(Comparison::change_and_verdict).unwrap_or_default(),
            failures: choice.failures(metric),
            without: choice.without_result(metric).0,
            trials: (choice.results().count(), choice.trials.len()),
        }
    };
    group.choices.iter().map(bar).collect()
}

fn chart(source: &ReportSource, group: &Group, metric: &Metric) -> Chart {
    let bars = bars(source, group, metric);
    let unit = group.unit(metric);
    let spreads = bars.iter().filter_map(|bar| bar.seeds.as_ref());
    let most = spreads.map(|(spread, _)| spread.max).fold(0.0, f64::max);
    let (label, scale) = axis(&unit, most);
    let most = if most > 0.0 { most * 1.02 / scale } else { 1.0 };
    let rows = bars.len();
    let height = ABOVE + BELOW + ROW * rows as f64;
    let longest = bars.iter().map(|bar| bar.choice.chars().count().min(NAME)).max().unwrap_or(0);
    let left = 10.0 + LETTER * longest.max(4) as f64;
    let texts = bars.iter().flat_map(Bar::texts);
    let widest = LETTER * texts.map(|text| text.chars().count()).max().unwrap_or(0) as f64;
    let cross = if bars.iter().any(Bar::has_failed) { CROSS } else { 0.0 };
    let right = GAP + widest + cross + 4.0;
    let names = bars.iter().rev().map(|bar| ink::plain(&ink::shortened(bar.choice, NAME)));
    let layout = ink::layout((0.0, most), (0.5, rows as f64 + 0.5), WIDTH, height)
        .with_force_margins(left, right)
        .with_force_margins_y(ABOVE, BELOW)
        .with_x_label(ink::plain(&label))
        // Categories count from below.
        .with_y_categories(names.collect())
        .with_ticks(3);
    let room = WIDTH - left - right;
    let frame = BarFrame { most, scale, right, cross, room };
    let (plots, layout) = plots(&bars, &frame, layout);
    let says = bars.iter().map(Bar::said).join(". ") + ".";
    Chart::draw(&slug(metric.name()), metric.name(), says, plots, layout, table(&bars))
}

/// Length of the axis, and space beside the bars.
struct BarFrame {
    most: f64,
    scale: f64,
    /// Pixels right of the bars, and those of a cross.
    right: f64,
    cross: f64,
    /// Width for the bars.
    room: f64,
}

/// Returns the label of an axis in these units, and the number of them that it counts as one.
fn axis(unit: &str, most: f64) -> (String, f64) {
    match unit {
        "1/s" => ("a second".to_owned(), 1.0),
        "bytes/s" => ("MiB/s".to_owned(), f64::from(1 << 20)),
        "ns" => {
            let times = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
            let fit = times.into_iter().find(|(_, ns)| most >= *ns).unwrap_or(("ns", 1.0));
            (fit.0.to_owned(), fit.1)
        }
        _ => (unit.to_owned(), 1.0),
    }
}

fn plots(bars: &[Bar], frame: &BarFrame, mut layout: Layout) -> (Vec<Plot>, Layout) {
    let BarFrame { most, scale, right, cross, room } = *frame;
    let x_of = |pixels: f64| most * pixels / room;
    let mut drawn = BarPlot::new()
        .with_horizontal(true)
        .with_width(0.62)
        .with_error_color(ink::LINE)
        .with_tooltips();
    let mut errors: Vec<(f64, f64)> = Vec::new();
    let mut tips = Vec::new();
    let mut crosses: Vec<(f64, f64)> = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    for (below, bar) in bars.iter().rev().enumerate() {
        let place = below as f64 + 1.0;
        let Spread { min, median, max } = bar.seeds.as_ref().map_or(NO_BAR, |(spread, _)| *spread);
        let colour = ink::Series::numbered(bar.series).colour;
        drawn = drawn.with_colored_bar(bar.choice, median / scale, colour);
        errors.push(((median - min).max(0.0) / scale, (max - median).max(0.0) / scale));
        tips.push(bar.said());
        // The greatest value is not known exactly: it is at least this.
        if bar.seeds.as_ref().is_some_and(|(_, [.., greatest])| greatest.starts_with('>')) {
            // The annotation's place is the middle of the letter, and six pixels below it.
            let arrow = TextAnnotation::new("▸", max / scale + x_of(3.0), place - 10.0 / ROW);
            layout = layout.with_annotation(arrow.with_font_size(14));
        }
        if bar.has_failed() {
            // The cross is in place of the bar, or at the margin if there is a bar.
            let x = if bar.seeds.is_none() { x_of(10.0) } else { most + x_of(right - 12.0) };
            crosses.push((x, place));
            reasons.push(format!("{}: {}", bar.choice, bar.reasons()));
        }
        let x = most + x_of((right - cross) / 2.0);
        // Annotations stand six pixels above their place. Half of a letter's height more is the
        // middle of the row.
        let lines = if bar.told.is_empty() { [-10.0, 0.0] } else { [-2.0, -17.0] };
        for (text, pixels) in bar.texts().iter().zip(lines).filter(|(text, _)| !text.is_empty()) {
            let text = TextAnnotation::new(ink::plain(text), x, place + pixels / ROW);
            layout = layout.with_annotation(text.with_font_size(12));
        }
    }
    let mut plots: Vec<Plot> =
        vec![drawn.with_asymmetric_error(errors).with_tooltip_labels(tips).into()];
    if !crosses.is_empty() {
        let cross = ScatterPlot::new()
            .with_data(crosses)
            .with_color(ink::BAD)
            .with_size(6.0)
            .with_marker(MarkerShape::Cross)
            .with_tooltips()
            .with_tooltip_labels(reasons);
        plots.push(cross.into());
    }
    (plots, layout)
}

fn table(bars: &[Bar]) -> NumbersTable {
    let mut table = NumbersTable::new(
        "",
        ["number", "least", "greatest", "change", "trials", "without a result"],
    );
    for bar in bars {
        let none = if bar.has_failed() { "✕" } else { "-" };
        let [least, median, greatest] =
            bar.seeds.as_ref().map_or([none; 3], |(_, known)| known.each_ref().map(String::as_str));
        let trials = format!("{} of {}", bar.trials.0, bar.trials.1);
        let fields = [median, least, greatest, &bar.told, &trials, &bar.reasons()];
        table.row(bar.choice, fields);
    }
    table
}
