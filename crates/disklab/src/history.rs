//! `disklab history`: one metric of each cell over many records of a suite.

mod entries;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use disklab_compare::conclusion::more_seeds;
use disklab_compare::{
    CellIndex, Comparison, DecisionRule, ErrorControl, Metric, MetricUse, RECORD, RelativeChange,
    Trust, answer, compare, default_metrics, match_across,
};
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status};
use disklab_report::chart::Provenance;
use disklab_report::history::{HistoryLine, HistoryPoint, chart};
use disklab_results::Spread;
use disklab_stats::{Verdict, change_points, penalty};
use indexmap::IndexMap;
use serde_json::{Value, json};

use crate::compare::{chance, print_more_seeds, share};
use crate::exit::{Exit, Failure, cannot, mistaken};
use crate::home::from_here;
use crate::screen::Screen;
use crate::sparkline::sparkline;
use crate::table::TextTable;
use crate::words::{self, or_dash};
use crate::{records, report, whole_file};
use entries::{Entry, Order, sort};

/// Show one metric of each cell over all records of a suite.
///
/// The command is for suites that run every night. Each record is compared with the first one, the
/// previous one, or a named one. Change points, at which a new level begins, are marked: PELT over
/// the medians finds steps of at least the smallest effect that last two records or more.
#[derive(Debug, clap::Args)]
pub struct HistoryArgs {
    /// A suite, for all of its records in ./records, or records.
    #[arg(required = true, value_name = "SUITE|RUN")]
    targets: Vec<String>,

    /// The metric to show [default: the first that the suite names, or else iops].
    #[arg(long)]
    metric: Option<Metric>,

    /// The record to compare each record with: first, previous, or a name.
    #[arg(long, value_name = "first|previous|RUN", default_value = "first")]
    against: String,

    /// The order and the names of the records.
    #[arg(long, value_enum, default_value_t = Order::Date)]
    by: Order,

    /// The least change that matters, in per cent.
    #[arg(long, value_name = "PERCENT", default_value = "2%", value_parser = share)]
    smallest_effect: f64,

    /// The share of wrong verdicts that is accepted within a record (false discovery rate).
    #[arg(long, default_value_t = 0.05, value_parser = chance)]
    alpha: f64,

    /// The format of the output.
    #[arg(long, value_enum, default_value_t = HistoryFormat::Table)]
    format: HistoryFormat,

    /// A new file to write, in place of standard output: a picture (.svg) or a table (.csv).
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum HistoryFormat {
    Table,
    /// A row for each cell and record.
    Csv,
}

/// History of a cell over all records.
struct CellHistory {
    cell: Cell,
    /// Values of the axes in which the cells differ.
    name: String,
    points: Vec<CellPoint>,
}

/// Result of a cell in one record.
#[derive(Default)]
struct CellPoint {
    value: Option<f64>,
    /// Number of trials with a value.
    trials: usize,
    /// Comparison with the cell of the reference record.
    comparison: Option<Comparison>,
    begins_level: bool,
}

impl CellPoint {
    fn change(&self) -> Option<RelativeChange> {
        self.comparison.as_ref()?.change
    }

    fn verdict(&self) -> Option<Verdict> {
        let known = self.comparison.as_ref().filter(|comparison| comparison.change.is_some());
        known.map(|comparison| comparison.verdict)
    }

