//! Tests seeds that are added to records, and pools of records of different seeds.

use std::fs;
use std::path::Path;

use disklab_record::manifest::{Extension, Fact, UntilDecided};
use disklab_record::merge::{Made, MergeError, Merged, merge};
use disklab_record::{
    Manifest, Part, Record, RecordError, RecordWriter, Retry, Status, compare, fingerprint,
};
use tempfile::tempdir;

use crate::{manifest, outcome, run};

/// Returns the suite's two cells with these seeds.
fn of_seeds(first: u32, last: u32) -> Manifest {
    let trials: Vec<String> =
        (first..=last).flat_map(|seed| ["a", "b"].map(|cell| format!("{cell}+s{seed}"))).collect();
    let mut manifest = manifest(&trials.iter().map(String::as_str).collect::<Vec<_>>());
    manifest.keys = trials.iter().map(|trial| format!("key of {trial}")).collect();
    let seeds = if first == 1 { last.to_string() } else { format!("{first}-{last}") };
    manifest.suite.set.push(format!("seeds={seeds}"));
    manifest
}

fn extension(after: u32, upto: u32) -> Extension {
    Extension { created: "2026-11-22T10:00:00Z".to_owned(), command: Vec::new(), after, upto }
}

fn run_all(writer: &RecordWriter) {
    for trial in writer.remaining() {
        run(writer, &trial, Status::Ok, &format!("report of {trial}"));
    }
}

/// Makes a finished record of these seeds, begun at this time.
fn record(folder: &Path, name: &str, (first, last): (u32, u32), created: &str) -> Record {
    let mut manifest = of_seeds(first, last);
    created.clone_into(&mut manifest.created);
    let writer = Record::create_at(&folder.join(name), &manifest).expect("a record");
    run_all(&writer);
    Record::open(&folder.join(name)).expect("a record")
}

fn merged(records: &[Record], to: &Path) -> Result<Merged, MergeError> {
    merge(records, to, &Made { command: Vec::new() })
}

#[test]
fn seeds_are_added_behind_those_that_there_are() {
    let folder = tempdir().expect("a folder");
    let few = folder.path().join("few");
    record(folder.path(), "few", (1, 2), "2026-11-21T21:00:00Z");
    let more = of_seeds(1, 4);
    let (writer, _) =
        Record::extend(&few, &more, extension(2, 4), Retry::Nothing).expect("an extended record");
    assert_eq!(writer.remaining(), ["a+s3", "b+s3", "a+s4", "b+s4"]);
    run(&writer, "a+s3", Status::Ok, "report of a+s3");
    let busy = Record::extend(&few, &of_seeds(1, 5), extension(4, 5), Retry::Nothing);
    assert!(matches!(busy, Err(RecordError::Busy { .. })), "{busy:?}");
    // After a crash here, the extended record is continued like any other.
    drop(writer);
    let (writer, _) = Record::resume(&few, &more, Retry::Nothing).expect("a record");
    assert_eq!(writer.remaining(), ["b+s3", "a+s4", "b+s4"]);
    run_all(&writer);
    drop(writer);
    let extended = Record::open(&few).expect("a record");
    assert_eq!(extended.manifest().extended, [extension(2, 4)]);
    assert_eq!(extended.manifest().keys, more.keys);
    assert_eq!(extended.manifest().seeds(), Some((1, 4)));
    assert_eq!(extended.manifest().created, "2026-11-21T21:00:00Z", "as it was begun");
    // The result equals a run of all seeds, byte for byte.
    record(folder.path(), "whole", (1, 4), "2026-11-21T21:00:00Z");
    let whole = folder.path().join("whole");
    assert_eq!(compare(&few, &whole).expect("two records"), []);
    assert_eq!(fingerprint(&few).expect("one"), fingerprint(&whole).expect("one"));
}

#[test]
fn what_was_made_otherwise_is_not_extended() {
    let folder = tempdir().expect("a folder");
    record(folder.path(), "few", (1, 2), "2026-11-21T21:00:00Z");
    let few = folder.path().join("few");
    let before = fs::read(few.join("manifest.toml")).expect("a manifest");
    let refused = |change: fn(&mut Manifest), expected: &str| {
        let mut now = of_seeds(1, 4);
        change(&mut now);
        let error = Record::extend(&few, &now, extension(2, 4), Retry::Nothing)
            .expect_err(expected)
            .to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert_eq!(fs::read(few.join("manifest.toml")).expect("a manifest"), before);
    };
    refused(|now| now.tools[0] = Fact::new("fio", "another"), "tool fio");
    refused(|now| now.suite.set[0] = "policy=pid".to_owned(), "settings of the suite");
    refused(|now| now.keys[1] = "other".to_owned(), "key of b+s1");
    refused(|now| now.trials[0] = "c+s1".to_owned(), "trials");
}

