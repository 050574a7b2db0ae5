use std::fs::File;
use std::io::{self, BufWriter};

use crate::table::Field;

/// The file of a table in one of the formats.
pub trait RowWriter {
    /// Writes a row with a field for each of the table's columns.
    fn row(&mut self, fields: &[Field]) -> io::Result<()>;

    /// Writes what is left, and returns the file.
    fn end(self: Box<Self>) -> io::Result<BufWriter<File>>;
}
