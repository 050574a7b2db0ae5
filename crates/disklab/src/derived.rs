//! Derives the numbers of a record's lines again, from the raw files of their trials.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use disklab_config::Trial;
use disklab_record::outcome::first_of;
use disklab_record::{Manifest, Outcome, RawFiles, Record};
use disklab_runner::derive;
use disklab_units::prose::count;
use serde::Serialize;
use serde_json::Value;

use crate::exit::Failure;
use crate::home::Home;
use crate::question::Question;
use crate::records::name_of;
use crate::screen::Screen;

/// Number of differences that are printed one by one.
pub const LISTED: usize = 20;

/// A number of a line that does not follow from the raw files of its trial.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DerivedDifference {
    pub record: String,
    pub trial: String,
    /// The path of the number in the line, such as `sample.iops`.
    pub measure: String,
    /// The value in the line.
    pub recorded: Value,
    /// The value that follows from the raw files.
    pub derived: Value,
}

impl fmt::Display for DerivedDifference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, trial, measure, recorded, derived } = self;
        write!(
            out,
            "{record}, {trial}: {measure} is {recorded} in its line, and {derived} by its raw files"
        )
    }
}

/// Trials of a record by their ids, as the record's copy of the suite describes them.
pub struct Descriptions(Result<BTreeMap<String, Trial>, String>);

impl Descriptions {
    pub fn read(folder: &Path, manifest: &Manifest) -> Self {
        if manifest.imported.is_some() {
            return Self(Err("imported results have no raw files of a trial".to_owned()));
        }
        if manifest.on_host.is_some() {
            return Self(
                Err("a trial on a machine's own disks depends on that machine".to_owned()),
            );
        }
        let read = || -> Result<_, Failure> {
            let question = Question::recorded(&Home::open()?.lab, folder, manifest)?;
            Ok(question.trials.into_iter().map(|trial| (trial.id.clone(), trial)).collect())
        };
        Self(read().map_err(|failure| failure.to_string()))
    }

    /// Returns the description of a trial; for a second measurement, that of its first one.
    pub fn get(&self, id: &str) -> Result<&Trial, String> {
        let trials = self.0.as_ref().map_err(Clone::clone)?;
        let first = first_of(id);
        let found = trials.get(id).or_else(|| trials.get(first.as_deref()?));
        found.ok_or_else(|| "the record's copy of the suite has no such trial".to_owned())
    }
}

/// Derives every number of the record again from raw files that have their recorded digests, and
/// returns the numbers that differ. A remark gives the number of trials that could not be derived,
/// and the reason.
pub fn differences(record: &Record, screen: &Screen) -> Result<Vec<DerivedDifference>, Failure> {
    let descriptions = Descriptions::read(record.folder(), record.manifest());
    let mut raw_files = RawFiles::new(record);
    let mut found = Vec::new();
    let mut not_derived: BTreeMap<String, usize> = BTreeMap::new();
    for outcome in record.outcomes().into_iter().chain(record.again()).filter_map(|(_, some)| some)
    {
        if outcome.sample.is_none() && outcome.measures.is_empty() {
            continue;
        }
        let Some(raw) = record.raw(outcome).filter(|raw| raw.is_dir()) else { continue };
        // Changed raw files are reported as such.
        if !raw_files.changed_beside_trace(outcome)?.is_empty() {
            continue;
        }
        let mut derived = outcome.clone();
        let result =
            descriptions.get(&outcome.trial).and_then(|trial| derive(trial, &raw, &mut derived));
        match result {
            Ok(()) => found.extend(between(record, outcome, &derived)?),
            Err(reason) => *not_derived.entry(reason).or_default() += 1,
        }
    }
    for (reason, trials) in not_derived {
        screen.remark(&format!(
            "{}: the numbers of {} cannot be derived again from raw files: {reason}",
            name_of(record.folder()),
            count(trials, "trial")
        ));
    }
    Ok(found)
}

/// Returns the numbers of a line that differ from `derived`, or that `derived` lacks.
fn between(
    record: &Record,
    outcome: &Outcome,
    derived: &Outcome,
) -> Result<Vec<DerivedDifference>, Failure> {
    let [recorded, derived] = [numbers(outcome)?, numbers(derived)?];
    let names: BTreeSet<&String> = recorded.keys().collect();
    let differing = names.into_iter().filter(|name| {
        // An older line may lack a number that is derived today.
        !recorded[*name].is_null() && recorded.get(*name) != derived.get(*name)
    });
    let difference = |name: &String| DerivedDifference {
        record: name_of(record.folder()),
        trial: outcome.trial.clone(),
        measure: name.clone(),
        recorded: recorded[name].clone(),
        derived: derived.get(name).cloned().unwrap_or(Value::Null),
    };
    Ok(differing.map(difference).collect())
}

/// Returns every number of a line by its path.
fn numbers(outcome: &Outcome) -> Result<BTreeMap<String, Value>, Failure> {
    // The numbers are printed and parsed once, as a reader of the line gets them.
    let printed = |value: Value| -> Result<Value, serde_json::Error> {
        serde_json::from_str(&value.to_string())
    };
    let mut found = BTreeMap::new();
    add("sample", &printed(serde_json::to_value(&outcome.sample)?)?, &mut found);
    add("measures", &printed(serde_json::to_value(&outcome.measures)?)?, &mut found);
    Ok(found)
}

fn add(path: &str, value: &Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, value)| add(&format!("{path}.{name}"), value, found));
        }
        Value::Array(values) => {
            let values = values.iter().enumerate();
            values.for_each(|(place, value)| add(&format!("{path}[{place}]"), value, found));
        }
        value => _ = found.insert(path.to_owned(), value.clone()),
    }
}
