//! Parses the tables that MMTests' `compare-mmtests.pl` and `compare-kernels.sh` print as text,
//! also quoted in mail. They have rows such as `Amean 1 64.29 ( 0.00%) 73.11 * -13.70%*`, with a
//! column for each kernel.
//!
//! Each column of a table becomes a row. The tables have no units. The signs of the differences
//! show which values are better; without any, a harmonic mean is of rates and all others of times,
//! as in MMTests.
//!
//! Tables without differences (`Duration`, `Ops`, monitors), HTML, and the JSON of `--print-json`
//! and `--json-export` are not read. This JSON has the internal data of the program, and differs
//! between its versions. Unpacked raw logs of fio, dbench and fs_mark are read in their own
//! formats.

use crate::format::{Unreadable, unquoted};
use crate::row::ResultRow;
use disklab_results::measure::{Better, Measure, Measures};

/// A line of a table.
#[derive(Debug, PartialEq)]
struct TableLine<'a> {
    /// Name of the line, such as `Amean     1`.
    name: &'a str,
    /// The value of each column, and by how many per cent it is better than the first.
    columns: Vec<(f64, f64)>,
}

pub fn is_mmtests(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.lines().filter_map(of_table).any(|line| line.columns.len() > 1)
}

fn of_table(line: &str) -> Option<TableLine<'_>> {
    let line = unquoted(line);
    let mut pieces = line.split('%');
    let after = pieces.next_back()?;
    let closed = after.starts_with([')', '*']);
    let (mut name, mut columns) = (None, Vec::new());
    for piece in pieces {
        let (before, percent) = piece.rsplit_once(['(', '*'])?;
        let (before, value) = before.trim_end().rsplit_once(char::is_whitespace)?;
        let before = before.trim();
        match name {
            None => name = Some(before),
            Some(_) if matches!(before, ")" | "*") => {}
            Some(_) => return None,
        }
        let number =
            |text: &str| text.trim().parse().ok().filter(|number: &f64| number.abs() <= 1e18);
        columns.push((number(value)?, number(percent)?));
    }
    // The other columns are compared with the first.
    let base = columns.first().is_some_and(|(_, percent)| *percent == 0.0);
    let name = name.filter(|name| !name.is_empty() && closed && base)?;
    Some(TableLine { name, columns })
}

struct ComparisonTable<'a> {
    /// Number of the table's first row, from 1.
    line: usize,
    /// The three lines above the first row.
    above: [&'a str; 3],
    lines: Vec<TableLine<'a>>,
}

pub fn parse(bytes: &[u8]) -> Result<Vec<ResultRow>, Unreadable> {
    let text = String::from_utf8_lossy(bytes);
    let mut tables: Vec<ComparisonTable> = Vec::new();
    let mut above = [""; 3];
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let Some(found) = of_table(line) else {
            above = [above[1], above[2], unquoted(line)];
            inside = false;
            continue;
        };
        match tables.last_mut().filter(|_| inside) {
            Some(table) => {
                let expected = table.lines.first().map_or(0, |line| line.columns.len());
                if found.columns.len() != expected {
                    let message = format!("expected {expected} columns, as in the previous line");
                    return Err(Unreadable::line(index + 1, message));
                }
                table.lines.push(found);
            }
            None => tables.push(ComparisonTable { line: index + 1, above, lines: vec![found] }),
        }
        inside = true;
    }
    Ok(tables.iter().flat_map(rows).collect())
}

fn rows(table: &ComparisonTable) -> Vec<ResultRow> {
    let count = table.lines.first().map_or(0, |line| line.columns.len());
    let (title, kernels) = heads(&table.above, count);
    let row = |(column, kernel): (usize, String)| {
        let title = title.map(|title| ("benchmark".to_owned(), title.to_owned()));
        ResultRow {
            place: format!("line {}, column {}", table.line, column + 1),
            cell: title.into_iter().chain([("kernel".to_owned(), kernel)]).collect(),
            measures: measures(table, column),
            ..ResultRow::default()
        }
    };
    kernels.into_iter().enumerate().map(row).collect()
}

