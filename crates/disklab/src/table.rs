//! Tables as they are all set here: no boxes, a bold head with a line below it, numbers to the right.

use std::io::Write;

use comfy_table::{Attribute, Cell, CellAlignment, ContentArrangement, LineStyle, TableStyle};

use crate::exit::Failure;
use crate::screen::Screen;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));

/// Blanks between columns.
const GAP: u16 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

/// A table in the making.
#[derive(Debug)]
pub struct Table {
    inner: comfy_table::Table,
    sides: Vec<Side>,
}

impl Table {
    /// A column's head may have several lines.
    pub fn new(columns: &[(&str, Side)], color: bool) -> Self {
        let mut inner = comfy_table::Table::new();
        inner.load_style(STYLE).force_no_tty();
        if color {
            inner.enforce_styling();
        }
        let head = columns.iter().map(|&(name, side)| {
            Cell::new(name).set_alignment(alignment(side)).add_attribute(Attribute::Bold)
        });
        inner.set_header(head.collect::<Vec<_>>());
        for (index, column) in inner.column_iter_mut().enumerate() {
            column.set_padding((0, if index + 1 < columns.len() { GAP } else { 0 }));
        }
        Self { inner, sides: columns.iter().map(|&(_, side)| side).collect() }
    }

    pub fn row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.add(cells, None);
    }

    /// A row that is there for whoever looks closer.
    pub fn faint_row<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.add(cells, Some(Attribute::Dim));
    }

    fn add<T: ToString>(&mut self, cells: impl IntoIterator<Item = T>, attribute: Option<Attribute>) {
        let cell = |(text, &side): (T, &Side)| {
            let cell = Cell::new(text).set_alignment(alignment(side));
            attribute.map_or(cell.clone(), |attribute| cell.add_attribute(attribute))
        };
        let cells: Vec<_> = cells.into_iter().zip(&self.sides).map(cell).collect();
        self.inner.add_row(cells);
    }

    /// The lines as wide as their contents want.
    pub fn lines(&self) -> Vec<String> {
        self.inner.lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// Columns that [`Table::lines`] take. Colours take none.
    pub fn width(&self) -> usize {
        let contents = self.inner.column_max_content_widths();
        let gap = usize::from(GAP);
        contents.iter().map(|&width| usize::from(width) + gap).sum::<usize>().saturating_sub(gap)
    }

    /// Prints it. Where it is too wide for the screen, long texts are broken.
    pub fn print(mut self, screen: &Screen, indent: &str, out: &mut dyn Write) -> Result<(), Failure> {
        let room = screen.width.saturating_sub(indent.len());
        if self.width() > room {
            self.inner.set_content_arrangement(ContentArrangement::Dynamic);
            self.inner.set_width(u16::try_from(room).unwrap_or(u16::MAX));
        }
        for line in self.lines() {
            writeln!(out, "{indent}{line}")?;
        }
        Ok(())
    }
}

fn alignment(side: Side) -> CellAlignment {
    match side {
        Side::Left => CellAlignment::Left,
        Side::Right => CellAlignment::Right,
    }
}
