//! Pools records of one suite with different seeds: makes the suite of all their seeds, and finds
//! the seeds that were begun after results of others could be seen.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use crate::manifest::{Extension, Manifest};
use crate::part::Part;
use crate::record::Record;

/// Returns the manifest of each record as a part of the suite with all of their seeds. If the
/// records have the same seeds, the manifests are unchanged.
pub(super) fn with_all_seeds(records: &[Record]) -> Vec<Manifest> {
    let own = || records.iter().map(|record| record.manifest().clone()).collect();
    let seeds: Option<Vec<(u32, u32)>> =
        records.iter().map(|record| record.manifest().seeds()).collect();
    let Some(seeds) = seeds.filter(|seeds| seeds.windows(2).any(|pair| pair[0] != pair[1])) else {
        return own();
    };
    let first = seeds.iter().map(|(first, _)| *first).min().unwrap_or_default();
    let last = seeds.iter().map(|(_, last)| *last).max().unwrap_or_default();
    let extended = extensions(records, &seeds);
    let all = records.iter().zip(&seeds).map(|(record, own)| {
        let mut manifest = as_part(record.manifest(), *own, (first, last))?;
        manifest.extended.clone_from(&extended);
        Some(manifest)
    });
    // If the trials do not form cells and seeds, the manifests have other mismatches, which are
    // reported.
    all.collect::<Option<_>>().unwrap_or_else(own)
}

/// Returns the record's trials as a part of the suite with more seeds. A suite runs all cells with
/// its first seed, then all with the next.
fn as_part(own: &Manifest, (first, last): (u32, u32), all: (u32, u32)) -> Option<Manifest> {
    let count = |(first, last): (u32, u32)| last.checked_sub(first)?.checked_add(1);
    let (trials, seeds) = (u32::try_from(own.trials_of_suite()).ok()?, count((first, last))?);
    let cells = trials.checked_div(seeds).filter(|cells| cells * seeds == trials)?;
    let before = first.checked_sub(all.0)?.checked_mul(cells)?;
    let at = match &own.part {
        Some(part) => part.at.clone(),
        None => (0..trials).collect(),
    };
    let mut manifest = own.clone();
    let at = at.into_iter().map(|at| at.checked_add(before)).collect::<Option<_>>()?;
    manifest.part = Some(Part { of: cells.checked_mul(count(all)?)?, at });
    manifest.set_seeds(all.0, all.1);
    Some(manifest)
}

/// Returns the extensions of all records. A record that was begun when another with other seeds had
/// ended is an extension too, because those results could be seen.
fn extensions(records: &[Record], seeds: &[(u32, u32)]) -> Vec<Extension> {
    let all_first = seeds.iter().map(|(first, _)| *first).min().unwrap_or_default();
    let mut extended: Vec<Extension> = Vec::new();
    let mut ordered: Vec<(&Record, (u32, u32))> =
        records.iter().zip(seeds.iter().copied()).collect();
    ordered.sort_by(|(one, _), (other, _)| one.manifest().created.cmp(&other.manifest().created));
    let mut begun: Vec<(u32, u32)> = Vec::new();
    for (record, own) in &ordered {
        extended.extend(record.manifest().extended.iter().cloned());
        if begun.contains(own) {
            continue;
        }
        begun.push(*own);
        let seen = |(earlier, other): &&(&Record, (u32, u32))| {
            other != own && ended(earlier) <= created(record.manifest())
        };
        let seen: Vec<(u32, u32)> = ordered.iter().filter(seen).map(|(_, seeds)| *seeds).collect();
        if let Some(last) = seen.iter().map(|(_, last)| *last).max() {
            // An analysis is of the first seeds; otherwise it only takes its part of alpha.
            let is_first = seen.iter().any(|(first, _)| *first == all_first) && last < own.0;
            extended.push(Extension {
                created: record.manifest().created.clone(),
                command: record.manifest().command.clone(),
                after: if is_first { last } else { 0 },
                upto: own.1,
            });
        }
    }
    extended.sort_by(|one, other| one.created.cmp(&other.created));
    extended.dedup();
    extended
}

fn created(manifest: &Manifest) -> SystemTime {
    let time = manifest.created.parse::<Timestamp>().map(SystemTime::from);
    time.unwrap_or(SystemTime::UNIX_EPOCH)
}

/// Returns the latest time at which the last trial of a record can have ended. Its lines were not
/// written later, and its trials took no longer than their sum.
fn ended(record: &Record) -> SystemTime {
    let took = record.lines().iter().map(|outcome| Duration::from_millis(outcome.wall_ms)).sum();
    let one_by_one = created(record.manifest()).checked_add(took);
    let written = record.folder().join(crate::name::TRIALS).metadata();
    let written = written.and_then(|metadata| metadata.modified()).ok();
    let known = written.into_iter().chain(one_by_one);
    known.min().unwrap_or_else(SystemTime::now)
}
