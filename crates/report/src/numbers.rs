//! The table of absolute numbers: a row for each cell, a column for each choice, and in each row a
//! mark at the best choice. The page, Markdown and CSV have the same table.

use disklab_compare::{Comparison, Metric};
use disklab_results::Spread;
use itertools::Itertools;
use maud::{Markup, html};

use crate::source::{CellChoice, Group, ReportSource};
use crate::standing::{Standing, standings};

/// Explains the marks of the table.
pub const MARKS: &str = "Bold: the verdicts say that it is better than every other choice in its \
    row. ≈: they say that it is the same as the best, or the best with others that are the same. \
    ?: the best, but undecided against at least one other";

/// The number of a choice in a cell, as text.
#[derive(Debug)]
pub struct CellNumber {
    /// Number, as far as it is known, or the text in its place.
    pub text: String,
    /// Range over the seeds. The text is empty if the range looks like one number.
    pub range: String,
    /// Standing, or `None` without a number.
    pub standing: Option<Standing>,
    /// Whether a trial failed to give a result.
    pub has_failed: bool,
}

impl CellNumber {
    /// Returns the sign behind the number.
    pub const fn sign(&self) -> &'static str {
        match self.standing {
            Some(Standing::AsGood) => " ≈",
            Some(Standing::Leads) => " ?",
            Some(Standing::Best | Standing::Behind) | None => "",
        }
    }
}

/// Returns the numbers of a group in the order of all choices, or `None` for a choice that the
/// group lacks.
pub fn row(source: &ReportSource, group: &Group, metric: &Metric) -> Vec<Option<CellNumber>> {
    let standings = standings(source, group, metric);
    let place = |value: &str| group.choices.iter().position(|choice| choice.value == value);
    let number = |value: &str| {
        let at = place(value)?;
        Some(number(source, group, &group.choices[at], metric, standings[at]))
    };
    source.choices().into_iter().map(number).collect()
}

fn number(
    source: &ReportSource,
    group: &Group,
    choice: &CellChoice,
    metric: &Metric,
    standing: Option<Standing>,
) -> CellNumber {
    let unit = group.unit(metric);
    let has_failed = choice.has_failed(metric);
    let shown = source.number_in_words(group, choice, metric).zip(choice.spread(metric));
    let Some((text, spread)) = shown else {
        let (words, _) = choice.without_result(metric);
        return CellNumber { text: words.to_owned(), range: String::new(), standing, has_failed };
    };
    let known = |value| choice.known(metric, value, &unit);
    let [least, most] = [spread.min, spread.max].map(known);
    let range = if least == most { String::new() } else { range(&least, &most) };
    CellNumber { text, range, standing, has_failed }
}

/// Formats a range as `5.9 to 6.1 ms`: a common unit appears once.
fn range(least: &str, most: &str) -> String {
    let unit = |text: &str| text.rsplit_once(' ').map(|(_, unit)| unit.to_owned());
    let number = least.rsplit_once(' ').filter(|_| unit(least) == unit(most));
    format!("{} to {most}", number.map_or(least, |(number, _)| number))
}

/// Letters of a value that fit on a line.
const SHORT: usize = 24;

/// Draws the table of one metric.
pub fn table(source: &ReportSource, metric: &Metric) -> Markup {
    let choices = source.choices();
    html! {
        div.scroll.numbers-of-cells tabindex="0" role="group" aria-label=(metric.name()) {
            table {
                caption { (caption(source, metric)) }
                thead { tr {
                    th scope="col" { (source.axes.join(", ")) }
                    @for choice in &choices { th scope="col" { (choice) } }
                } }
                tbody { @for group in &source.groups { tr {
                    th scope="row" { a href={"#bars-" (group.name)} {
                        // Lines break between values, not within one.
                        @for (at, part) in source.apart(group).split(' ').enumerate() {
                            @if at > 0 { " " }
                            @if part.chars().count() <= SHORT { span { (part) } }
                            @else { (part) }
                        } } }
                    @for number in row(source, group, metric) { (field(number.as_ref())) }
                } } }
            }
        }
    }
}

/// Returns the caption: `IOPS: the estimate that the verdicts use, and the range over the seeds`.
pub fn caption(source: &ReportSource, metric: &Metric) -> String {
    let unit = source.groups.iter().map(|group| group.unit(metric)).find(|unit| !unit.is_empty());
    let rate = if unit.as_deref() == Some("1/s") && *metric != Metric::Iops { ", 1/s" } else { "" };
    let what = match source.baseline {
        Some(_) => "the estimate that the verdicts use",
        None => "the median over the seeds",
    };
    format!("{}{rate}: {what}, and the range over the seeds", metric.name())
}

