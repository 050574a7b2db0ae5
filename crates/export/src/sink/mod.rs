//! Rows to a file.

mod csv;
mod jsonl;
mod parquet;

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

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
}

/// A table that is being written.
pub struct Sink {
    /// Where it will be, for messages.
    path: PathBuf,
    rows: u64,
    writer: Writer,
}

enum Writer {
    Parquet(Box<parquet::Writer>),
    Csv(Box<csv::Writer>),
    Jsonl(jsonl::Writer),
}

impl Sink {
    pub fn new(table: Table, format: Format, file: File, path: &Path) -> Result<Self, ExportError> {
        let file = BufWriter::with_capacity(1 << 20, file);
        let writer = match format {
            Format::Parquet => parquet::Writer::new(table, file).map(Box::new).map(Writer::Parquet),
            Format::Csv => csv::Writer::new(table, file).map(Box::new).map(Writer::Csv),
            Format::Jsonl => Ok(Writer::Jsonl(jsonl::Writer::new(table, file))),
        };
        let writer = writer.map_err(|failure| failure.of(path))?;
        Ok(Self { path: path.to_owned(), rows: 0, writer })
    }

    /// A field for each of the table's columns.
    pub fn row(&mut self, fields: &[Field]) -> Result<(), ExportError> {
        self.rows += 1;
        let written = match &mut self.writer {
            Writer::Parquet(writer) => writer.row(fields),
            Writer::Csv(writer) => writer.row(fields),
            Writer::Jsonl(writer) => writer.row(fields),
        };
        written.map_err(|failure| failure.of(&self.path))
    }

    /// The file, and how many rows it has.
    pub fn end(self) -> Result<(File, u64), ExportError> {
        let ended = match self.writer {
            Writer::Parquet(writer) => writer.end(),
            Writer::Csv(writer) => writer.end(),
            Writer::Jsonl(writer) => Ok(writer.end()),
        };
        let file = ended
            .and_then(|file| file.into_inner().map_err(|error| Failure::Io(error.into_error())));
        file.map(|file| (file, self.rows)).map_err(|failure| failure.of(&self.path))
    }
}

/// Of one of the formats.
pub enum Failure {
    Io(io::Error),
    Other(String),
}

impl Failure {
    fn of(self, path: &Path) -> ExportError {
        let path = path.to_owned();
        match self {
            Self::Io(source) => ExportError::Io { doing: "write", path, source },
            Self::Other(message) => ExportError::Write { path, message },
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
