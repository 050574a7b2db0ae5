//! Tests comparisons of records, byte by byte.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_protocol::digest::sha256_hex;
use disklab_record::{Difference, Record, Status, compare, fingerprint};
use tempfile::tempdir;

use crate::{manifest, outcome, run};

/// Makes a record of two good trials and a failed one, run in this order.
fn record(folder: &Path, name: &str, order: [&str; 3]) -> PathBuf {
    let writer = Record::create(folder, name, &manifest(&["a", "b", "c"])).expect("a record");
    for trial in order {
        let status = if trial == "c" { Status::Failed } else { Status::Ok };
        run(&writer, trial, status, &format!("report of {trial}"));
    }
    writer.folder().to_owned()
}

#[test]
fn equal_runs_have_equal_fingerprints_whatever_their_order() {
    let folder = tempdir().expect("a folder");
    let first = record(folder.path(), "x", ["a", "b", "c"]);
    let second = record(folder.path(), "y", ["c", "b", "a"]);
    // Neither a failed trial's output nor a console log has to repeat.
    fs::write(second.join("raw/c/fio.json"), "cut elsewhere").expect("room");
    fs::write(second.join("raw/a/console.log"), "at some time").expect("room");
    assert_eq!(compare(&first, &second).expect("two records"), []);
    assert_eq!(fingerprint(&first).expect("a record"), fingerprint(&second).expect("a record"));
}

#[test]
fn the_fingerprint_is_the_one_that_sha256sum_gives() {
    let folder = tempdir().expect("a folder");
    let record = record(folder.path(), "x", ["a", "b", "c"]);
    let lines: String = ["a", "b"]
        .map(|trial| {
            let fio = sha256_hex(format!("report of {trial}").as_bytes());
            format!(
                "absent  {trial}/disks.json\n{fio}  {trial}/fio.json\n\
                 absent  {trial}/guest.jsonl\nabsent  {trial}/requests.trace\n"
            )
        })
        .concat();
    assert_eq!(
        fingerprint(&record).expect("a record"),
        sha256_hex((lines + "failed  c\n").as_bytes())
    );
}

#[test]
fn a_packed_trace_stands_in_the_place_of_a_plain_one() {
    let folder = tempdir().expect("a folder");
    let names = ["x", "y"];
    let [first, second] = names.map(|name| record(folder.path(), name, ["a", "b", "c"]));
    fs::write(first.join("raw/a/requests.trace.gz"), "packed").expect("room");
    let with = fingerprint(&first).expect("a record");
    let without = fingerprint(&second).expect("a record");
    fs::write(second.join("raw/a/requests.trace.gz"), "packed").expect("room");
    assert_eq!(fingerprint(&second).expect("a record"), with);
    assert_ne!(with, without);
    fs::rename(second.join("raw/a/requests.trace.gz"), second.join("raw/a/requests.trace"))
        .expect("room");
    let expected = [
        Difference::OnlyInSecond { trial: "a".to_owned(), file: "requests.trace" },
        Difference::OnlyInFirst { trial: "a".to_owned(), file: "requests.trace.gz" },
    ];
    assert_eq!(compare(&first, &second).expect("two records"), expected);
}

#[test]
fn every_difference_is_found_at_its_first_byte() {
    let folder = tempdir().expect("a folder");
    let first = record(folder.path(), "x", ["a", "b", "c"]);
    let second = record(folder.path(), "y", ["a", "b", "c"]);
    let before = fingerprint(&second).expect("a record");
    let long = vec![7_u8; 200_000];
    let mut changed = long.clone();
    changed[150_001] = 8;
    fs::write(first.join("raw/a/requests.trace"), &long).expect("room");
    fs::write(second.join("raw/a/requests.trace"), &changed).expect("room");
    fs::write(first.join("raw/b/requests.trace"), &long).expect("room");
    fs::write(second.join("raw/b/requests.trace"), &long[..100_000]).expect("room");
    fs::write(first.join("raw/a/disks.json"), "x").expect("room");
    fs::write(second.join("raw/b/guest.jsonl"), "").expect("room");
    let trial = |name: &str| name.to_owned();
    let expected = [
        Difference::OnlyInFirst { trial: trial("a"), file: "disks.json" },
        Difference::Bytes { trial: trial("a"), file: "requests.trace", offset: 150_001 },
        Difference::OnlyInSecond { trial: trial("b"), file: "guest.jsonl" },
        Difference::Bytes { trial: trial("b"), file: "requests.trace", offset: 100_000 },
    ];
    assert_eq!(compare(&first, &second).expect("two records"), expected);
    assert_ne!(fingerprint(&second).expect("a record"), before);
}

#[test]
fn trials_that_ended_otherwise_differ() {
    let folder = tempdir().expect("a folder");
    let first = record(folder.path(), "x", ["a", "b", "c"]);
    let writer = Record::create(folder.path(), "y", &manifest(&["a", "b", "c"])).expect("a record");
    run(&writer, "a", Status::Ok, "report of a");
    writer.note(outcome("b", Status::Failed)).expect("a recorded trial");
    let expected = [
        Difference::Status {
            trial: "b".into(),
            first: Some(Status::Ok),
            second: Some(Status::Failed),
        },
        Difference::Status { trial: "c".into(), first: Some(Status::Failed), second: None },
    ];
    assert_eq!(compare(&first, writer.folder()).expect("two records"), expected);
    assert_ne!(
        fingerprint(&first).expect("a record"),
        fingerprint(writer.folder()).expect("a record")
    );
}