    fn verdict_in_words(&self) -> Option<String> {
        self.verdict().and(self.comparison.as_ref()).map(Comparison::verdict_in_words)
    }
}

/// Contents of the output.
struct History {
    suite: String,
    metric: Metric,
    unit: String,
    entries: Vec<Entry>,
    cells: Vec<CellHistory>,
    /// Reasons why some records could not be compared.
    remarks: Vec<String>,
}

pub fn history(args: &HistoryArgs, screen: &Screen) -> Result<Exit, Failure> {
    let is_picture = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "svg");
    let output = match args.output.as_ref().filter(is_picture) {
        Some(picture) => Some(picture.as_path()),
        None => whole_file::new_file(args.output.as_ref())?,
    };
    let ending = output.map(|path| path.extension().unwrap_or_default().to_string_lossy());
    if let Some(ending) = ending.as_deref().filter(|ending| !["svg", "csv"].contains(ending)) {
        return Err(mistaken!(
            "-o: unknown ending `.{ending}`; name a file that ends in .svg or .csv"
        ));
    }
    let history = gather(args, screen)?;
    for remark in &history.remarks {
        screen.remark(remark);
    }
    if let Some(output) = output {
        let text = match ending.as_deref() {
            Some("svg") => history.picture(args),
            _ => history.csv()?,
        };
        // An old picture is replaced, as a report is. A table has no mark of its origin, and is
        // kept.
        match ending.as_deref() {
            Some("svg") => report::write(output, text.as_bytes())?,
            _ => whole_file::write_text(output, &text)?,
        }
        if screen.json {
            let document = json!({ "file": output, "bytes": text.len() });
            screen.json_named("history-file", &document)?;
        } else {
            screen.print(|out| Ok(writeln!(out, "{}", output.display())?))?;
        }
        return Ok(Exit::Ok);
    }
    if !screen.json && args.format == HistoryFormat::Csv {
        let text = history.csv()?;
        screen.print(|out| Ok(out.write_all(text.as_bytes())?))?;
        return Ok(Exit::Ok);
    }
    screen.present(&history.json(args), |out| history.print(args, screen, out))?;
    Ok(Exit::Ok)
}

fn gather(args: &HistoryArgs, screen: &Screen) -> Result<History, Failure> {
    let mut entries = entries::find(&args.targets, args.by, screen)?;
    sort(&mut entries, args.by);
    let suites: BTreeSet<&str> =
        entries.iter().map(|entry| entry.record.manifest().suite.name.as_str()).collect();
    if suites.len() > 1 {
        let names = suites.into_iter().collect::<Vec<_>>().join(", ");
        return Err(mistaken!(
            "the records are of several suites: {names}; name records of one suite"
        ));
    }
    let suite = suites.into_iter().next().unwrap_or_default().to_owned();
    let indexes: Vec<CellIndex> =
        entries.iter().map(|entry| CellIndex::new(&entry.record)).collect();
    let metric = match &args.metric {
        Some(metric) => metric.clone(),
        None => default_metrics(&indexes, MetricUse::Verdicts).swap_remove(0),
    };
    let apart = is_kernel_apart(&entries);
    let key = |cell: &Cell| if apart { cell.without(KERNEL) } else { cell.clone() };
    let mut cells: IndexMap<Cell, Vec<CellPoint>> = IndexMap::new();
    let number = entries.len();
    for (at, entry) in entries.iter().enumerate() {
        let mut values: IndexMap<Cell, Vec<f64>> = IndexMap::new();
        for outcome in counted(&entry.record) {
            let value = metric.value_in(outcome);
            values.entry(key(&outcome.cell)).or_default().extend(value);
        }
        for (cell, values) in values {
            let points = cells
                .entry(cell)
                .or_insert_with(|| (0..number).map(|_| CellPoint::default()).collect());
            points[at].trials = values.len();
            points[at].value = Spread::over(values).map(|spread| spread.median);
        }
    }
    let measured = |points: &Vec<CellPoint>| points.iter().any(|point| point.value.is_some());
    cells.retain(|_, points| measured(points));
    if cells.is_empty() {
        return Err(mistaken!(
            "none of {} has the number {}; --metric takes {}, or the name of another number of a \
             record",
            words::count(number, "record"),
            metric.name(),
            Metric::known()
        ));
    }
    let outcomes = || entries.iter().flat_map(|entry| counted(&entry.record));
    let unit = metric.unit(outcomes());
    let with = match args.against.as_str() {
        "first" | "previous" => None,
        run => Some(records::open(run, screen)?),
    };
    let fixed = with.as_ref().map(CellIndex::new);
    let mut remarks = Vec::new();
    for at in 0..number {
        let base = match (&fixed, args.against.as_str()) {
            (Some(fixed), _) => fixed,
            // The first record has no previous one.
            (None, _) if at == 0 => continue,
            (None, "previous") => &indexes[at - 1],
            (None, _) => &indexes[0],
        };
        match judged(base, &indexes[at], &metric, apart, args) {
            Ok(comparisons) => {
                for comparison in comparisons {
                    if let Some(points) = cells.get_mut(&key(&comparison.cell)) {
                        points[at].comparison = Some(comparison);
                    }
                }
            }
            Err(why) => remarks.push(format!("cannot compare {}: {why}", entries[at].name)),
        }
    }
    let names = names(cells.keys());
    let mut cells: Vec<CellHistory> = cells
        .into_iter()
        .zip(names)
        .map(|((cell, points), name)| CellHistory { cell, name, points })
        .collect();
    for cell in &mut cells {
        cell.mark_levels(args.smallest_effect)?;
    }
    drop(indexes);
    Ok(History { suite, metric, unit, entries, cells, remarks })
}

