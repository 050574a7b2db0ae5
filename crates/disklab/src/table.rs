//! The style of all tables: no boxes, a bold head with a line below it, numbers to the right.

use std::io::Write;

pub use comfy_table::CellAlignment as Align;
use comfy_table::{
    Attribute, Cell, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use console::measure_text_width;

use crate::exit::Failure;
use crate::screen::Screen;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Number of blanks between columns.
const GAP: u16 = 2;

/// Declares a column of text.
pub const fn left(head: &str) -> (&str, Align) {
    (head, Align::Left)
}

/// Declares a column of numbers.
pub const fn right(head: &str) -> (&str, Align) {
    (head, Align::Right)
}

/// A table that is being filled.
#[derive(Debug)]
pub struct TextTable {
    columns: Vec<(String, Align)>,
    rows: Vec<(Vec<String>, Option<Attribute>)>,
    /// Number of first columns that identify a row.
    keys: usize,
    color: bool,
}

impl TextTable {
    /// Begins a table. The head of a column may have several lines.
    pub fn new(columns: &[(&str, Align)], color: bool) -> Self {
        let columns = columns.iter().map(|&(name, side)| (name.to_owned(), side)).collect();
        Self { columns, rows: Vec::new(), keys: 1, color }
    }

    /// Begins a table with heads divided by `|`. A `>` before a head sets its column to the right.
    pub fn with_heads(heads: &str, color: bool) -> Self {
        let column = |head| str::strip_prefix(head, ">").map_or_else(|| left(head), right);
        Self::new(&heads.split('|').map(column).collect::<Vec<_>>(), color)
    }

    /// Sets the number of first columns that identify a row.
    #[must_use]
    pub fn with_keys(self, keys: usize) -> Self {
        Self { keys: keys.clamp(1, self.columns.len().max(1)), ..self }
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.add(cells, None);
    }

    /// Adds a row in faint type, for details.
    pub fn faint_row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.add(cells, Some(Attribute::Dim));
    }

    fn add<T: ToString>(
        &mut self,
        cells: impl IntoIterator<Item = T>,
        attribute: Option<Attribute>,
    ) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| cell.to_string()).collect();
        cells.truncate(self.columns.len());
        self.rows.push((cells, attribute));
    }

    /// Returns the lines of the table in its natural width.
    pub fn lines(&self) -> Vec<String> {
        lines(&self.made(&self.all()))
    }

    /// Returns the width of [`TextTable::lines`] in columns. Colours have no width.
    pub fn width(&self) -> usize {
        width(&self.made(&self.all()))
    }

    fn all(&self) -> Vec<usize> {
        (0..self.columns.len()).collect()
    }

    /// Prints the table. If it is too wide for the screen, texts are broken at blanks. If that is
    /// not enough, it becomes several tables, each with the columns that identify a row. Words and
    /// numbers are broken only if one alone is too wide.
    pub fn print(self, screen: &Screen, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
        let room = screen.width.saturating_sub(indent.len());
        for part in self.parts(room) {
            let mut table = self.made(&part);
            if width(&table) > room {
                for (column, index) in table.column_iter_mut().zip(&part) {
                    let least = self.least(*index) + usize::from(column.padding_width());
                    let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
                    column.set_constraint(ColumnConstraint::LowerBoundary(least));
                }
                table.set_content_arrangement(ContentArrangement::Dynamic);
                table.set_width(u16::try_from(room).unwrap_or(u16::MAX));
            }
            for line in lines(&table) {
                writeln!(out, "{indent}{line}")?;
            }
        }
        Ok(())
    }

    /// Returns the columns of each table that fits into `room`.
    fn parts(&self, room: usize) -> Vec<Vec<usize>> {
        let least = |part: &[usize]| {
            part.iter().map(|index| self.least(*index) + usize::from(GAP)).sum::<usize>()
                - usize::from(GAP)
        };
        let fits = self.width() <= room || least(&self.all()) <= room;
        if fits || self.columns.len() < self.keys + 2 {
            return vec![self.all()];
        }
        // If there is no room for all of them beside the widest other column, only the first one is
        // repeated.
        let beside = |index: usize| least(&(0..self.keys).chain([index]).collect::<Vec<_>>());
        let has_room = (self.keys..self.columns.len()).all(|index| beside(index) <= room);
        let keys = if has_room { self.keys } else { 1 };
        let mut parts: Vec<Vec<usize>> = Vec::new();
        for index in keys..self.columns.len() {
            match parts.last_mut() {
                Some(part) if least(&[part.as_slice(), &[index]].concat()) <= room => {
                    part.push(index);
                }
                _ => parts.push((0..keys).chain([index]).collect()),
            }
        }
        parts
    }

    /// Returns the least width of a column. Words stay whole, and so do columns at the right, which
    /// hold numbers with their units.
    fn least(&self, index: usize) -> usize {
        let (head, side) = &self.columns[index];
        let cells = || self.rows.iter().filter_map(|(cells, _)| cells.get(index));
        let words = |text: &str| text.split_whitespace().map(measure_text_width).max().unwrap_or(0);
        let longest = if *side == Align::Right {
            cells().flat_map(|cell| cell.lines()).map(measure_text_width).max()
        } else {
            cells().map(|cell| words(cell)).max()
        };
        words(head).max(longest.unwrap_or(0))
    }

    fn made(&self, part: &[usize]) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE).force_no_tty();
        if self.color {
            table.enforce_styling();
        }
        let head = part.iter().map(|index| {
            let (name, side) = &self.columns[*index];
            Cell::new(name).set_alignment(*side).add_attribute(Attribute::Bold)
        });
        table.set_header(head.collect::<Vec<_>>());
        for (at, column) in table.column_iter_mut().enumerate() {
            column.set_padding((0, if at + 1 < part.len() { GAP } else { 0 }));
        }
        for (cells, attribute) in &self.rows {
            let cell = |index: &usize| {
                let text = cells.get(*index).map_or("", String::as_str);
                let cell = Cell::new(text).set_alignment(self.columns[*index].1);
                cell.add_attributes(attribute.iter().copied().collect())
            };
            table.add_row(part.iter().map(cell).collect::<Vec<_>>());
        }
        table
    }
}

