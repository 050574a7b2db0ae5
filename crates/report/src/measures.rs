//! Numbers that are not fio's: of imported results, of start-ups, of what the disks moved.

use disklab_collect::Spread;
use disklab_compare::answer;
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
    /// How many of them were given up then: they are more than that.
    pub censored: usize,
}

impl Measured {
    /// The median, as far as it is known: `> 60 s`.
    pub fn median(&self) -> String {
        let median = answer::value(self.spread.median, &self.unit);
        let is_least = self.censored > 0 && self.spread.median >= self.spread.max;
        if is_least { format!("> {median}") } else { median }
    }
}

/// By name.
pub fn over(outcomes: &[&Outcome]) -> Vec<Measured> {
    let ok = || outcomes.iter().filter(|outcome| outcome.status == Status::Ok);
    let mut names: Vec<(&String, &String)> =
        ok().flat_map(|outcome| &outcome.measures).map(|(name, measure)| (name, &measure.unit)).collect();
    names.sort_unstable();
    names.dedup_by(|(one, _), (other, _)| one == other);
    let spread = |(name, unit): (&String, &String)| {
        let found = || ok().filter_map(|outcome| outcome.measures.get(name));
        let spread = Spread::of(found().map(|measure| measure.value))?;
        let censored = found().filter(|measure| measure.censored).count();
        Some(Measured { name: name.clone(), unit: unit.clone(), spread, censored })
    };
    names.into_iter().filter_map(spread).collect()
}

/// Whether a group has nothing of fio's.
pub fn has_only(group: &Group) -> bool {
    group.cells.iter().all(|cell| cell.measured.is_none())
}
