//! Writes records as tables for other programs: a folder for each table, and in it one for each
//! record.
//!
//! ```text
//! DIR/trials/suite=<suite>/run=<record>/data.parquet       the outcome of each trial
//! DIR/metrics/suite=<suite>/run=<record>/data.parquet      each number of each trial
//! DIR/histograms/suite=<suite>/run=<record>/data.parquet   fio's latencies, as counted
//! DIR/traces/suite=<suite>/run=<record>/data.parquet       every request of every disk, on demand
//! DIR/flat/suite=<suite>/run=<record>/data.parquet         a row for each trial, on demand
//! ```
//!
//! The columns of a table are the same for every record ([`table`]), except those of `flat`, which
//! has one row for each trial and a column for each axis and number. docs/FORMAT.md lists the
//! columns.
//!
//! A file appears complete or not at all. Memory does not grow with the number of rows.

mod error;
mod folder;
mod owner;
mod rows;
mod sink;
pub mod table;

pub use error::ExportError;
pub use folder::{Exported, Wanted, export, own_folder};
pub use rows::flat::NAME as FLAT;
pub use sink::Format;

/// Returns the names of all tables.
pub fn names() -> [&'static str; 5] {
    rows::ALL.map(|(name, ..)| name)
}
