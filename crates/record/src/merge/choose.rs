//! Chooses the outcome that counts of each trial among those of several records, and finds results
//! that contradict each other.

use std::collections::BTreeMap;
use std::path::PathBuf;

use disklab_results::Remark;

use super::agree::Agreed;
use super::error::{Conflict, MergeError};
use crate::error::RecordError;
use crate::fingerprint::{self, Difference};
use crate::outcome::{Outcome, Status, again};
use crate::record::Record;

/// The field of a conflict between a result and a failure that would occur everywhere.
pub(crate) const STATUS: &str = "`status` in trials.jsonl";

/// The index of the record and the outcome, for each trial that has run, in the order of the suite.
pub(super) type Outcomes<'a> = Vec<Option<(usize, &'a Outcome)>>;

pub(super) struct Chosen<'a> {
    pub outcomes: Outcomes<'a>,
    /// The second outcomes of trials that were measured twice. Each is from the same record as the
    /// first, because only two measurements on one machine show its noise.
    pub again: Outcomes<'a>,
    pub duplicates: usize,
    pub superseded: usize,
    /// Raw files that differ from the recorded digests.
    pub damaged: Vec<PathBuf>,
}

pub(super) fn choose<'a>(records: &'a [Record], agreed: &Agreed) -> Result<Chosen<'a>, MergeError> {
    let mut found: BTreeMap<usize, Vec<(usize, &Outcome)>> = BTreeMap::new();
    for (at, (record, places)) in records.iter().zip(&agreed.places).enumerate() {
        for ((_, outcome), place) in record.outcomes().into_iter().zip(places) {
            found.entry(*place).or_default().extend(outcome.map(|outcome| (at, outcome)));
        }
    }
    let mut chosen = Chosen {
        outcomes: Vec::with_capacity(found.len()),
        again: Vec::new(),
        duplicates: 0,
        superseded: 0,
        damaged: Vec::new(),
    };
    let mut conflicts = Vec::new();
    for outcomes in found.values() {
        let ok: Vec<(usize, &Outcome)> =
            outcomes.iter().copied().filter(|(_, outcome)| outcome.status == Status::Ok).collect();
        if let Some((first, others)) = ok.split_first() {
            for other in others {
                conflicts.extend(conflict(records, *first, *other)?);
            }
            let failed = outcomes.iter().copied().filter(|(_, outcome)| outcome.fails_everywhere());
            let status = |failed| conflict_in(STATUS.to_owned(), records, *first, failed);
            conflicts.extend(failed.filter_map(status));
            chosen.duplicates += others.len();
            chosen.superseded += outcomes.len() - ok.len();
        }
        chosen.outcomes.push(if ok.is_empty() {
            best_of_none(outcomes)
        } else if conflicts.is_empty() {
            Some(unchanged(records, &ok, &mut chosen.damaged)?)
        } else {
            // After a conflict, no record is written.
            None
        });
    }
    if !conflicts.is_empty() {
        return Err(MergeError::Conflicts(conflicts));
    }
    for first in chosen.outcomes.iter().flatten() {
        chosen.again.push(second(records, *first)?);
    }
    Ok(chosen)
}

/// Chooses among outcomes without a result: a failure comes before a trial that never ran.
fn best_of_none<'a>(outcomes: &[(usize, &'a Outcome)]) -> Option<(usize, &'a Outcome)> {
    let rank = |status: Status| match status {
        Status::Ok => 0,
        Status::Failed => 1,
        Status::Skipped => 2,
        Status::NotNeeded => 3,
        Status::Interrupted => 4,
    };
    outcomes.iter().copied().min_by_key(|(at, outcome)| (rank(outcome.status), *at))
}

/// Returns the trial's second measurement, if there is one.
fn second<'a>(
    records: &'a [Record],
    (at, first): (usize, &Outcome),
) -> Result<Option<(usize, &'a Outcome)>, MergeError> {
    let second = records.get(at).and_then(|record| record.outcome(&again(&first.trial)));
    let Some(second) = second.map(|outcome| (at, outcome)) else { return Ok(None) };
    if second.1.status == Status::Ok {
        return unchanged(records, &[second], &mut Vec::new()).map(Some);
    }
    Ok(Some(second))
}

