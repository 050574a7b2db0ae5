//! Writes JSON lines: an object for each row, with all columns.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::writer::RowWriter;
use crate::table::{Field, Table};

pub struct JsonlWriter {
    pub table: Table,
    pub file: BufWriter<File>,
}

impl RowWriter for JsonlWriter {
    fn row(&mut self, fields: &[Field]) -> io::Result<()> {
        let mut between = '{';
        for (column, field) in self.table.columns.iter().zip(fields) {
            write!(self.file, "{between}")?;
            serde_json::to_writer(&mut self.file, &column.name)?;
            self.file.write_all(b":")?;
            between = ',';
            match field {
                Field::Nothing => self.file.write_all(b"null")?,
                Field::Text(text) => serde_json::to_writer(&mut self.file, text)?,
                Field::Unsigned(number) => write!(self.file, "{number}")?,
                // The text has the fewest digits that read back as the same number, or is null for
                // a number that JSON lacks.
                Field::Real(number) => serde_json::to_writer(&mut self.file, number)?,
                Field::Truth(truth) => write!(self.file, "{truth}")?,
            }
        }
        self.file.write_all(b"}\n")
    }

    fn end(self: Box<Self>) -> io::Result<BufWriter<File>> {
        Ok(self.file)
    }
}
