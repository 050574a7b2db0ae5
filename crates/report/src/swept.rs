//! Numeric axes, and the cells along them.

use std::collections::BTreeSet;

use disklab_compare::{Metric, winner};
use disklab_config::suite::sweep::Number;
use disklab_config::suite::{Axis, SuiteAxis};
use disklab_record::outcome::Cell;
use disklab_units::prose::count;
use indexmap::IndexMap;
use maud::{Markup, html};

use crate::panel::{Nothing, Piece, Section};
use crate::source::{CellChoice, ReportSource};

/// A choice with all values of its cell, including the compared one.
pub struct Full<'s, 'a> {
    cell: Cell,
    pub choice: &'s CellChoice<'a>,
}

/// Points along an axis, with equal values of all axes but the compared one.
pub struct SweepLine<'s, 'a> {
    /// Axes and values that are equal.
    pub rest: Cell,
    /// Points in rising order.
    pub points: Vec<SweepPoint<'s, 'a>>,
    /// Whether the values are samples, in which other numbers vary together with this one.
    pub is_sampled: bool,
}

/// A value of the axis.
pub struct SweepPoint<'s, 'a> {
    pub value: String,
    pub at: f64,
    /// Choices in the order of [`series`], or `None` if there is no such cell.
    pub choices: Vec<Option<&'s CellChoice<'a>>>,
}

/// Largest number of drawn sections; the matrix has all cells.
const MOST: usize = 24;

/// Draws the first sections, the first one open. Returns the number of remaining sections too.
pub fn sections<T>(
    all: impl IntoIterator<Item = T>,
    section: impl Fn(T, bool) -> Section,
) -> (Vec<Piece>, usize) {
    let mut all = all.into_iter();
    let drawn = all.by_ref().take(MOST).enumerate();
    let sections = drawn.map(|(index, one)| Piece::Section(section(one, index == 0))).collect();
    (sections, all.count())
}

/// Says how many sections are not drawn.
pub fn not_drawn(left: usize, noun: &str) -> Markup {
    html! {
        @if left > 0 {
            p { "Not drawn: " (count(left, noun)) "; " a href="#matrix" { "All cells" }
                " has their numbers." }
        }
    }
}

/// Returns all cells, and their numeric axes.
pub fn over_numbers<'s, 'a>(
    source: &'s ReportSource<'a>,
) -> Result<(Vec<Full<'s, 'a>>, Vec<String>), Nothing> {
    let cells = all(source);
    let axes = axes(&cells);
    if axes.is_empty() {
        let why = "No axis of these cells is numeric.";
        return Err(Nothing::Elsewhere(why.to_owned()));
    }
    Ok((cells, axes))
}

/// Returns the value of a numeric axis as a number.
pub fn number(axis: &str, value: &str) -> Option<f64> {
    let is_over_numbers = match axis.parse::<SuiteAxis>() {
        Ok(SuiteAxis::Parameter(_)) => true,
        Ok(SuiteAxis::Named(axis)) => axis == Axis::Jobs,
        Err(_) => false,
    };
    if is_over_numbers { value.parse::<Number>().ok().map(Number::value) } else { None }
}

/// Returns all cells.
pub fn all<'s, 'a>(source: &'s ReportSource<'a>) -> Vec<Full<'s, 'a>> {
    let of = |group: &'s crate::source::Group<'a>| {
        group.choices.iter().map(move |choice| {
            let own = (source.compared.clone(), choice.value.clone());
            Full { cell: Cell(group.cell.0.iter().cloned().chain([own]).collect()), choice }
        })
    };
    source.groups.iter().flat_map(of).collect()
}

/// Returns the numeric axes in the order of the cells. An axis with any other value is not numeric,
/// and two numbers of jobs are a comparison in place of a range.
pub fn axes(cells: &[Full]) -> Vec<String> {
    let mut axes: Vec<String> = Vec::new();
    let names = cells.first().into_iter().flat_map(|full| full.cell.0.iter().map(|(axis, _)| axis));
    for axis in names {
        let numbers: Option<BTreeSet<u64>> = cells
            .iter()
            .map(|full| Some(number(axis, full.cell.value(axis)?)?.to_bits()))
            .collect();
        let least = if axis == Axis::Jobs.as_str() { 3 } else { 2 };
        if numbers.is_some_and(|numbers| numbers.len() >= least) {
            axes.push(axis.clone());
        }
    }
    axes
}

/// Returns the names of the lines: the compared axis's values, unless the lines go along that axis.
pub fn series<'s>(source: &'s ReportSource, along: &[&str]) -> Vec<&'s str> {
    if along.contains(&source.compared.as_str()) { vec![""] } else { source.choices() }
}

/// Returns the index of a cell among the series.
fn place(full: &Full, source: &ReportSource, series: &[&str]) -> Option<usize> {
    if series == [""] {
        Some(0)
    } else {
        series.iter().position(|name| full.cell.value(&source.compared) == Some(*name))
    }
}

/// Splits a cell into the part without some axes, and these axes.
fn split(cell: &Cell, axes: &[&str]) -> (Cell, Cell) {
    let (own, rest) =
        cell.0.iter().cloned().partition(|(axis, _): &(String, _)| axes.contains(&axis.as_str()));
    (Cell(rest), Cell(own))
}

