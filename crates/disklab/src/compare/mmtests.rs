//! Verdicts in the form of MMTests' `compare-mmtests.pl`. The baseline comes first, then a column
//! for each treatment, with gains in per cent. If the suite crosses numbers of jobs, each of the
//! other cells has a table with a row for each number of jobs (clients).
//!
//! As in MMTests, a positive percentage is a gain, for rates and for times; `( 1.23%)` is not
//! certain, and `* 1.23%*` is. The differences to MMTests: the percentage is the change by
//! disklab's methods, a word gives the verdict, and values are the two numbers of the change.
//! MMTests ends with user, system and elapsed time; code takes no such time in virtual time.

use std::io::{self, Write};

use disklab_compare::{Comparison, Metric, answer};
use disklab_config::suite::Axis;
use disklab_record::outcome::Cell;
use disklab_stats::{Better, Verdict};
use indexmap::{IndexMap, IndexSet};
use itertools::Itertools;

use crate::words::or_dash;

/// Width of a value, with two digits after the point.
const VALUE: usize = 12;
/// Width of a percentage such as `(   1.23%)`.
const PERCENT: usize = 11;
/// Width of a verdict such as `too few seeds`.
const WORD: usize = 13;
const COLUMN: usize = VALUE + 1 + PERCENT + 1 + WORD;

/// Prints the tables. `in_virtual_time` is true for records of guests, and false for real machines.
pub fn print(
    comparisons: &[Comparison],
    in_virtual_time: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut tables: IndexMap<(&Metric, Cell), Vec<&Comparison>> = IndexMap::new();
    for comparison in comparisons {
        let key = (&comparison.metric, table_of(&comparison.cell));
        tables.entry(key).or_default().push(comparison);
    }
    for (index, ((_, of), own)) in tables.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        table(own, of, out)?;
    }
    if in_virtual_time {
        writeln!(
            out,
            "\nUser, system and elapsed time are left out: in virtual time, code takes none."
        )?;
    }
    Ok(())
}

/// Returns the table that holds a cell's row: the cell's values without the number of jobs. The
/// result is empty for a cell without a number of jobs.
fn table_of(cell: &Cell) -> Cell {
    let jobs = Axis::Jobs.as_str();
    if cell.value(jobs).is_none() {
        return Cell::default();
    }
    Cell(cell.0.iter().filter(|(axis, _)| axis != jobs).cloned().collect())
}

fn table(comparisons: &[&Comparison], of_cell: &Cell, out: &mut dyn Write) -> io::Result<()> {
    let first = comparisons[0];
    let treatments: IndexSet<&str> =
        comparisons.iter().map(|comparison| comparison.treatment.as_str()).collect();
    let mut cells: IndexMap<&Cell, Vec<&Comparison>> = IndexMap::new();
    for comparison in comparisons {
        cells.entry(&comparison.cell).or_default().push(comparison);
    }
    let label = |cell: &Cell| match cell.value(Axis::Jobs.as_str()) {
        Some(jobs) => format!("Estimate  {jobs}"),
        None => format!("Estimate  {}", answer::values(cell)),
    };
    let width = cells.keys().map(|cell| label(cell).chars().count()).max().unwrap_or(0);
    let (unit, scale) = scaled(&first.unit);
    let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
    let whose = answer::values(of_cell);
    let whose = if whose.is_empty() { whose } else { format!(": {whose}, by number of jobs") };
    writeln!(out, "{}{unit}{whose}", first.metric.name())?;
    // The baseline has no verdict.
    let plain = VALUE + 1 + PERCENT;
    let baseline = format!("{:width$}  {:>plain$}", "", shortened(&first.baseline, plain));
    let mut heads = treatments.iter().map(|name| {
        let name = shortened(name, plain);
        format!("  {name:>plain$} {:WORD$}", "")
    });
    writeln!(out, "{}", (baseline + &heads.join("")).trim_end())?;
    for (cell, own) in cells {
        let baseline = own[0].numbers().1.map(|number| number / scale);
        let mut columns = treatments.iter().map(|treatment| {
            let found = own.iter().find(|comparison| comparison.treatment == *treatment);
            let column = found.map(|comparison| column(comparison, scale));
            format!("  {:COLUMN$}", column.unwrap_or_default())
        });
        let line = format!("{:width$}  {}", label(cell), field(baseline, Some(0.0), false));
        writeln!(out, "{}", (line + &columns.join("")).trim_end())?;
    }
    Ok(())
}

/// Returns a readable unit for a number with two digits after the point, and its size.
fn scaled(unit: &str) -> (&str, f64) {
    match unit {
        "ns" => ("ms", 1e6),
        "bytes/s" => ("MiB/s", f64::from(1 << 20)),
        other => (other, 1.0),
    }
}

