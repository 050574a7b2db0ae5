//! Results of others, before they are part of a record.

use disklab_results::integrity::Claim;
use disklab_results::measure::{BenchmarkRun, Measures};
use disklab_results::{Remark, Sample};

/// A run of a load or of a benchmark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultRow {
    /// Place in the source, to find the run again: `line 12`, `job 3`.
    pub place: String,
    /// Pairs (axis, value), as far as the source names them: `policy`, `pid`.
    pub cell: Vec<(String, String)>,
    /// Number of the repeat of its cell, if the source has it.
    pub repeat: Option<u32>,
    /// fio's numbers, if fio measured and the source has all of them.
    pub sample: Option<Sample>,
    /// Other numbers, or those of fio's that exist, by name: `iops`, `read p99`, `dbench
    /// throughput`.
    pub measures: Measures,
    /// The claim that integrity checks.
    pub claim: Claim,
    /// Remarks of the reader.
    pub remarks: Vec<Remark>,
}

impl From<BenchmarkRun> for ResultRow {
    fn from(run: BenchmarkRun) -> Self {
        let BenchmarkRun { line, cell, measures } = run;
        Self { place: format!("line {line}"), cell, measures, ..Self::default() }
    }
}
