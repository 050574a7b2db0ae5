//! Records as tables for other programs: a folder for each table, and in it one for each record.
//!
//! ```text
//! DIR/trials/suite=<suite>/run=<record>/data.parquet       what became of each trial
//! DIR/metrics/suite=<suite>/run=<record>/data.parquet      each number of each trial
//! DIR/histograms/suite=<suite>/run=<record>/data.parquet   fio's latencies, as counted
//! DIR/traces/suite=<suite>/run=<record>/data.parquet       every request of every disk, where they
//! are wanted
//! ```
//!
//! The columns of a table are always the same, whatever the record ([`table`]); they are documented
//! in docs/FORMAT.md. A file is whole or not there. Memory does not grow with the number of rows.

mod error;
mod folder;
mod owner;
mod rows;
mod sink;
pub mod table;

pub use error::ExportError;
pub use folder::{Exported, Wanted, export, own_folder};
pub use sink::Format;

/// The names of all tables.
pub fn names() -> [&'static str; 4] {
    rows::ALL.map(|(table, _)| table.name)
}