fn column(comparison: &Comparison, scale: f64) -> String {
    let sign = match comparison.better {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
    };
    let certain = matches!(comparison.verdict, Verdict::Better | Verdict::Worse);
    let field = field(
        comparison.numbers().0.map(|number| number / scale),
        comparison.change.map(|change| sign * change.percent),
        certain,
    );
    format!("{field} {:WORD$}", comparison.verdict_in_words())
}

fn field(value: Option<f64>, percent: Option<f64>, certain: bool) -> String {
    let value = or_dash(value.map(|value| format!("{value:.2}")));
    let percent = or_dash(percent.map(|percent| format!("{:.2}%", percent + 0.0)));
    let inner = PERCENT - 2;
    let (open, close) = if certain { ('*', '*') } else { ('(', ')') };
    format!("{value:>VALUE$} {open}{percent:>inner$}{close}")
}

fn shortened(name: &str, most: usize) -> String {
    let letters = name.chars().count();
    if letters <= most { name.to_owned() } else { name.chars().skip(letters - most).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_compare::RelativeChange;
    use disklab_compare::comparison::Modes;

    fn comparison(metric: Metric, better: Better, percent: f64, verdict: Verdict) -> Comparison {
        Comparison {
            cell: disklab_testkit::cell(&[("array", "hdd-raid1")]),
            metric,
            treatment: "queue".to_owned(),
            baseline: "pid".to_owned(),
            paired: true,
            trials: (5, 5),
            unit: "1/s".to_owned(),
            censored: (None, None),
            limits: (None, None),
            better,
            treatment_median: None,
            baseline_median: None,
            treatment_estimate: Some(100.0 + percent),
            baseline_estimate: Some(100.0),
            modes: Modes::default(),
            change: Some(RelativeChange { percent, low: percent, high: percent }),
            noise: None,
            verdict,
            seeds_to_decide: None,
            no_choice: None,
            seeds_at_least: false,
            too_few_seeds: false,
            remarks: Vec::new(),
        }
    }

    #[test]
    fn a_gain_is_positive_whichever_way_is_good() {
        let all = [
            comparison(Metric::Iops, Better::Higher, 12.5, Verdict::Better),
            comparison(Metric::P99, Better::Lower, 1.5, Verdict::Undecided),
            Comparison {
                unit: "ns".to_owned(),
                baseline_estimate: Some(2e6),
                ..comparison(Metric::Mean, Better::Lower, 0.0, Verdict::Same)
            },
        ];
        let mut out = Vec::new();
        print(&all, false, &mut out).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\
IOPS, 1/s
                                          pid                     queue
Estimate  hdd-raid1        100.00 (    0.00%)        112.50 *   12.50%* better

p99, 1/s
                                          pid                     queue
Estimate  hdd-raid1        100.00 (    0.00%)        101.50 (   -1.50%) undecided

mean latency, ms
                                          pid                     queue
Estimate  hdd-raid1          2.00 (    0.00%)          0.00 (    0.00%) same
"
        );
    }

    #[test]
    fn numbers_of_clients_are_rows_and_kernels_columns() {
        let of =
            |kernel: &str, workload: &str, jobs: &str, percent: f64, verdict: Verdict| Comparison {
                cell: disklab_testkit::cell(&[("workload", workload), ("jobs", jobs)]),
                treatment: kernel.to_owned(),
                baseline: "7.2".to_owned(),
                ..comparison(Metric::Iops, Better::Higher, percent, verdict)
            };
        let all = [
            of("7.3", "dbench", "1", 0.0, Verdict::Same),
            of("./linux@v7.4", "dbench", "1", 8.0, Verdict::Better),
            of("7.3", "dbench", "128", -4.0, Verdict::Worse),
            of("7.3", "fsmark", "1", 1.0, Verdict::Undecided),
        ];
        let mut out = Vec::new();
        print(&all, true, &mut out).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "\
IOPS, 1/s: dbench, by number of jobs
                                    7.2                       7.3                            \
             ./linux@v7.4
Estimate  1          100.00 (    0.00%)        100.00 (    0.00%) same                 \
             108.00 *    8.00%* better
Estimate  128        100.00 (    0.00%)         96.00 *   -4.00%* worse

IOPS, 1/s: fsmark, by number of jobs
                                  7.2                       7.3
Estimate  1        100.00 (    0.00%)        101.00 (    1.00%) undecided

User, system and elapsed time are left out: in virtual time, code takes none.
"
        );
    }
}