const KERNEL: &str = "kernel";

/// Names cells by the values of the axes in which they differ.
fn names<'c>(cells: impl Iterator<Item = &'c Cell>) -> Vec<String> {
    let cells: Vec<&Cell> = cells.collect();
    let differs =
        |axis: &str| cells.iter().map(|cell| cell.value(axis)).collect::<BTreeSet<_>>().len() > 1;
    let name = |cell: &&Cell| {
        let own = cell.0.iter().filter(|(axis, _)| differs(axis)).cloned();
        let name = answer::values(&Cell(own.collect()));
        if name.is_empty() { "all".to_owned() } else { name }
    };
    cells.iter().map(name).collect()
}

/// Returns true if each record has one kernel, so that the kernel axis only distinguishes records.
fn is_kernel_apart(entries: &[Entry]) -> bool {
    entries.iter().all(|entry| {
        let values = counted(&entry.record).map(|outcome| outcome.cell.value(KERNEL));
        values.collect::<BTreeSet<_>>().len() <= 1
    })
}

/// Returns the trials that count, in the order of the suite. The order of lines is that in which
/// trials that ran side by side ended.
fn counted(record: &Record) -> impl Iterator<Item = &Outcome> {
    let outcomes = record.outcomes().into_iter().filter_map(|(_, outcome)| outcome);
    outcomes.filter(|outcome| outcome.status == Status::Ok && outcome.is_sound())
}

fn judged(
    base: &CellIndex,
    index: &CellIndex,
    metric: &Metric,
    apart: bool,
    args: &HistoryArgs,
) -> Result<Vec<Comparison>, String> {
    // No cell has both axes.
    let axis = if apart { KERNEL } else { RECORD };
    let matched =
        match_across(base, index, axis, Trust::Sound).map_err(|error| error.to_string())?;
    let rule = DecisionRule {
        alpha: args.alpha,
        smallest_effect: args.smallest_effect,
        error_control: ErrorControl::Fdr,
    };
    compare(&matched, std::slice::from_ref(metric), rule, None).map_err(|error| error.to_string())
}

impl CellHistory {
    /// Marks the records at which a new level begins.
    fn mark_levels(&mut self, smallest_effect: f64) -> Result<(), Failure> {
        let (places, values): (Vec<usize>, Vec<f64>) = self
            .points
            .iter()
            .enumerate()
            .filter_map(|(at, point)| Some((at, point.value?)))
            .unzip();
        let Some(spread) = Spread::over(values.iter().copied()).filter(|_| values.len() > 1) else {
            return Ok(());
        };
        // Equal medians have no noise. Without a least noise, every rounding would be a step.
        let least = (spread.median * smallest_effect).powi(2);
        let penalty = penalty(&values).map_err(Failure::cannot)?.max(least);
        for cut in change_points(&values, penalty).map_err(Failure::cannot)? {
            self.points[places[cut]].begins_level = true;
        }
        Ok(())
    }

    /// Draws the values as bars between the least and the greatest, which differ by at least 2 %.
    fn trend(&self) -> String {
        let values = || self.points.iter().filter_map(|point| point.value);
        let (low, high) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        let room = (high - low).max(high.abs() * 0.02);
        let parts: Vec<Option<f64>> = self
            .points
            .iter()
            .map(|point| point.value.map(|value| value - low + (room - (high - low)) / 2.0))
            .collect();
        sparkline(&parts, room)
    }
}