/// Returns the cells along an axis, with equal values of all axes but those in `together`. These
/// are this axis alone, or several that vary together, as in samples of a hypercube.
fn lines<'s, 'a>(
    source: &ReportSource,
    cells: &'s [Full<'s, 'a>],
    axis: &str,
    together: &[&str],
    series: &[&str],
) -> Vec<SweepLine<'s, 'a>> {
    let line = |Cloud { rest, marks }: Cloud<'s, 'a>| {
        let mut points: IndexMap<Cell, SweepPoint> = IndexMap::new();
        for (own, numbers, choice) in marks {
            let Some(value) = numbers.value(axis).map(str::to_owned) else { continue };
            let Some(at) = number(axis, &value) else { continue };
            let new = || SweepPoint { value, at, choices: vec![None; series.len()] };
            points.entry(numbers).or_insert_with(new).choices[own] = Some(choice);
        }
        let mut points: Vec<SweepPoint> = points.into_values().collect();
        points.sort_by(|one, other| one.at.total_cmp(&other.at));
        SweepLine { rest, points, is_sampled: together != [axis] }
    };
    let lines = clouds(source, cells, together).into_iter().map(line);
    lines.filter(|line| line.points.len() > 1).collect()
}

/// Lines along an axis, or samples if there are no lines.
pub struct Along<'s, 'a> {
    pub axis: String,
    pub line: SweepLine<'s, 'a>,
    /// Names of the lines, by [`series`].
    pub series: Vec<&'s str>,
}

pub fn along<'s, 'a>(
    source: &'s ReportSource<'a>,
    cells: &'s [Full<'s, 'a>],
) -> Vec<Along<'s, 'a>> {
    let axes = axes(cells);
    let (mut found, mut sampled) = (Vec::new(), Vec::new());
    for axis in &axes {
        let series = series(source, &[axis]);
        let lines = lines(source, cells, axis, &[axis], &series);
        if lines.is_empty() {
            sampled.push(axis.as_str());
        }
        let along = |line| Along { axis: axis.clone(), line, series: series.clone() };
        found.extend(lines.into_iter().map(along));
    }
    let series = series(source, &sampled);
    for axis in &sampled {
        let along = |line| Along { axis: (*axis).to_owned(), line, series: series.clone() };
        found.extend(lines(source, cells, axis, &sampled, &series).into_iter().map(along));
    }
    found
}

impl Along<'_, '_> {
    /// Says at which values the best choice changes.
    pub fn winner(&self, metric: &Metric) -> Option<String> {
        let Self { line, series, .. } = self;
        // A choice that none of these cells has, such as a policy on disks without a mirror, is not
        // missing.
        let is_there = |at: &usize| {
            line.points.iter().any(|point| point.choices.get(*at).is_some_and(Option::is_some))
        };
        let there: Vec<usize> = (0..series.len()).filter(is_there).collect();
        let choices: Vec<&str> = there.iter().filter_map(|at| series.get(*at).copied()).collect();
        let spread = |choice: Option<&CellChoice>| choice.and_then(|choice| choice.spread(metric));
        let spreads: Vec<Vec<_>> = line
            .points
            .iter()
            .map(|point| {
                there.iter().map(|at| spread(point.choices.get(*at).copied().flatten())).collect()
            })
            .collect();
        let all = || line.points.iter().flat_map(|point| point.choices.iter().flatten());
        let better = metric.better(all().flat_map(|choice| choice.outcomes()));
        let points: Vec<&str> = line.points.iter().map(|point| point.value.as_str()).collect();
        let sentence = if line.is_sampled {
            winner::sentence_of_samples(&spreads, better, &points, &choices)
        } else {
            winner::sentence(&winner::stretches(&spreads, better), &points, &choices)
        };
        // With one seed each, the first choice is first in all of its seeds.
        let of_one = all().all(|choice| choice.results().count() < 2);
        let caution =
            if of_one { " (one seed each: another seed may give another result)" } else { "" };
        sentence.map(|sentence| sentence + caution)
    }

    /// Returns the title: `IOPS over disk.2.seek`.
    pub fn title(&self, metric: &Metric) -> String {
        format!("{} over {}", metric.name(), self.axis)
    }
}

/// Cells over two axes, with equal values of all others.
pub struct SweepMap<'s, 'a> {
    pub rest: Cell,
    /// Values of each axis, and the choice.
    pub marks: Vec<([String; 2], &'s CellChoice<'a>)>,
}

/// Returns the cells over two axes. The compared axis is among the equal ones, unless it is one of
/// the two. If `sampled`, all other numeric axes vary together with these.
pub fn fields<'s, 'a>(
    cells: &'s [Full<'s, 'a>],
    axes: [&str; 2],
    sampled: &[&str],
) -> Vec<SweepMap<'s, 'a>> {
    let without: Vec<&str> = axes.iter().chain(sampled).copied().collect();
    let mut fields: IndexMap<Cell, Vec<_>> = IndexMap::new();
    for full in cells {
        let [Some(x), Some(y)] = axes.map(|axis| full.cell.value(axis)) else { continue };
        let (rest, _) = split(&full.cell, &without);
        fields.entry(rest).or_default().push(([x.to_owned(), y.to_owned()], full.choice));
    }
    fields.into_iter().map(|(rest, marks)| SweepMap { rest, marks }).collect()
}

/// Cells that differ in numbers and in the compared axis only.
pub struct Cloud<'s, 'a> {
    pub rest: Cell,
    /// Index of its series, its numbers, and the choice.
    pub marks: Vec<(usize, Cell, &'s CellChoice<'a>)>,
}

pub fn clouds<'s, 'a>(
    source: &ReportSource,
    cells: &'s [Full<'s, 'a>],
    axes: &[&str],
) -> Vec<Cloud<'s, 'a>> {
    let series = series(source, axes);
    let mut clouds: IndexMap<Cell, Vec<_>> = IndexMap::new();
    for full in cells {
        let Some(own) = place(full, source, &series) else { continue };
        let (rest, numbers) = split(&full.cell, axes);
        let mark = (own, numbers, full.choice);
        clouds.entry(rest.without(&source.compared)).or_default().push(mark);
    }
    clouds.into_iter().map(|(rest, marks)| Cloud { rest, marks }).collect()
}
