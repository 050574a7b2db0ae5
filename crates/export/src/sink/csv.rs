//! Writes CSV by RFC 4180, with a first line of names. Missing values are empty fields; true and
//! false are words.

use std::fs::File;
use std::io::{self, BufWriter};

use super::writer::RowWriter;
use crate::table::{Field, Table};

pub struct CsvWriter(csv::Writer<BufWriter<File>>);

impl CsvWriter {
    pub fn new(table: &Table, file: BufWriter<File>) -> io::Result<Self> {
        let mut writer = csv::Writer::from_writer(file);
        writer
            .write_record(table.columns.iter().map(|column| column.name.as_bytes()))
            .map_err(failure)?;
        Ok(Self(writer))
    }
}

impl RowWriter for CsvWriter {
    fn row(&mut self, fields: &[Field]) -> io::Result<()> {
        for field in fields {
            match field {
                Field::Nothing => self.0.write_field(""),
                Field::Text(text) => self.0.write_field(text),
                Field::Unsigned(number) => self.0.write_field(number.to_string()),
                // The text has the fewest digits that read back as the same number.
                Field::Real(number) => self.0.write_field(number.to_string()),
                Field::Truth(truth) => self.0.write_field(truth.to_string()),
            }
            .map_err(failure)?;
        }
        self.0.write_record(None::<&[u8]>).map_err(failure)
    }

    fn end(self: Box<Self>) -> io::Result<BufWriter<File>> {
        self.0.into_inner().map_err(csv::IntoInnerError::into_error)
    }
}

fn failure(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}