impl History {
    /// Returns the labels below a picture. If each record has its own day, they are days.
    fn words(&self) -> Vec<String> {
        let days = || self.entries.iter().map(|entry| entry.word.split(' ').next());
        let is_apart = days().collect::<BTreeSet<_>>().len() == self.entries.len();
        let word = |entry: &Entry| match entry.word.split_once(' ') {
            Some((day, _)) if is_apart => day.to_owned(),
            _ => entry.word.clone(),
        };
        self.entries.iter().map(word).collect()
    }

    fn against(&self, args: &HistoryArgs) -> String {
        match args.against.as_str() {
            "first" => format!("the first, {}", self.entries[0].name),
            "previous" => "the previous one".to_owned(),
            run => run.to_owned(),
        }
    }

    fn print(
        &self,
        args: &HistoryArgs,
        screen: &Screen,
        out: &mut dyn Write,
    ) -> Result<(), Failure> {
        let (first, last) = (&self.entries[0], &self.entries[self.entries.len() - 1]);
        let head = format!(
            "{} of {} in {}, from {} ({}) to {} ({}); the last is compared with {}.",
            self.metric.name(),
            if self.suite.is_empty() { "imported results" } else { &self.suite },
            words::count(self.entries.len(), "record"),
            first.name,
            first.word,
            last.name,
            last.word,
            self.against(args)
        );
        screen.prose(&head, "", out)?;
        writeln!(out)?;
        let mut table = TextTable::with_heads(
            "cell|trend|>compared with|>last|>change|>interval|verdict",
            screen.color,
        );
        for cell in &self.cells {
            let value = |point: Option<&CellPoint>| {
                let value = point.and_then(|point| point.value);
                or_dash(value.map(|value| answer::value(value, &self.unit)))
            };
            let last = cell.points.last();
            let compared = last.and_then(|last| last.comparison.as_ref());
            let (change, interval) = answer::change_and_interval(last.and_then(CellPoint::change));
            let words = last.and_then(|last| Some((last.verdict_in_words()?, last.verdict()?)));
            let verdict = words.map(|(words, verdict)| screen.paint(&words, verdict.into()));
            // The estimates of the comparison, if there is one.
            let (own, base) = match compared {
                Some(comparison) => comparison.numbers_in_words(),
                None => (value(last), "-".to_owned()),
            };
            table.row([
                cell.name.clone(),
                cell.trend(),
                base,
                own,
                change,
                interval,
                or_dash(verdict),
            ]);
        }
        table.print(screen, "", out)?;
        let mut levels = String::new();
        for cell in &self.cells {
            for (point, entry) in cell.points.iter().zip(&self.entries) {
                if let (true, Some(value)) = (point.begins_level, point.value) {
                    let value = answer::value(value, &self.unit);
                    // Writing to a string cannot fail.
                    let _ = writeln!(
                        levels,
                        "{}: a new level begins with {} ({}), {value}",
                        cell.name, entry.name, entry.word
                    );
                }
            }
        }
        if !levels.is_empty() {
            write!(out, "\n{levels}")?;
        }
        let last = self.cells.iter().filter_map(|cell| cell.points.last()?.comparison.clone());
        let last: Vec<Comparison> = last.collect();
        let more =
            more_seeds(&last, &[CellIndex::new(&self.entries[self.entries.len() - 1].record)]);
        if more.is_some() {
            writeln!(out)?;
        }
        print_more_seeds(more.as_ref(), screen, out)
    }

    fn json(&self, args: &HistoryArgs) -> Value {
        let entry = |entry: &Entry| {
            json!({
                "name": entry.name, "folder": from_here(entry.record.folder()),
                "created": entry.record.manifest().created, "kernels": entry.kernels,
            })
        };
        let numbers = |point: &CellPoint| point.comparison.as_ref().map(Comparison::numbers);
        let point = |(point, entry): (&CellPoint, &Entry)| {
            json!({
                "record": entry.name, "value": point.value, "trials": point.trials,
                "change": point.change(),
                "verdict": point.verdict().map(|verdict| verdict.to_string()),
                "too_few_seeds": point.comparison.as_ref().is_some_and(|own| own.too_few_seeds),
                "estimate": numbers(point).map(|numbers| numbers.0),
                "compared_with": numbers(point).map(|numbers| numbers.1),
                "change_point": point.begins_level,
            })
        };
        let cell = |cell: &CellHistory| {
            json!({
                "cell": cell.cell,
                "points": cell.points.iter().zip(&self.entries).map(point).collect::<Vec<_>>(),
            })
        };
        json!({
            "suite": self.suite, "metric": self.metric, "unit": self.unit,
            "against": args.against, "remarks": self.remarks,
            "records": self.entries.iter().map(entry).collect::<Vec<_>>(),
            "cells": self.cells.iter().map(cell).collect::<Vec<_>>(),
        })
    }