fn lines(table: &comfy_table::Table) -> Vec<String> {
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

fn width(table: &comfy_table::Table) -> usize {
    let contents = table.column_max_content_widths();
    let gap = usize::from(GAP);
    contents.iter().map(|&width| usize::from(width) + gap).sum::<usize>().saturating_sub(gap)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: usize) -> Vec<String> {
        let mut table = TextTable::with_heads("|device|>mean wait|verdict", false);
        table.row(["round-robin:4096", "enterprise-8tb", "13.4 ms", "undecided (about 14 seeds)"]);
        table.row(["pid", "nas-12tb", "1.2 ms", "baseline"]);
        let mut out = Vec::new();
        table.print(&Screen::of_width(columns), "  ", &mut out).unwrap();
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn each_part_tells_rows_apart() {
        let heads = "load|>depth|>measured IOPS|>modelled IOPS|>measured p50|>modelled p50";
        let mut table = TextTable::with_heads(heads, false).with_keys(2);
        for depth in [1, 32] {
            let number = format!("{}.5", depth * 1000);
            let depth = format!("{depth} x 1");
            table.row(["randread", &depth, &number, &number, &number, &number]);
        }
        let mut out = Vec::new();
        table.print(&Screen::of_width(40), "", &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        let rows: Vec<&str> = out.lines().filter(|line| line.contains("randread")).collect();
        assert!(rows.len() > 2 && rows.iter().all(|row| row.contains(" x 1")), "{out}");
    }

    #[test]
    fn no_word_and_no_number_is_broken() {
        for columns in [120, 80, 70, 60, 50, 40] {
            let lines = printed(columns);
            let all = lines.join("\n");
            for word in ["round-robin:4096", "enterprise-8tb", "13.4 ms", "undecided", "baseline"] {
                assert!(all.contains(word), "{columns}, {word}:\n{all}");
            }
            assert!(lines.iter().all(|line| line.chars().count() <= columns), "{columns}:\n{all}");
        }
        assert_eq!(printed(120).len(), 4);
        assert!(printed(40).iter().filter(|line| line.contains("round-robin:4096")).count() > 1);
    }
}
