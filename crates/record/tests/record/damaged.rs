//! Tests that every changed bit of a record, and every removed line, is detected.

use std::fs;

use disklab_protocol::digest::sha256_hex;
use disklab_record::{
    LastLine, Manifest, Record, RecordWriter, Retry, Status, changed, outcome as lines_of,
};
use tempfile::tempdir;

use crate::{manifest, outcome, run};

const TRIALS: [&str; 4] = ["a", "b", "c", "d"];

/// Returns the manifest, the lines and their count of a record, as bytes.
fn record() -> (Vec<u8>, Vec<u8>, Vec<u8>) {
    let folder = tempdir().expect("a folder");
    let writer: RecordWriter =
        Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    for trial in TRIALS {
        run(&writer, trial, Status::Ok, "{}");
    }
    let file = |name: &str| fs::read(writer.folder().join(name)).expect("a file");
    (file("manifest.toml"), file("trials.jsonl"), file("trials.last"))
}

#[test]
fn no_bit_of_a_manifest_changes_unseen() {
    let (manifest, ..) = record();
    Manifest::parse(&manifest).expect("it is as it was written");
    for bit in 0..manifest.len() * 8 {
        let mut changed = manifest.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert!(Manifest::parse(&changed).is_err(), "bit {bit}");
    }
    for line in 0..manifest.split_inclusive(|&byte| byte == b'\n').count() {
        let kept = manifest.split_inclusive(|&byte| byte == b'\n').enumerate();
        let kept: Vec<&[u8]> = kept.filter(|(at, _)| *at != line).map(|(_, line)| line).collect();
        assert!(Manifest::parse(&kept.concat()).is_err(), "line {line}");
    }
}

/// Returns the trials that are still known, or None if the change is refused.
fn known(manifest: &Manifest, lines: &[u8], last: &[u8]) -> Option<Vec<String>> {
    let last = LastLine::parse(last).ok()?;
    let lines = lines_of::parse(lines, manifest.chain(), Some(&last)).ok()?;
    Some(lines.outcomes.into_iter().map(|outcome| outcome.trial).collect())
}

#[test]
fn no_bit_of_the_lines_changes_unseen() {
    let (manifest, lines, last) = record();
    let manifest = Manifest::parse(&manifest).expect("it is as it was written");
    assert_eq!(known(&manifest, &lines, &last).expect("whole lines"), TRIALS);
    for bit in 0..lines.len() * 8 {
        let mut changed = lines.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(known(&manifest, &changed, &last), None, "bit {bit}");
    }
    let all: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    for gone in 0..all.len() {
        let kept: Vec<&[u8]> = [&all[..gone], &all[gone + 1..]].concat();
        assert_eq!(known(&manifest, &kept.concat(), &last), None, "line {gone}");
    }
    for end in 0..lines.len() {
        assert_eq!(known(&manifest, &lines[..end], &last), None, "end at {end}");
    }
}

#[test]
fn no_bit_of_the_count_of_lines_changes_unseen() {
    let (manifest, lines, last) = record();
    let manifest = Manifest::parse(&manifest).expect("it is as it was written");
    for bit in 0..last.len() * 8 {
        let mut changed = last.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(known(&manifest, &lines, &changed), None, "bit {bit}");
    }
    for end in 0..last.len() {
        assert_eq!(known(&manifest, &lines, &last[..end]), None, "end at {end}");
    }
}

#[test]
fn a_kill_before_lines_are_counted_is_no_damage() {
    let folder = tempdir().expect("a folder");
    let writer = Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    let quick = writer.folder().to_owned();
    let last = quick.join("trials.last");
    run(&writer, "a", Status::Ok, "{}");
    let before = fs::read(&last).expect("a count");
    run(&writer, "b", Status::Ok, "{}");
    drop(writer);
    // The line of b is written, and the count is still that of one line.
    fs::write(&last, &before).expect("room");
    assert_eq!(Record::open(&quick).expect("readable").lines().len(), 2);
    let (writer, _) =
        Record::resume(&quick, &manifest(&TRIALS), Retry::Nothing).expect("it goes on");
    assert_eq!(LastLine::parse(&fs::read(&last).expect("a count")).expect("a count").lines, 2);
    run(&writer, "c", Status::Ok, "{}");
    let lines = quick.join("trials.jsonl");
    let text = fs::read_to_string(&lines).expect("lines");
    let kept: String = text.split_inclusive('\n').take(2).collect();
    fs::write(&lines, kept).expect("room");
    let error = Record::open(&quick).expect_err("a line is gone").to_string();
    assert!(
        error.contains("trials.jsonl, line 3: it is gone: trials.last counts 3 lines"),
        "{error}"
    );
    // In a record of an older program, nothing counts the lines.
    fs::remove_file(&last).expect("a count");
    let error = Record::open(&quick).expect_err("a file is gone").to_string();
    assert!(error.contains("trials.last is gone, a file that every record has"), "{error}");
    let path = quick.join("manifest.toml");
    let old = fs::read_to_string(&path).expect("a manifest").replace("schema = 3", "schema = 2");
    let (_, below) = old.split_once('\n').expect("lines");
    fs::write(&path, format!("digest = \"{}\"\n{below}", sha256_hex(below.as_bytes())))
        .expect("room");
    assert_eq!(Record::open(&quick).expect("an older record").lines().len(), 2);
}

