//! Numbers that are not all of fio's, of imported results.

use disklab_collect::Spread;
use disklab_store::{Outcome, Status};
use serde::Serialize;

use crate::merge::Group;

/// Over the trials of a cell that are ok.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub name: String,
    pub unit: String,
    #[serde(flatten)]
    pub spread: Spread,
}

/// By name.
pub fn over(outcomes: &[&Outcome]) -> Vec<Measured> {
    let ok = || outcomes.iter().filter(|outcome| outcome.status == Status::Ok);
    let mut names: Vec<(&String, &String)> =
        ok().flat_map(|outcome| &outcome.measures).map(|(name, measure)| (name, &measure.unit)).collect();
    names.sort_unstable();
    names.dedup_by(|(one, _), (other, _)| one == other);
    let spread = |(name, unit): (&String, &String)| {
        let values = ok().filter_map(|outcome| outcome.measures.get(name)).map(|measure| measure.value);
        Some(Measured { name: name.clone(), unit: unit.clone(), spread: Spread::of(values)? })
    };
    names.into_iter().filter_map(spread).collect()
}

/// Whether a group has these and nothing of fio's.
pub fn has_only(group: &Group) -> bool {
    group.cells.iter().all(|cell| cell.measured.is_none())
        && group.cells.iter().any(|cell| !cell.measures.is_empty())
}