/// Tests trials that were not needed: once seeds are added, verdicts get a smaller part of alpha,
/// so that these trials may be needed.
#[test]
fn what_was_not_needed_may_be_needed_once_seeds_are_added() {
    let folder = tempdir().expect("a folder");
    let decided = folder.path().join("decided");
    let until = |analyses: &[u32]| {
        Some(UntilDecided {
            metrics: vec!["iops".to_owned()],
            alpha: 0.05,
            smallest_effect: 0.02,
            limit: "share".to_owned(),
            analyses: analyses.to_vec(),
        })
    };
    let mut few = of_seeds(1, 2);
    few.until_decided = until(&[2]);
    let writer = Record::create_at(&decided, &few).expect("a record");
    run(&writer, "a+s1", Status::Ok, "a");
    let not_needed = |trial: &str| writer.note(outcome(trial, Status::NotNeeded));
    for trial in ["b+s1", "a+s2", "b+s2"] {
        not_needed(trial).expect("a line");
    }
    drop(writer);
    let (writer, _) = Record::resume(&decided, &few, Retry::Nothing).expect("a record");
    assert_eq!(writer.remaining(), [""; 0]);
    drop(writer);
    let mut more = of_seeds(1, 3);
    more.until_decided = until(&[2, 3]);
    let (writer, _) =
        Record::extend(&decided, &more, extension(2, 3), Retry::Nothing).expect("a record");
    assert_eq!(writer.remaining(), ["b+s1", "a+s2", "b+s2", "a+s3", "b+s3"]);
    // A trial that is still not needed gets a line.
    let lines = || fs::read_to_string(decided.join("trials.jsonl")).expect("lines").lines().count();
    let before = lines();
    writer.note(outcome("b+s1", Status::NotNeeded)).expect("a line");
    assert_eq!((lines(), writer.remaining().len()), (before, 4));
}

#[test]
fn records_of_different_seeds_are_pooled() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    // Both were begun in the same second, so neither could be seen before the other was begun.
    let now = "2026-11-21T21:00:00Z";
    let parts = [record(here, "later", (3, 4), now), record(here, "first", (1, 2), now)];
    let to = here.join("pooled");
    let done = merged(&parts, &to).expect("one record");
    assert_eq!((done.trials, done.of, done.pooled), (8, 8, Some((1, 4))));
    assert_eq!(done.extended, []);
    let whole = record(here, "whole", (1, 4), now);
    assert_eq!(compare(whole.folder(), &to).expect("two records"), []);
    let pooled = Record::open(&to).expect("a record");
    assert_eq!(whole.manifest().mismatches(pooled.manifest()), []);
    // If other seeds lie between them, the seeds are a part of the suite.
    let apart = [record(here, "x", (1, 2), now), record(here, "y", (5, 5), now)];
    let done = merged(&apart, &here.join("apart")).expect("one record");
    assert_eq!((done.trials, done.of, done.pooled), (6, 10, Some((1, 5))));
    let part = Record::open(&here.join("apart")).expect("a record").manifest().part.clone();
    assert_eq!(part, Some(Part { of: 10, at: vec![0, 1, 2, 3, 8, 9] }));
}

#[test]
fn the_same_seed_twice_is_one_trial_or_an_error() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let now = "2026-11-21T21:00:00Z";
    let parts = [record(here, "x", (1, 3), now), record(here, "y", (2, 4), now)];
    let done = merged(&parts, &here.join("both")).expect("one record");
    assert_eq!((done.trials, done.duplicates), (8, 4));
    let other = here.join("other");
    let writer = Record::create_at(&other, &of_seeds(3, 4)).expect("a record");
    for trial in writer.remaining() {
        run(&writer, &trial, Status::Ok, "other bytes");
    }
    drop(writer);
    let [first, _] = parts;
    let records = [first, Record::open(&other).expect("a record")];
    let error = merged(&records, &here.join("none")).expect_err("a conflict").to_string();
    assert!(error.contains("a+s3") && error.contains("fio.json"), "{error}");
    assert!(!here.join("none").exists());
}

#[test]
fn seeds_that_were_begun_after_others_had_ended_count_as_added_after_a_look() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let first = record(here, "first", (1, 2), "2026-11-21T21:00:00Z");
    // The trials of the first record took 900 ms each.
    let later = record(here, "later", (3, 4), "2026-11-21T22:00:00Z");
    let done = merged(&[first.clone(), later], &here.join("a")).expect("one record");
    let looks = |done: &Merged| -> Vec<(u32, u32)> {
        done.extended.iter().map(|extension| (extension.after, extension.upto)).collect()
    };
    assert_eq!(looks(&done), [(2, 4)]);
    let pooled = Record::open(&here.join("a")).expect("a record");
    assert_eq!(looks(&done).len(), pooled.manifest().extended.len());
    // The first of the seeds were begun last, so the look was not at the first seeds.
    let behind = record(here, "behind", (3, 4), "2026-11-21T20:00:00Z");
    let done = merged(&[first, behind], &here.join("b")).expect("one record");
    assert_eq!(looks(&done), [(0, 2)]);
}

#[test]
fn seeds_that_nobody_can_have_are_an_error_of_the_record() {
    let folder = tempdir().expect("a folder");
    let good = record(folder.path(), "good", (1, 2), "2026-11-21T21:00:00Z");
    for seeds in ["0-4294967295", "4294967295-4294967295", "9-1"] {
        let mut manifest = of_seeds(3, 4);
        *manifest.suite.set.last_mut().expect("its seeds") = format!("seeds={seeds}");
        let place = folder.path().join(seeds);
        run_all(&Record::create_at(&place, &manifest).expect("a record"));
        let hostile = Record::open(&place).expect("a record");
        let to = folder.path().join(format!("{seeds}-merged"));
        let refused = merged(&[good.clone(), hostile], &to);
        assert!(refused.is_err(), "{seeds}: {refused:?}");
        assert!(!to.exists(), "{seeds}");
    }
}
