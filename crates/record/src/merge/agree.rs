//! Checks that records are of one suite and made with the same tools, and makes the manifest of
//! all.

use std::collections::{BTreeMap, BTreeSet};

use super::error::MergeError;
use crate::manifest::{Fact, Kernel, Manifest, NOT_THERE};
use crate::mismatch::Mismatch;
use crate::outcome::again;
use crate::part::Part;
use crate::record::Record;

/// The manifest of all records, and the places of their trials in the suite.
pub(super) struct Agreed {
    pub manifest: Manifest,
    /// The places of each record's trials, in their order.
    pub places: Vec<Vec<usize>>,
}

/// The facts of all records by name, each with the record that has it.
#[derive(Default)]
struct Facts(BTreeMap<String, (usize, Fact)>);

impl Facts {
    /// Adds a record's facts. Returns those that differ from an earlier record's, each with the
    /// index of that record.
    fn add(&mut self, record: usize, kind: &str, facts: &[Fact]) -> Vec<(usize, Mismatch)> {
        let mut differ = Vec::new();
        for fact in facts {
            match self.0.get_mut(&fact.name) {
                None => _ = self.0.insert(fact.name.clone(), (record, fact.clone())),
                Some((_, known)) if known.value == fact.value || fact.value == NOT_THERE => {}
                // No result depends on a tool that was not there.
                Some(known) if known.1.value == NOT_THERE => *known = (record, fact.clone()),
                Some((earlier, known)) => {
                    let what = format!("{kind} {}", fact.name);
                    let mismatch = Mismatch::between(what, &known.value, &fact.value);
                    differ.extend(mismatch.map(|mismatch| (*earlier, mismatch)));
                }
            }
        }
        differ
    }
}

/// Returns the manifest of all records, or their differences. `manifests` are those of the records,
/// as parts of one suite.
pub(super) fn agree(records: &[Record], manifests: &[Manifest]) -> Result<Agreed, MergeError> {
    let (first_record, first) =
        records.first().zip(manifests.first()).ok_or(MergeError::Nothing)?;
    let of = first.trials_of_suite();
    let (mut tools, mut inputs, mut kernel_facts) =
        (Facts::default(), Facts::default(), Facts::default());
    let mut kernels: BTreeMap<&str, &Kernel> = BTreeMap::new();
    let mut trials: BTreeMap<usize, (&str, &str)> = BTreeMap::new();
    let mut places = Vec::new();
    for (at, (record, manifest)) in records.iter().zip(manifests).enumerate() {
        let mut questions = first.question_mismatches(manifest);
        questions.extend(first.mismatched_size(manifest));
        let mut differ: Vec<(usize, Mismatch)> =
            questions.into_iter().map(|difference| (0, difference)).collect();
        differ.extend(kernel_facts.add(at, "kernel", &manifest.kernel_facts()));
        differ.extend(tools.add(at, "tool", &manifest.tools));
        differ.extend(inputs.add(at, "input", &manifest.inputs));
        let own = places_of(manifest);
        if differ.is_empty() {
            differ
                .extend(add_trials(&mut trials, manifest, &own).map(|difference| (0, difference)));
        }
        if let Some((earlier, _)) = differ.first() {
            let earlier = *earlier;
            differ.retain(|(record, _)| *record == earlier);
            return Err(MergeError::Differ {
                first: records.get(earlier).unwrap_or(first_record).folder().to_owned(),
                second: record.folder().to_owned(),
                differences: differ.into_iter().map(|(_, difference)| difference).collect(),
            });
        }
        for kernel in &manifest.kernels {
            kernels.entry(&kernel.name).or_insert(kernel);
        }
        places.push(own);
    }
    let mut manifest = first.clone();
    let created = records.iter().map(|record| record.manifest().created.as_str()).min();
    created.unwrap_or_default().clone_into(&mut manifest.created);
    let longest = manifests.iter().map(|own| &own.extended).max_by_key(|own| own.len());
    manifest.extended = longest.cloned().unwrap_or_default();
    manifest.trials = trials.values().map(|(name, _)| (*name).to_owned()).collect();
    manifest.keys =
        trials.values().map(|(_, key)| (*key).to_owned()).filter(|key| !key.is_empty()).collect();
    manifest.again = second_times(records, &manifest.trials);
    // Some older records have no keys.
    manifest.keys = if manifest.keys.len() == trials.len() { manifest.keys } else { Vec::new() };
    let at = trials.keys().map(|&at| at as u32).collect();
    manifest.part = Some(Part { of: of as u32, at }).filter(|part| part.at.len() < of);
    manifest.kernels = kernels.into_values().cloned().collect();
    manifest.tools = in_order(records, |manifest| &manifest.tools, tools);
    manifest.inputs = in_order(records, |manifest| &manifest.inputs, inputs);
    manifest.host = hosts(records);
    Ok(Agreed { manifest, places })
}

/// Returns the second measurements that any of the records has, in the order of the trials.
fn second_times(records: &[Record], trials: &[String]) -> Vec<String> {
    let any: BTreeSet<_> = records.iter().flat_map(|record| &record.manifest().again).collect();
    trials.iter().map(|trial| again(trial)).filter(|second| any.contains(second)).collect()
}

fn places_of(manifest: &Manifest) -> Vec<usize> {
    match &manifest.part {
        Some(part) => part.at.iter().map(|&at| at as usize).collect(),
        None => (0..manifest.trials.len()).collect(),
    }
}

/// Adds a manifest's trials at their places. Every record must have the same trial at the same
/// place.
fn add_trials<'a>(
    trials: &mut BTreeMap<usize, (&'a str, &'a str)>,
    manifest: &'a Manifest,
    places: &[usize],
) -> Option<Mismatch> {
    for (index, (&at, name)) in places.iter().zip(&manifest.trials).enumerate() {
        let key = manifest.keys.get(index).map_or("", String::as_str);
        match trials.get(&at) {
            None => _ = trials.insert(at, (name, key)),
            Some((known, known_key)) if known == name && *known_key == key => {}
            Some((known, known_key)) => {
                let named = |name: &str, key: &str| {
                    if key.is_empty() { name.to_owned() } else { format!("{name} ({key})") }
                };
                let what = format!("trial {} of the suite", at + 1);
                return Mismatch::between(what, named(known, known_key), named(name, key));
            }
        }
    }
    None
}

/// Returns the facts in the order of the records, and within a record in its own order.
fn in_order(records: &[Record], own: impl Fn(&Manifest) -> &Vec<Fact>, facts: Facts) -> Vec<Fact> {
    let mut left = facts.0;
    let names = records.iter().flat_map(|record| own(record.manifest())).map(|fact| &fact.name);
    names.filter_map(|name| left.remove(name).map(|(_, fact)| fact)).collect()
}

/// Returns the facts about all machines, each fact once.
fn hosts(records: &[Record]) -> Vec<Fact> {
    let mut hosts: Vec<Fact> = Vec::new();
    for fact in records.iter().flat_map(|record| &record.manifest().host) {
        if !hosts.contains(fact) {
            hosts.push(fact.clone());
        }
    }
    hosts
}
