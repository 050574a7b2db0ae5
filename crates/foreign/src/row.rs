//! Results of others, before they are part of a record.

use disklab_results::integrity::Claim;
use disklab_results::measure::{BenchmarkRun, Measures};
use disklab_results::{Remark, Sample};

/// A run of a load or of a benchmark.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResultRow {
    /// Where in its source, to find it again: `line 12`, `job 3`.
    pub place: String,
    /// (axis, value), as far as the source says: `policy`, `pid`.
    pub cell: Vec<(String, String)>,
    /// Which repeat of its cell it is, where the source says so.
    pub repeat: Option<u32>,
    /// What fio measured, where it was fio and said all of it.
    pub sample: Option<Sample>,
    /// Other numbers, or what there is of fio's, by name: `iops`, `read p99`, `dbench throughput`.
    pub measures: Measures,
    /// The claim that integrity checks.
    pub claim: Claim,
    /// What its reader saw already.
    pub remarks: Vec<Remark>,
}

impl From<BenchmarkRun> for ResultRow {
    fn from(run: BenchmarkRun) -> Self {
        let BenchmarkRun { line, cell, measures } = run;
        Self { place: format!("line {line}"), cell, measures, ..Self::default() }
    }
}
