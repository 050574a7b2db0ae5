//! The order of trials on real disks, where time changes the results: disks fill, warm up and wear,
//! and other users come and go.
//!
//! The order is in blocks: all cells with the first seed, then all cells with the second, so that a
//! drift hits all cells alike. The order within a block is drawn from the run's number and the
//! block's. Trials that begin on the same prepared disks stay together, since preparing writes
//! whole files.

use super::place::only_reads;
use crate::describe::plan::preparing_plan;
use disklab_config::Trial;
use disklab_units::{Random, Seed};
use std::collections::BTreeMap;

/// Sorts trials into the order in which they run, by the seed of the run's order.
pub fn in_blocks(trials: Vec<&Trial>, order: u32) -> Vec<&Trial> {
    let mut blocks: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.seed_index).or_default().push(trial);
    }
    blocks.into_iter().flat_map(|(number, block)| shuffled((order, number), block)).collect()
}

fn shuffled((order, number): (u32, u32), block: Vec<&Trial>) -> Vec<&Trial> {
    let mut random =
        Random::new(Seed(u64::from(order) << 32 | u64::from(number)).derive("order of trials"));
    let mut groups: Vec<(String, Vec<&Trial>)> = Vec::new();
    for trial in block {
        let key = key(trial);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(trial),
            None => groups.push((key, vec![trial])),
        }
    }
    shuffle(&mut groups, &mut random);
    for (_, group) in &mut groups {
        shuffle(group, &mut random);
    }
    groups.into_iter().flat_map(|(_, group)| group).collect()
}

/// Contents of the disks. By this rule, the run, the dry run and the estimate know when the disks
/// are made anew.
#[derive(Debug, Default)]
pub struct DiskContents {
    /// Key of the contents. It is None before the disks were made, and after a trial has changed
    /// them.
    key: Option<String>,
}

impl DiskContents {
    /// Returns true if a trial can begin on these contents.
    pub fn fit(&self, trial: &Trial) -> bool {
        self.key.as_ref() == Some(&key(trial))
    }

    /// Notes that the contents for the trial were made.
    pub fn made(&mut self, trial: &Trial) {
        self.key = Some(key(trial));
    }

    /// Notes that the trial was measured.
    pub fn measured(&mut self, trial: &Trial) {
        self.key.take_if(|_| !only_reads(trial));
    }
}

/// Returns the key of the contents that a trial begins on.
fn key(trial: &Trial) -> String {
    serde_json::to_string(&preparing_plan(trial)).unwrap_or_default()
}

/// Shuffles by the method of Fisher and Yates.
fn shuffle<T>(things: &mut [T], random: &mut Random) {
    for last in (1..things.len()).rev() {
        things.swap(last, random.below(last as u64 + 1) as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::in_blocks;
    use disklab_config::{Lab, Suite, Trial};
    use std::path::Path;

    const SUITE: &str = r#"
question = "In which order?"
seeds = 3
memory = "512 MiB"
runtime = { rotational = "1 s", solid_state = "1 s" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
scheduler = ["none", "mq-deadline", "bfq", "kyber"]
"#;

    #[test]
    fn blocks_are_whole_and_each_run_draws_its_own() {
        let lab = Lab::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab"))).unwrap();
        let trials: Vec<Trial> =
            Suite::of_text("mine", "", SUITE, &[]).unwrap().trials(&lab).unwrap();
        let drawn = |order| -> Vec<&str> {
            in_blocks(trials.iter().collect(), order)
                .iter()
                .map(|trial| trial.id.as_str())
                .collect()
        };
        assert_eq!(drawn(7), drawn(7));
        assert!((0..4).map(drawn).any(|order| order != drawn(7)), "every run has the same order");
        let cells = |ids: &[&str]| -> Vec<String> {
            ids.iter().filter_map(|id| Some(id.rsplit_once("+s")?.0.to_owned())).collect()
        };
        let all: Vec<Vec<&str>> = (0..4).map(drawn).collect();
        for ids in &all {
            let seeds: Vec<Option<&str>> =
                ids.iter().map(|id| Some(id.rsplit_once("+s")?.1)).collect();
            assert_eq!(
                seeds,
                [["1"; 4], ["2"; 4], ["3"; 4]].concat().into_iter().map(Some).collect::<Vec<_>>()
            );
        }
        assert!(
            all.iter().any(|ids| cells(&ids[..4]) != cells(&ids[4..8])),
            "all blocks have one order"
        );
    }
}
