//! Numbers that are not all of fio's: a column for each name, a row for each cell.

use std::io::Write;

use disklab_report::merge::Group;

use crate::exit::Failure;
use crate::screen::Screen;
use crate::table::{Side, Table};

/// `last` is another column, its head first, if there is one.
pub fn print(
    group: &Group,
    labels: &[String],
    last: Option<(&str, &[String])>,
    screen: &Screen,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut names: Vec<&str> = Vec::new();
    for measured in group.cells.iter().flat_map(|cell| &cell.measures) {
        if !names.contains(&measured.name.as_str()) {
            names.push(&measured.name);
        }
    }
    let axes = group.axes.join(", ");
    let columns: Vec<(&str, Side)> = std::iter::once((axes.as_str(), Side::Left))
        .chain(names.iter().map(|name| (*name, Side::Right)))
        .chain(last.map(|(head, _)| (head, Side::Left)))
        .collect();
    let mut table = Table::new(&columns, screen.color);
    for (at, (cell, label)) in group.cells.iter().zip(labels).enumerate() {
        let of = |name: &&str| {
            let found = cell.measures.iter().find(|measured| measured.name == *name);
            found.map_or_else(|| "-".to_owned(), disklab_report::measures::Measured::median)
        };
        let last = last.and_then(|(_, texts)| texts.get(at).cloned());
        table.row(std::iter::once(label.clone()).chain(names.iter().map(of)).chain(last));
    }
    table.print(screen, "  ", out)
}
