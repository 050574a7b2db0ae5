//! Finds the cell of a trial in a record.

use anyhow::Context;
use disklab_compare::CellIndex;
use disklab_compare::index::IndexedTrial;
use disklab_config::suite::Axis;

/// Axes that a page needs for each trial.
const NEEDED: [Axis; 5] = [Axis::Array, Axis::Background, Axis::Jobs, Axis::Workload, Axis::Policy];

/// Values of a cell's axes without the policy, since policies are compared.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CellPlace {
    pub array: String,
    pub background: String,
    pub jobs: u32,
    pub workload: String,
}

/// Refuses a record whose suite lacks an axis that a page needs, or varies another one.
pub fn check(index: &CellIndex) -> anyhow::Result<()> {
    let name = index.record.folder().display();
    let suite = index.suite.as_ref().map_err(Clone::clone);
    let suite = suite.with_context(|| format!("{name}: its suite cannot be read"))?;
    for axis in NEEDED {
        anyhow::ensure!(
            suite.axes().iter().any(|known| known.axis == axis),
            "{name}: its suite has no axis `{axis}`, which the page needs; run it with --set \
             {axis}=..."
        );
    }
    for other in suite.axes().iter().filter(|known| !NEEDED.iter().any(|axis| known.axis == *axis))
    {
        anyhow::ensure!(
            other.values.len() == 1,
            "{name}: it has several values of `{0}`, and the page has no column for them; run it \
             with one (--set {0}=...)",
            other.axis
        );
    }
    Ok(())
}

/// Returns the place and the policy of a trial.
pub fn place(index: &CellIndex, trial: &IndexedTrial) -> anyhow::Result<(CellPlace, String)> {
    let (name, id) = (index.record.folder().display(), trial.id);
    let value = |axis: Axis| {
        let value = trial.cell.value(axis.as_str()).or_else(|| index.fixed.value(axis.as_str()));
        let lacking = || format!("{name}: trial {id} has no {axis}, an axis of its suite");
        value.map(str::to_owned).with_context(lacking)
    };
    let jobs = value(Axis::Jobs)?;
    let no_number = || format!("{name}: trial {id}: jobs: expected a whole number, found `{jobs}`");
    let place = CellPlace {
        array: value(Axis::Array)?,
        background: value(Axis::Background)?,
        jobs: jobs.parse().with_context(no_number)?,
        workload: value(Axis::Workload)?,
    };
    Ok((place, value(Axis::Policy)?))
}