#[test]
fn every_raw_file_has_a_digest() {
    let folder = tempdir().expect("a folder");
    let writer = Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    let raw = writer.begin("a").expect("a folder");
    let files = ["fio.json", "console.log", "machine.json", "plan.json", "cut-0/disks.json"];
    fs::create_dir(raw.path().join("cut-0")).expect("a folder");
    for file in files {
        fs::write(raw.path().join(file), file).expect("room");
    }
    writer.finish(raw, outcome("a", Status::Ok)).expect("a recorded trial");
    let record = Record::open(writer.folder()).expect("a record");
    let outcome = record.outcome("a").expect("it ran");
    assert_eq!(outcome.files.len(), 1);
    assert_eq!(changed(&record, outcome).expect("readable"), [] as [&str; 0]);
    for file in files {
        let path = writer.folder().join("raw/a").join(file);
        fs::write(&path, "other").expect("room");
        assert_eq!(changed(&record, outcome).expect("readable"), [file]);
        fs::remove_file(&path).expect("a file");
        assert_eq!(changed(&record, outcome).expect("readable"), [file]);
        fs::write(&path, file).expect("room");
    }
    // A line from elsewhere may name any file, but only files in the folder are read.
    let mut hostile = outcome.clone();
    for file in ["../../lock", "/etc/hostname", "", ".", "cut-0"] {
        hostile.other_files = [(file.to_owned(), "0".repeat(64))].into();
        assert_eq!(changed(&record, &hostile).expect("nothing is read"), [file]);
    }
}

#[test]
fn the_manifest_of_another_record_is_refused() {
    let folder = tempdir().expect("a folder");
    let made = |name: &str, keys: [&str; 2]| {
        let mut manifest = manifest(&["a", "b"]);
        manifest.keys = keys.map(str::to_owned).into();
        let writer = Record::create(folder.path(), name, &manifest).expect("a record");
        for trial in ["a", "b"] {
            run(&writer, trial, Status::Ok, "{}");
        }
        (writer.folder().to_owned(), manifest)
    };
    let ((own, _), (other, manifest)) = (made("own", ["1", "2"]), made("other", ["1", "3"]));
    Record::open(&own).expect("a record");
    fs::copy(other.join("manifest.toml"), own.join("manifest.toml")).expect("room");
    let said = "trials.jsonl, line 2: the key of trial b is 2, but 3 in";
    let error = Record::open(&own).expect_err("another manifest").to_string();
    assert!(error.contains(said) && error.contains("belongs to another record"), "{error}");
    let error = Record::resume(&own, &manifest, Retry::Nothing).expect_err("another manifest");
    assert!(error.to_string().contains(said), "{error}");
    // The line whose key fits can be read.
    let (record, lost) = Record::open_damaged(&own).expect("a line");
    assert_eq!(record.lines().len(), 1);
    assert!(lost.len() == 1 && lost[0].contains(said), "{lost:?}");
    // Older records have no keys.
    let path = own.join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let (_, below) = text.split_once('\n').expect("lines");
    let mut old: toml::Table = below.parse().expect("TOML");
    old.remove("keys").expect("keys");
    let below = toml::to_string(&old).expect("plain data");
    let text = format!("digest = \"{}\"\n{below}", sha256_hex(below.as_bytes()));
    fs::write(&path, text).expect("room");
    assert_eq!(Record::open(&own).expect("an older record").lines().len(), 2);
}
