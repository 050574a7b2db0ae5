//! Writes Parquet, whose data is sorted by columns: rows are kept in memory until they are written
//! as one group.

use std::fs::File;
use std::io::{self, BufWriter};
use std::sync::Arc;

use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

use super::writer::RowWriter;
use crate::table::{Column, Field, Kind, Table};

/// Number of rows of a group: enough to read a column at once, and few enough to keep in memory.
const GROUP: usize = 1 << 17;

pub struct ParquetWriter {
    file: SerializedFileWriter<BufWriter<File>>,
    columns: Vec<Values>,
    rows: usize,
}

/// The values of a column in the rows that are not written yet, and for each row whether it has
/// one.
struct Values {
    there: Vec<i16>,
    values: Typed,
}

enum Typed {
    Text(Vec<ByteArray>),
    Unsigned(Vec<i64>),
    Real(Vec<f64>),
    Truth(Vec<bool>),
}

impl ParquetWriter {
    pub fn new(table: &Table, file: BufWriter<File>) -> io::Result<Self> {
        let fields = table
            .columns
            .iter()
            .map(|column| field(column).map(Arc::new))
            .collect::<Result<Vec<_>, ParquetError>>();
        let schema = fields
            .and_then(|fields| Type::group_type_builder(table.name).with_fields(fields).build());
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_created_by(format!("disklab {}", env!("CARGO_PKG_VERSION")))
            .build();
        let file = SerializedFileWriter::new(
            file,
            Arc::new(schema.map_err(failure)?),
            Arc::new(properties),
        );
        let columns = table.columns.iter().map(Values::new).collect();
        Ok(Self { file: file.map_err(failure)?, columns, rows: 0 })
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(failure)?;
        for column in &mut self.columns {
            if let Some(mut writer) = group.next_column().map_err(failure)? {
                column.write(&mut writer).map_err(failure)?;
                writer.close().map_err(failure)?;
            }
        }
        group.close().map_err(failure)?;
        self.rows = 0;
        Ok(())
    }
}

impl RowWriter for ParquetWriter {
    fn row(&mut self, fields: &[Field]) -> io::Result<()> {
        for (column, field) in self.columns.iter_mut().zip(fields) {
            column.add(field);
        }
        self.rows += 1;
        if self.rows == GROUP { self.write_group() } else { Ok(()) }
    }

    fn end(mut self: Box<Self>) -> io::Result<BufWriter<File>> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.file.into_inner().map_err(failure)
    }
}

impl Values {
    fn new(column: &Column) -> Self {
        let values = match column.kind {
            Kind::Text => Typed::Text(Vec::new()),
            Kind::Unsigned => Typed::Unsigned(Vec::new()),
            Kind::Real => Typed::Real(Vec::new()),
            Kind::Truth => Typed::Truth(Vec::new()),
        };
        Self { there: Vec::new(), values }
    }

    /// Adds a field. A field of another kind than the column's counts as missing.
    fn add(&mut self, field: &Field) {
        let is_there = match (&mut self.values, field) {
            (Typed::Text(values), Field::Text(text)) => {
                // Most rows repeat the value of the row before.
                let same = values.last().filter(|last| last.data() == text.as_bytes()).cloned();
                push(values, same.unwrap_or_else(|| ByteArray::from(*text)))
            }
            (Typed::Unsigned(values), Field::Unsigned(number)) => {
                push(values, number.cast_signed())
            }
            (Typed::Real(values), Field::Real(number)) => push(values, *number),
            (Typed::Truth(values), Field::Truth(truth)) => push(values, *truth),
            _ => false,
        };
        self.there.push(i16::from(is_there));
    }

    fn write(&mut self, to: &mut SerializedColumnWriter) -> Result<(), ParquetError> {
        let there = self.there.as_slice();
        match &mut self.values {
            Typed::Text(values) => flush::<ByteArrayType>(to, values, there)?,
            Typed::Unsigned(values) => flush::<Int64Type>(to, values, there)?,
            Typed::Real(values) => flush::<DoubleType>(to, values, there)?,
            Typed::Truth(values) => flush::<BoolType>(to, values, there)?,
        }
        self.there.clear();
        Ok(())
    }
}

/// Appends a value. Returns true, since the row has one.
fn push<T>(values: &mut Vec<T>, value: T) -> bool {
    values.push(value);
    true
}

/// Writes the values of a column and forgets them.
fn flush<T: DataType>(
    to: &mut SerializedColumnWriter,
    values: &mut Vec<T::T>,
    there: &[i16],
) -> Result<(), ParquetError> {
    to.typed::<T>().write_batch(values, Some(there), None)?;
    values.clear();
    Ok(())
}

fn field(column: &Column) -> Result<Type, ParquetError> {
    let (physical, logical) = match column.kind {
        Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        Kind::Unsigned => (Physical::INT64, Some(LogicalType::integer(64, false))),
        Kind::Real => (Physical::DOUBLE, None),
        Kind::Truth => (Physical::BOOLEAN, None),
    };
    Type::primitive_type_builder(&column.name, physical)
        .with_repetition(Repetition::OPTIONAL)
        .with_logical_type(logical)
        .build()
}

fn failure(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other.to_string()),
        },
        other => io::Error::other(other.to_string()),
    }
}