fn field(number: Option<&CellNumber>) -> Markup {
    let Some(number) = number else { return html! { td {} } };
    let word = number.standing.map(Standing::word).filter(|word| !word.is_empty());
    html! {
        td data-standing=[word] {
            @match number.standing {
                None => span class=(if number.has_failed { "x" } else { "to-come" }) {
                    @if number.has_failed { "✕ " } (number.text) },
                Some(Standing::Best) => b { (number.text) },
                Some(_) => { (number.text) (number.sign()) },
            }
            @if number.standing.is_some() && number.has_failed { span.x { " ✕" } }
            @if !number.range.is_empty() { small { (number.range) } }
        }
    }
}

/// Names of the first columns of [`csv`]; the axes follow.
const HEAD: [&str; 14] = [
    "metric",
    "unit",
    "choice",
    "shown",
    "least",
    "median",
    "greatest",
    "seeds",
    "baseline",
    "change_percent",
    "low_percent",
    "high_percent",
    "verdict",
    "standing",
];

/// Returns the beginning of every such file, which identifies it.
pub fn csv_begin() -> String {
    HEAD.join(",")
}

/// Returns a line for each choice of each cell and metric (RFC 4180): numbers in the record's
/// units, changes in per cent. A field without a value is empty.
pub fn csv(source: &ReportSource) -> String {
    let all = source.groups.iter().flat_map(|group| &group.cell.0);
    let axes: Vec<&str> = all.map(|(axis, _)| axis.as_str()).unique().collect();
    let mut lines = vec![HEAD.iter().chain(&axes).map(|head| quoted(head)).join(",")];
    for metric in &source.metrics {
        for group in &source.groups {
            let standings = standings(source, group, metric);
            for (choice, standing) in group.choices.iter().zip(standings) {
                let own = fields(source, group, choice, metric, standing);
                let cell = axes.iter().map(|axis| group.cell.value(axis).unwrap_or_default());
                lines.push(own.iter().map(String::as_str).chain(cell).map(quoted).join(","));
            }
        }
    }
    lines.join("\r\n") + "\r\n"
}

fn fields(
    source: &ReportSource,
    group: &Group,
    choice: &CellChoice,
    metric: &Metric,
    standing: Option<Standing>,
) -> [String; HEAD.len()] {
    let text = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    let spread = choice.spread(metric);
    let of = |value: fn(&Spread) -> f64| text(spread.as_ref().map(value));
    let comparison = source.comparison(group, &choice.value, metric);
    let change = comparison.and_then(|comparison| comparison.change);
    let verdict = |comparison: &Comparison| comparison.change.map(|_| comparison.verdict);
    [
        metric.name().to_owned(),
        group.unit(metric),
        choice.value.clone(),
        text(source.number(group, choice, metric)),
        of(|spread| spread.min),
        of(|spread| spread.median),
        of(|spread| spread.max),
        choice.results().count().to_string(),
        comparison.map(|comparison| comparison.baseline.clone()).unwrap_or_default(),
        text(change.map(|change| change.percent)),
        text(change.map(|change| change.low)),
        text(change.map(|change| change.high)),
        comparison.and_then(verdict).map(|verdict| verdict.to_string()).unwrap_or_default(),
        standing.map(Standing::word).unwrap_or_default().to_owned(),
    ]
}

/// Quotes a field of a CSV file. A text that a spreadsheet would take for a formula gets an
/// apostrophe in front.
fn quoted(field: &str) -> String {
    let is_number = field.parse::<f64>().is_ok();
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && !is_number;
    let field = if is_formula { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}

/// Formats a field in Markdown, which `plain` has escaped.
pub fn in_markdown(number: &CellNumber, plain: fn(&str) -> String) -> String {
    let text = plain(&number.text);
    let text = match number.standing {
        None if number.has_failed => return "✕".to_owned(),
        Some(Standing::Best) => format!("**{text}**"),
        _ => format!("{text}{}", number.sign()),
    };
    let range = Some(&number.range).filter(|range| !range.is_empty());
    let range = range.map(|range| format!(" ({})", plain(range))).unwrap_or_default();
    let failed = if number.has_failed { " ✕" } else { "" };
    format!("{text}{range}{failed}")
}
