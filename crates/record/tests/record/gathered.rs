//! Tests records of some trials that are added, one after the other, to the record of all trials.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use disklab_record::gather::{NotTaken, Taken};
use disklab_record::manifest::{Fact, NOT_THERE};
use disklab_record::outcome::{Fault, Outcome};
use disklab_record::{Manifest, Record, RecordWriter, Retry, Status, compare};
use tempfile::tempdir;

use crate::{manifest, names, outcome, run};

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

fn part_of(at: &[usize]) -> Manifest {
    let mut manifest = manifest(&at.iter().map(|&at| NAMES[at]).collect::<Vec<_>>());
    manifest.keys = at.iter().map(|at| format!("{at:016x}")).collect();
    manifest
}

fn whole(folder: &Path) -> RecordWriter {
    Record::create(folder, "whole", &part_of(&[0, 1, 2, 3])).expect("a record")
}

fn part(folder: &Path, name: &str, at: &[usize], report: &str) -> Record {
    let writer = Record::create(folder, name, &part_of(at)).expect("a record");
    for &at in at {
        run(&writer, NAMES[at], Status::Ok, &format!("{report} of {}", NAMES[at]));
    }
    Record::open(writer.folder()).expect("a record")
}

fn taken(added: &[&str], known: usize) -> Taken {
    Taken { added: added.iter().map(|&name| name.to_owned()).collect(), known }
}

fn all() -> BTreeSet<String> {
    BTreeSet::new()
}

#[test]
fn parts_become_what_a_run_of_all_leaves() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let once = part(here, "once", &[0, 1, 2, 3], "report");
    let writer = whole(here);
    let first = part(here, "first", &[1, 3], "report");
    assert_eq!(writer.take(&first, &all()).expect("a part"), taken(&["b", "d"], 0));
    assert_eq!(writer.remaining(), ["a", "c"]);
    // After a crash, the taken trials are still there.
    drop(writer);
    let (writer, _) = Record::resume(&here.join("whole"), &part_of(&[0, 1, 2, 3]), Retry::Nothing)
        .expect("a record");
    assert_eq!(writer.remaining(), ["a", "c"]);
    let second = part(here, "second", &[0, 1, 2], "report");
    assert_eq!(writer.take(&second, &all()).expect("a part"), taken(&["a", "c"], 1));
    assert_eq!(writer.remaining(), [""; 0]);
    assert_eq!(compare(once.folder(), &here.join("whole")).expect("two records"), []);
    let record = Record::open(&here.join("whole")).expect("an ordinary record");
    assert_eq!(record.outcome("a").expect("a line").key.as_deref(), Some("0000000000000000"));
}

#[test]
fn what_did_not_end_or_is_not_wanted_is_left_out() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let writer = whole(here);
    let other = Record::create(here, "part", &part_of(&[0, 1, 2])).expect("a record");
    other.note(outcome("a", Status::Interrupted)).expect("a line");
    run(&other, "b", Status::Failed, "the machine was full");
    other.note(outcome("c", Status::Skipped)).expect("a line");
    let record = Record::open(other.folder()).expect("a record");
    let without = BTreeSet::from(["b".to_owned()]);
    assert_eq!(writer.take(&record, &without).expect("a part"), taken(&["c"], 0));
    assert_eq!(names(&here.join("whole/raw")), [""; 0]);
    assert_eq!(writer.take(&record, &all()).expect("a part"), taken(&["b"], 1));
    assert_eq!(names(&here.join("whole/raw")), ["b"]);
}

#[test]
fn other_bytes_of_one_trial_are_a_conflict() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let writer = whole(here);
    writer.take(&part(here, "first", &[0], "report"), &all()).expect("a part");
    let error =
        writer.take(&part(here, "second", &[0, 1], "another"), &all()).expect_err("a conflict");
    assert!(
        matches!(&error, NotTaken::Conflict { trial, file } if trial == "a" && file == "fio.json"),
        "{error}"
    );
    assert_eq!(writer.remaining(), ["b", "c", "d"], "nothing of it was taken");
}

fn failed(writer: &RecordWriter, trial: &str, fault: Option<Fault>) -> Record {
    let raw = writer.begin(trial).expect("a folder for raw output");
    writer
        .finish(raw, Outcome { fault, ..outcome(trial, Status::Failed) })
        .expect("a recorded trial");
    Record::open(writer.folder()).expect("a record")
}

#[test]
fn a_trial_that_fails_by_itself_cannot_have_a_result() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let writer = whole(here);
    writer.take(&part(here, "first", &[0], "report"), &all()).expect("a part");
    let one =
        |name: &str, at: usize| Record::create(here, name, &part_of(&[at])).expect("a record");
    for (name, fault) in [("older", None), ("full", Some(Fault::Machine))] {
        let record = failed(&one(name, 0), "a", fault);
        assert_eq!(writer.take(&record, &all()).expect("not the trial's fault"), taken(&[], 1));
    }
    let conflict = |record: &Record| {
        let error = writer.take(record, &all()).expect_err("a conflict");
        assert!(
            matches!(&error, NotTaken::Conflict { file, .. } if file.contains("status")),
            "{error}"
        );
    };
    conflict(&failed(&one("own", 0), "a", Some(Fault::Trial)));
    // The conflict is the same the other way round.
    let own = failed(&one("own-b", 1), "b", Some(Fault::Trial));
    assert_eq!(writer.take(&own, &all()).expect("a part"), taken(&["b"], 0));
    conflict(&part(here, "second", &[1], "report"));
}

#[test]
fn what_was_made_otherwise_is_refused() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let writer = whole(here);
    let mut count = 0;
    let mut refused = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = part_of(&[0]);
        change(&mut manifest);
        count += 1;
        let other = Record::create(here, &format!("other-{count}"), &manifest).expect("a record");
        run(&other, "a", Status::Ok, "report");
        let record = Record::open(other.folder()).expect("a record");
        let error = writer.take(&record, &all()).expect_err("refused");
        assert_eq!(writer.remaining(), NAMES);
        error.to_string()
    };
    assert!(
        refused(&|changed| changed.tools[0].value = "fio-3.34".to_owned()).contains("tool fio")
    );
    assert!(refused(&|changed| changed.tools[0].value = NOT_THERE.to_owned()).contains("tool fio"));
    assert!(
        refused(&|changed| changed.tools.push(Fact::new("dbench", "4"))).contains("tool dbench")
    );
    assert!(
        refused(&|changed| changed.kernels[0].key = "another".to_owned()).contains("kernel newest")
    );
    assert!(
        refused(&|changed| changed.inputs[0].value = "4".repeat(64))
            .contains("input lab/devices/disk.toml")
    );
    assert!(refused(&|changed| changed.disklab = "0.0.1".to_owned()).contains("disklab"));
    assert!(refused(&|changed| changed.suite.set.clear()).contains("settings of the suite"));
    assert!(refused(&|changed| changed.keys = vec!["f".repeat(16)]).contains("key of a"));
}

#[test]
fn what_came_damaged_is_refused() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let writer = whole(here);
    let record = part(here, "part", &[0], "report");
    fs::write(record.folder().join("raw/a/fio.json"), "half a rep").expect("room");
    let error = writer.take(&record, &all()).expect_err("refused").to_string();
    assert!(error.contains("raw/a/fio.json was changed after its trial ended"), "{error}");
    assert_eq!(writer.remaining(), NAMES);
}