/// Returns the first outcome whose raw output is as recorded. Changed files of all of them are
/// added to `damaged`.
fn unchanged<'a>(
    records: &[Record],
    ok: &[(usize, &'a Outcome)],
    damaged: &mut Vec<PathBuf>,
) -> Result<(usize, &'a Outcome), MergeError> {
    let (mut whole, mut first_changed) = (None, None);
    for (at, outcome) in ok {
        let Some(record) = records.get(*at) else { continue };
        let changed = fingerprint::changed(record, outcome)?;
        let raw = record.raw(outcome).unwrap_or_default();
        damaged.extend(changed.iter().map(|file| raw.join(file)));
        match changed.into_iter().next() {
            None => _ = whole.get_or_insert((*at, *outcome)),
            Some(file) => _ = first_changed.get_or_insert(MergeError::Changed { raw, file }),
        }
    }
    whole.ok_or_else(|| first_changed.unwrap_or(MergeError::Nothing))
}

/// Returns the first difference between two results of one trial; their wall times may differ.
fn conflict(
    records: &[Record],
    (first, one): (usize, &Outcome),
    (second, other): (usize, &Outcome),
) -> Result<Option<Conflict>, RecordError> {
    let (Some(of_one), Some(of_other)) = (records.get(first), records.get(second)) else {
        return Ok(None);
    };
    let differs =
        differing_file(of_one, one, of_other, other)?.or_else(|| differing_field(one, other));
    Ok(differs.and_then(|file| conflict_in(file, records, (first, one), (second, other))))
}

fn conflict_in(
    file: String,
    records: &[Record],
    (first, one): (usize, &Outcome),
    (second, _): (usize, &Outcome),
) -> Option<Conflict> {
    Some(Conflict {
        trial: one.trial.clone(),
        key: one.key.clone(),
        file,
        first: records.get(first)?.folder().to_owned(),
        second: records.get(second)?.folder().to_owned(),
    })
}

fn differing_file(
    first: &Record,
    one: &Outcome,
    second: &Record,
    other: &Outcome,
) -> Result<Option<String>, RecordError> {
    if one.files.is_empty() || other.files.is_empty() {
        // Records from before digests: compares the bytes themselves.
        let (Some(first), Some(second)) = (first.raw(one), second.raw(other)) else {
            return Ok(None);
        };
        let difference = fingerprint::compare_raw(&one.trial, &first, &second)?.into_iter().next();
        return Ok(difference.map(|difference| match difference {
            Difference::OnlyInFirst { file, .. }
            | Difference::OnlyInSecond { file, .. }
            | Difference::Bytes { file, .. } => file.to_owned(),
            Difference::Status { .. } => "status".to_owned(),
        }));
    }
    let names = one.files.keys().chain(other.files.keys());
    Ok(names.into_iter().find(|name| one.files.get(*name) != other.files.get(*name)).cloned())
}

fn differing_field(one: &Outcome, other: &Outcome) -> Option<String> {
    // Raw files do not contain the disks that a trial began on.
    let is_made_again = one.is_made_again() || other.is_made_again();
    let remarks = |outcome: &Outcome| {
        let own = outcome.remarks.iter().filter(|remark| **remark != Remark::MadeAgain);
        own.cloned().collect::<Vec<_>>()
    };
    let checks = [
        ("virtual_ns", one.virtual_ns == other.virtual_ns),
        ("disks", is_made_again || one.disks == other.disks),
        ("sample", one.sample == other.sample),
        ("remarks", remarks(one) == remarks(other)),
        ("measures", one.measures == other.measures),
    ];
    let (field, _) = checks.into_iter().find(|(_, is_same)| !is_same)?;
    Some(format!("`{field}` in trials.jsonl"))
}