/// Returns the title, and the kernels' names. A name has two lines: one for the part before its
/// first `-`, and one for the part after. If names are too long, they run into each other, and
/// numbers replace them.
fn heads<'a>(above: &[&'a str; 3], count: usize) -> (Option<&'a str>, Vec<String>) {
    let words = |line: &'a str| {
        Some(line.split_whitespace().collect::<Vec<_>>()).filter(|words| words.len() == count)
    };
    let title = |line: &'a str| {
        Some(line.trim()).filter(|line| !line.is_empty() && !line.contains(char::is_whitespace))
    };
    let [first, second, third] = *above;
    match (words(second), words(third)) {
        (Some(one), Some(other)) => {
            let both = one.iter().zip(other).map(|(one, other)| format!("{one}-{other}"));
            (title(first), both.collect())
        }
        (None, Some(only)) => (title(second), only.into_iter().map(str::to_owned).collect()),
        _ => (title(first), (1..=count).map(|column| format!("column {column}")).collect()),
    }
}

fn measures(table: &ComparisonTable, column: usize) -> Measures {
    let measure = |line: &TableLine| {
        let &(value, _) = line.columns.get(column)?;
        let name = line.name.split_whitespace().collect::<Vec<_>>().join(" ");
        Some((name, Measure::new(value, "", better(line))))
    };
    table.lines.iter().filter_map(measure).collect()
}

fn better(line: &TableLine) -> Better {
    let base = line.columns.first().map_or(0.0, |(value, _)| *value);
    let told = line
        .columns
        .iter()
        .find(|(value, percent)| (value - base).abs() > 0.0 && percent.abs() > 0.0);
    let higher = told.map_or_else(
        || ["Hmean", "BHmean"].iter().any(|mean| line.name.starts_with(mean)),
        |(value, percent)| (*value > base) == (*percent > 0.0),
    );
    if higher { Better::Higher } else { Better::Lower }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
> dbench4
>                           5.8.0-rc1              5.8.0-rc1
>                             vanilla       pseudoatime-v1r1
> Amean     1        64.29 (   0.00%)       73.11 * -13.70%*
> Amean     64     1828.72 (   0.00%)     1828.72 (   0.00%)
> BHmean-50 1       437.13 (   0.00%)      433.01 (  -0.94%)
>
>                    5.3.0-rc3   5.3.0-rc3
> Duration User          77.29       89.09
";

    #[test]
    fn a_column_is_a_row() {
        assert!(is_mmtests(TEXT.as_bytes()));
        let rows = parse(TEXT.as_bytes()).unwrap();
        assert_eq!(rows.len(), 2);
        let cell: Vec<_> =
            rows[1].cell.iter().map(|(axis, value)| (axis.as_str(), value.as_str())).collect();
        assert_eq!(cell, [("benchmark", "dbench4"), ("kernel", "5.8.0-rc1-pseudoatime-v1r1")]);
        let measure =
            |name: &str| rows[1].measures.get(name).map(|measure| (measure.value, measure.better));
        assert_eq!(measure("Amean 1"), Some((73.11, Better::Lower)));
        assert_eq!(measure("BHmean-50 1"), Some((433.01, Better::Higher)));
        assert_eq!(measure("Amean 64"), Some((1828.72, Better::Lower)));
    }

    #[test]
    fn lines_of_no_table() {
        for line in [
            "  cpu : usr=1.00%, sys=2%",
            "a 1 ( 5.00%) 2 ( 6.00%)",
            "a 1 (0.00%) b 2 (1.00%)",
            "%",
            "",
        ] {
            assert_eq!(of_table(line), None, "{line}");
        }
        let uneven = format!("{}Amean 2 1.0 ( 0.00%)\n", TEXT.split_once(">\n").unwrap().0);
        assert_eq!(parse(uneven.as_bytes()).unwrap_err().line, Some(7));
    }
}
