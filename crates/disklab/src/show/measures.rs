//! Numbers that are not all of fio's: a column for each name, a row for each cell; the other way
//! round where there are many names.

use std::io::Write;

use disklab_report::measures::NamedNumbers;
use disklab_report::merge::CellGroup;
use itertools::Itertools;

use crate::exit::Failure;
use crate::screen::Screen;
use crate::table::{Align, TextTable};
use crate::words::or_dash;

/// More names than that are rows: as columns they would not fit on any screen.
const MOST_COLUMNS: usize = 10;

/// `last` is another column, its head first, if there is one; with many names, another row.
pub fn print(
    group: &CellGroup,
    labels: &[String],
    last: Option<(&str, &[String])>,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    table(group, labels, last, screen.color).print(screen, "  ", out)
}

fn table(
    group: &CellGroup,
    labels: &[String],
    last: Option<(&str, &[String])>,
    color: bool,
) -> TextTable {
    let measures = group.cells.iter().flat_map(|cell| &cell.measures);
    let names: Vec<&str> = measures.map(|measured| measured.name.as_str()).unique().collect();
    let median = |measures: &[NamedNumbers], name: &str| {
        or_dash(measures.iter().find(|measured| measured.name == name).map(NamedNumbers::median))
    };
    let axes = group.axes.join(", ");
    let first = std::iter::once((axes.as_str(), Align::Left));
    if names.len() > MOST_COLUMNS {
        let columns: Vec<_> =
            first.chain(labels.iter().map(|label| (label.as_str(), Align::Right))).collect();
        let mut table = TextTable::new(&columns, color);
        for name in names {
            let medians = group.cells.iter().map(|cell| median(&cell.measures, name));
            table.row(std::iter::once(name.to_owned()).chain(medians));
        }
        if let Some((head, texts)) = last {
            table.row(std::iter::once(head.to_owned()).chain(texts.iter().cloned()));
        }
        return table;
    }
    let columns: Vec<(&str, Align)> = first
        .chain(names.iter().map(|name| (*name, Align::Right)))
        .chain(last.map(|(head, _)| (head, Align::Left)))
        .collect();
    let mut table = TextTable::new(&columns, color);
    for (at, (cell, label)) in group.cells.iter().zip(labels).enumerate() {
        let last = last.and_then(|(_, texts)| texts.get(at).cloned());
        let medians = names.iter().map(|name| median(&cell.measures, name));
        table.row(std::iter::once(label.clone()).chain(medians).chain(last));
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
        let verdicts = ["better".to_owned(), "worse".to_owned()];
        table(&group, &labels, Some(("verdict", &verdicts)), false).lines()
    }

    #[test]
    fn many_names_are_rows() {
        let few = lines(10);
        assert!(few.len() == 4 && few[2].trim_start().starts_with("one"), "{few:#?}");
        let many = lines(11);
        // A head, a line below it, the names, and the verdicts.
        assert_eq!(many.len(), 14, "{many:#?}");
        assert!(many[2].trim_start().starts_with("measure 0"), "{many:#?}");
        assert!(many[13].contains("better") && many[13].contains("worse"), "{many:#?}");
    }
}
