//! Makes the rows of each table.

mod fields;
pub mod flat;
pub mod histograms;
pub mod metrics;
pub mod traces;
pub mod trials;

use disklab_record::Record;

use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::{self, Table};

/// Writes the rows of a table.
pub type Fill = fn(&Record, &mut Sink) -> Result<(), ExportError>;

/// Makes a table's columns. The columns of the flat table depend on the record.
pub type Columns = fn(&Record) -> Table;

/// All tables by their names, in the order in which they are written.
pub const ALL: [(&str, Columns, Fill); 5] = [
    ("trials", |_| table::TRIALS, trials::write),
    ("metrics", |_| table::METRICS, metrics::write),
    ("histograms", |_| table::HISTOGRAMS, histograms::write),
    ("traces", |_| table::TRACES, traces::write),
    (flat::NAME, flat::table, flat::write),
];
