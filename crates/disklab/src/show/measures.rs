//! Prints numbers that come not only from fio: a column for each name and a row for each cell, or
//! the reverse if there are many names.

use std::io::Write;

use disklab_report::measures::NamedNumbers;
use disklab_report::merge::CellGroup;
use itertools::Itertools;

use crate::exit::Failure;
use crate::screen::Screen;
use crate::table::{Align, TextTable};
use crate::words::or_dash;

/// Largest number of names that are columns. More columns would fit on no screen.
const MOST_COLUMNS: usize = 10;

/// Verdicts on the cells in one of the numbers.
pub struct JudgedCells {
    pub head: String,
    /// Name of the number.
    pub metric: String,
    /// The number from which the change of each compared cell is computed.
    pub numbers: Vec<Option<String>>,
    pub verdicts: Vec<String>,
}

/// Prints the table. Verdicts are one more column, or with many names one more row.
pub fn print(
    group: &CellGroup,
    labels: &[String],
    judged: Option<&JudgedCells>,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    table(group, labels, judged, screen.color).print(screen, "  ", out)
}

fn table(
    group: &CellGroup,
    labels: &[String],
    judged: Option<&JudgedCells>,
    color: bool,
) -> TextTable {
    let measures = group.cells.iter().flat_map(|cell| &cell.measures);
    let names: Vec<&str> = measures.map(|measured| measured.name.as_str()).unique().collect();
    let number = |at: usize, measures: &[NamedNumbers], name: &str| {
        let found = measures.iter().find(|known| known.name == name);
        let judged = judged.filter(|judged| judged.metric == name);
        let shown = judged.and_then(|judged| judged.numbers.get(at)?.clone());
        // A sum over all trials says more than the number of one trial.
        let shown = shown.filter(|_| found.is_some_and(|known| known.sum.is_none()));
        or_dash(shown.or_else(|| found.map(NamedNumbers::median)))
    };
    let axes = group.axes.join(", ");
    let first = std::iter::once((axes.as_str(), Align::Left));
    if names.len() > MOST_COLUMNS {
        let columns: Vec<_> =
            first.chain(labels.iter().map(|label| (label.as_str(), Align::Right))).collect();
        let mut table = TextTable::new(&columns, color);
        for name in names {
            let cells = group.cells.iter().enumerate();
            let numbers = cells.map(|(at, cell)| number(at, &cell.measures, name));
            table.row(std::iter::once(name.to_owned()).chain(numbers));
        }
        if let Some(JudgedCells { head, verdicts, .. }) = judged {
            table.row(std::iter::once(head).chain(verdicts).cloned());
        }
        return table;
    }
    let columns: Vec<(&str, Align)> = first
        .chain(names.iter().map(|name| (*name, Align::Right)))
        .chain(judged.map(|judged| (judged.head.as_str(), Align::Left)))
        .collect();
    let mut table = TextTable::new(&columns, color);
    for (at, (cell, label)) in group.cells.iter().zip(labels).enumerate() {
        let verdict = judged.and_then(|judged| judged.verdicts.get(at).cloned());
        let numbers = names.iter().map(|name| number(at, &cell.measures, name));
        table.row(std::iter::once(label.clone()).chain(numbers).chain(verdict));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_record::outcome::Cell;
    use disklab_report::merge::CellRow;
    use disklab_results::Spread;

    fn lines(names: usize) -> Vec<String> {
        let measured = |number: usize| NamedNumbers {
            name: format!("measure {number}"),
            unit: "1/s".to_owned(),
            spread: Spread { min: 1.0, median: 2.0, max: 3.0 },
            censored: 0,
            sum: None,
        };
        let cell = |value: &str| CellRow {
            values: vec![value.to_owned()],
            measured: None,
            measures: (0..names).map(measured).collect(),
            trials: Vec::new(),
            outcomes: Vec::new(),
        };
        let cells = vec![cell("one"), cell("other")];
        let group = CellGroup { head: Cell::default(), axes: vec!["array".to_owned()], cells };
        let labels = ["one".to_owned(), "other".to_owned()];
        let judged = JudgedCells {
            head: "verdict".to_owned(),
            metric: "measure 1".to_owned(),
            numbers: vec![Some("2.5".to_owned()), None],
            verdicts: vec!["better".to_owned(), "worse".to_owned()],
        };
        table(&group, &labels, Some(&judged), false).lines()
    }

    #[test]
    fn many_names_are_rows() {
        let few = lines(10);
        assert!(few.len() == 4 && few[2].trim_start().starts_with("one"), "{few:#?}");
        // The verdict's number is the one in the table.
        assert!(few[2].contains(" 2.5 ") && !few[3].contains(" 2.5 "), "{few:#?}");
        let many = lines(11);
        // The lines are a head, a rule, the names, and the verdicts.
        assert_eq!(many.len(), 14, "{many:#?}");
        assert!(many[2].trim_start().starts_with("measure 0"), "{many:#?}");
        assert!(many[13].contains("better") && many[13].contains("worse"), "{many:#?}");
    }
}
