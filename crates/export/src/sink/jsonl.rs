//! An object a line, each with all columns.

use std::fs::File;
use std::io::{BufWriter, Write};

use super::Failure;
use crate::table::{Field, Table};

pub struct Writer {
    table: Table,
    file: BufWriter<File>,
}

impl Writer {
    pub fn new(table: Table, file: BufWriter<File>) -> Self {
        Self { table, file }
    }

    pub fn row(&mut self, fields: &[Field]) -> Result<(), Failure> {
        let mut between = '{';
        for (column, field) in self.table.columns.iter().zip(fields) {
            write!(self.file, "{between}\"{}\":", column.name)?;
            between = ',';
            match field {
                Field::Nothing => self.file.write_all(b"null"),
                Field::Text(text) => {
                    serde_json::to_writer(&mut self.file, text).map_err(Into::into)
                }
                Field::Unsigned(number) => write!(self.file, "{number}"),
                // As few digits as read back as the same number; null of what JSON has no number
                // for.
                Field::Real(number) => {
                    serde_json::to_writer(&mut self.file, number).map_err(Into::into)
                }
                Field::Truth(truth) => write!(self.file, "{truth}"),
            }?;
        }
        Ok(self.file.write_all(b"}\n")?)
    }

    pub fn end(self) -> BufWriter<File> {
        self.file
    }
}
