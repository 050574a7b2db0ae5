//! Writes rows to a file.

mod csv;
mod jsonl;
mod parquet;
mod writer;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use self::csv::CsvWriter;
use self::jsonl::JsonlWriter;
use self::parquet::ParquetWriter;
use self::writer::RowWriter;
use crate::error::ExportError;
use crate::table::{Field, Table};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Parquet,
    Csv,
    Jsonl,
}

impl Format {
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Jsonl => "jsonl",
        }
    }

    fn writer(self, table: &Table, file: BufWriter<File>) -> io::Result<Box<dyn RowWriter>> {
        Ok(match self {
            Self::Parquet => Box::new(ParquetWriter::new(table, file)?),
            Self::Csv => Box::new(CsvWriter::new(table, file)?),
            Self::Jsonl => Box::new(JsonlWriter { table: table.clone(), file }),
        })
    }
}

/// A table that is being written.
pub struct Sink {
    /// Final path of the file, for messages.
    path: PathBuf,
    rows: u64,
    writer: Box<dyn RowWriter>,
}

impl Sink {
    pub fn new(
        table: &Table,
        format: Format,
        file: File,
        path: &Path,
    ) -> Result<Self, ExportError> {
        let writer = format.writer(table, BufWriter::with_capacity(1 << 20, file));
        let writer = writer.map_err(ExportError::io("write", path))?;
        Ok(Self { path: path.to_owned(), rows: 0, writer })
    }

    /// Writes a row, with a field for each of the table's columns.
    pub fn row(&mut self, fields: &[Field]) -> Result<(), ExportError> {
        self.rows += 1;
        self.writer.row(fields).map_err(ExportError::io("write", &self.path))
    }

    /// Ends the table. Returns the file and its number of rows.
    pub fn end(self) -> Result<(File, u64), ExportError> {
        let ended = self.writer.end();
        let file = ended.and_then(|file| file.into_inner().map_err(io::IntoInnerError::into_error));
        Ok((file.map_err(ExportError::io("write", &self.path))?, self.rows))
    }
}
