//! Runs the oracle of the fast model beside read policies.

use disklab_config::policy::ORACLE;
use disklab_record::outcome::Cell;
use disklab_record::{Record, Status};
use disklab_units::average::median;
use indexmap::IndexMap;

/// Name of the axis of read policies.
pub const POLICY: &str = "policy";

/// Names of all oracles. The better one counts in each cell.
pub const ORACLES: &str = "oracle,oracle:all";

/// Returns true if a value of the axis of policies is an oracle.
pub fn is_oracle(policy: &str) -> bool {
    policy.split(':').next() == Some(ORACLE)
}

/// Returns the IOPS of the better oracle in each cell of a record, by the cell without its policy.
pub fn bounds(record: &Record) -> IndexMap<Cell, f64> {
    let mut bounds: IndexMap<Cell, f64> = IndexMap::new();
    for (cell, iops) in medians(record) {
        if cell.value(POLICY).is_some_and(is_oracle) {
            let bound = bounds.entry(cell.without(POLICY)).or_insert(iops);
            *bound = bound.max(iops);
        }
    }
    bounds
}

/// Returns the median IOPS over the seeds of each cell.
pub fn medians(record: &Record) -> IndexMap<Cell, f64> {
    let mut cells: IndexMap<Cell, Vec<f64>> = IndexMap::new();
    for (_, outcome) in record.outcomes() {
        let outcome = outcome.filter(|outcome| outcome.status == Status::Ok);
        if let Some((outcome, sample)) =
            outcome.and_then(|outcome| Some((outcome, outcome.sample.as_ref()?)))
        {
            cells.entry(outcome.cell.clone()).or_default().push(sample.iops);
        }
    }
    cells.into_iter().map(|(cell, all)| (cell, median(&all))).collect()
}
