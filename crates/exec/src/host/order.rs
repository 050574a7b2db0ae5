//! In which order trials are carried out, where time itself changes what is measured: disks fill, warm up and wear, others come and go.
//!
//! In blocks: all cells once, with the first seed, then all once with the second, so that what drifts hits all cells alike.
//! Within a block the order is drawn, by the block's number; those that begin on the same prepared disks stay together, since
//! preparing writes whole files.

use crate::describe;
use disklab_des::Random;
use disklab_spec::Trial;
use disklab_units::Seed;
use std::collections::BTreeMap;

/// In the order in which they are carried out.
pub fn of(trials: Vec<&Trial>) -> Vec<&Trial> {
    let mut blocks: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        blocks.entry(trial.seed_index).or_default().push(trial);
    }
    blocks.into_iter().flat_map(|(number, block)| shuffled(number, block)).collect()
}

fn shuffled(number: u32, block: Vec<&Trial>) -> Vec<&Trial> {
    let mut random = Random::new(Seed(u64::from(number)).derive("order of trials"));
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

/// What its disks hold when it begins.
pub fn key(trial: &Trial) -> String {
    serde_json::to_string(&describe::preparing_plan(trial)).unwrap_or_default()
}

/// Fisher and Yates's.
fn shuffle<T>(things: &mut [T], random: &mut Random) {
    for last in (1..things.len()).rev() {
        things.swap(last, random.below(last as u64 + 1) as usize);
    }
}
