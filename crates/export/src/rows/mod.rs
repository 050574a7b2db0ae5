//! The rows of each table.

mod fields;
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

/// All tables, in the order in which they are written.
pub const ALL: [(Table, Fill); 4] = [
    (table::TRIALS, trials::write),
    (table::METRICS, metrics::write),
    (table::HISTOGRAMS, histograms::write),
    (table::TRACES, traces::write),
];
