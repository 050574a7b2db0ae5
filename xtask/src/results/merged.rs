//! Records merged by cell.

use std::collections::BTreeMap;

use disklab_compare::CellIndex;
use disklab_record::{Outcome, Record, Status};
use disklab_results::Sample;
use itertools::iproduct;

use super::axes::{self, CellPlace};

/// A seed of a cell.
#[derive(Debug)]
pub struct Trial<'a> {
    pub id: &'a str,
    pub seed: u32,
    /// Outcome, or `None` if the trial has not run.
    pub outcome: Option<&'a Outcome>,
}

impl<'a> Trial<'a> {
    pub fn sample(&self) -> Option<&'a Sample> {
        self.outcome.filter(|outcome| outcome.status == Status::Ok)?.sample.as_ref()
    }
}

/// All trials of some records. The axes' values are in order of appearance.
#[derive(Debug, Default)]
pub struct Merged<'a> {
    pub arrays: Vec<String>,
    pub backgrounds: Vec<String>,
    pub jobs: Vec<u32>,
    pub workloads: Vec<String>,
    pub policies: Vec<String>,
    cells: BTreeMap<(CellPlace, String), Vec<Trial<'a>>>,
    /// Number of trials that an earlier record has too. The earlier one counts, unless only the
    /// later has a result.
    pub twice: usize,
}

impl<'a> Merged<'a> {
    pub fn new(records: &'a [Record]) -> anyhow::Result<Self> {
        let mut merged = Self::default();
        for record in records {
            let index = CellIndex::new(record);
            axes::check(&index)?;
            for trial in &index.trials {
                let (place, policy) = axes::place(&index, trial)?;
                let seed = trial.seed_index.unwrap_or_default();
                merged.add(place, policy, Trial { id: trial.id, seed, outcome: trial.outcome });
            }
        }
        for trials in merged.cells.values_mut() {
            trials.sort_by_key(|trial| trial.seed);
        }
        Ok(merged)
    }

    fn add(&mut self, place: CellPlace, policy: String, trial: Trial<'a>) {
        fn once<T: PartialEq + Clone>(all: &mut Vec<T>, value: &T) {
            if !all.contains(value) {
                all.push(value.clone());
            }
        }
        once(&mut self.arrays, &place.array);
        once(&mut self.backgrounds, &place.background);
        once(&mut self.jobs, &place.jobs);
        once(&mut self.workloads, &place.workload);
        once(&mut self.policies, &policy);
        let trials = self.cells.entry((place, policy)).or_default();
        match trials.iter_mut().find(|known| known.seed == trial.seed) {
            Some(known) => {
                self.twice += 1;
                let better = trial.sample().is_some() || known.outcome.is_none();
                if known.sample().is_none() && better {
                    *known = trial;
                }
            }
            None => trials.push(trial),
        }
    }

    /// Returns the policies with default parameters.
    pub fn plain_policies(&self) -> Vec<&str> {
        self.policies.iter().map(String::as_str).filter(|policy| !policy.contains(':')).collect()
    }

    /// Returns each array, background and number of jobs of the records, with its workloads.
    pub fn groups(&self) -> Vec<Vec<CellPlace>> {
        let mut groups = Vec::new();
        for (array, background, &jobs) in iproduct!(&self.arrays, &self.backgrounds, &self.jobs) {
            let place = |workload: &String| CellPlace {
                array: array.clone(),
                background: background.clone(),
                jobs,
                workload: workload.clone(),
            };
            let wanted = |place: &CellPlace| self.cells.keys().any(|(known, _)| known == place);
            let places: Vec<_> = self.workloads.iter().map(place).filter(wanted).collect();
            if !places.is_empty() {
                groups.push(places);
            }
        }
        groups
    }

    pub fn places(&self) -> Vec<CellPlace> {
        self.groups().into_iter().flatten().collect()
    }

    pub fn trials(&self, place: &CellPlace, policy: &str) -> &[Trial<'a>] {
        self.cells.get(&(place.clone(), policy.to_owned())).map_or(&[], Vec::as_slice)
    }

    pub fn all(&self) -> impl Iterator<Item = &Trial<'a>> {
        self.cells.values().flatten()
    }

    /// Returns the samples of a cell's trials that are ok, with the indices of their seeds.
    pub fn samples(&self, place: &CellPlace, policy: &str) -> Vec<(u32, &'a Sample)> {
        let trials = self.trials(place, policy).iter();
        trials.filter_map(|trial| Some((trial.seed, trial.sample()?))).collect()
    }
}