    fn csv(&self) -> Result<String, Failure> {
        let mut table = csv::Writer::from_writer(Vec::new());
        let mut write = || -> csv::Result<()> {
            table.write_record([
                "record",
                "created",
                "kernels",
                "cell",
                "metric",
                "unit",
                "trials",
                "value",
                "change, %",
                "low, %",
                "high, %",
                "verdict",
                "change point",
            ])?;
            for cell in &self.cells {
                for (point, entry) in cell.points.iter().zip(&self.entries) {
                    let number = |value: Option<f64>| {
                        value.map(|value| value.to_string()).unwrap_or_default()
                    };
                    table.write_record([
                        entry.name.clone(),
                        entry.record.manifest().created.clone(),
                        entry.kernels.clone(),
                        cell.name.clone(),
                        self.metric.name().to_owned(),
                        self.unit.clone(),
                        point.trials.to_string(),
                        number(point.value),
                        number(point.change().map(|change| change.percent)),
                        number(point.change().map(|change| change.low)),
                        number(point.change().map(|change| change.high)),
                        point.verdict_in_words().unwrap_or_default(),
                        point.begins_level.to_string(),
                    ])?;
                }
            }
            Ok(())
        };
        write().map_err(Failure::cannot)?;
        let bytes = table.into_inner().map_err(Failure::cannot)?;
        String::from_utf8(bytes).map_err(|error| cannot!("the table is not text: {error}"))
    }

    fn picture(&self, args: &HistoryArgs) -> String {
        let point = |point: &CellPoint| HistoryPoint {
            value: point.value,
            verdict: point.verdict(),
            begins_level: point.begins_level,
        };
        let line = |cell: &CellHistory| HistoryLine {
            name: cell.name.clone(),
            points: cell.points.iter().map(point).collect(),
        };
        let lines: Vec<HistoryLine> = self.cells.iter().map(line).collect();
        let title = format!(
            "{}: {} in {}, compared with {}",
            self.suite,
            self.metric.name(),
            words::count(self.entries.len(), "record"),
            self.against(args)
        );
        let names: Vec<&str> = self.entries.iter().map(|entry| entry.name.as_str()).collect();
        chart(&title, &self.unit, &self.words(), &lines).standalone(&Provenance {
            records: names.join(", "),
            command: words::command_line(),
            disklab: env!("CARGO_PKG_VERSION").to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(values: &[f64]) -> CellHistory {
        let point = |value: &f64| CellPoint { value: Some(*value), ..CellPoint::default() };
        CellHistory {
            cell: Cell::default(),
            name: String::new(),
            points: values.iter().map(point).collect(),
        }
    }

    #[test]
    fn a_step_that_lasts_is_marked_and_rounding_is_not() {
        let levels = |values: &[f64]| {
            let mut cell = cell(values);
            cell.mark_levels(0.02).expect("numbers");
            let marked = cell.points.iter().enumerate().filter(|(_, point)| point.begins_level);
            marked.map(|(at, _)| at).collect::<Vec<_>>()
        };
        assert_eq!(levels(&[100.0, 100.0, 100.0, 90.0, 90.0]), [3]);
        assert_eq!(levels(&[100.0, 100.0 + 1e-12, 100.0, 100.0]), [0; 0]);
        assert_eq!(levels(&[100.0, 101.0, 100.0, 101.0, 100.0]), [0; 0]);
        assert_eq!(levels(&[100.0]), [0; 0]);
    }

    #[test]
    fn a_flat_line_is_in_the_middle() {
        assert_eq!(cell(&[5.0, 5.0]).trend(), "\u{2585}\u{2585}");
        assert_eq!(cell(&[1.0, 2.0]).trend(), "\u{2581}\u{2588}");
    }
}
