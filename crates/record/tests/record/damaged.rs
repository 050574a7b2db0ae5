//! Every bit of a record that is changed, and every line that goes, shows.

use std::fs;

use disklab_record::{Manifest, Record, RecordWriter, Status, outcome};
use tempfile::tempdir;

use crate::{manifest, run};

const TRIALS: [&str; 4] = ["a", "b", "c", "d"];

/// The manifest and the lines of a record, as bytes.
fn record() -> (Vec<u8>, Vec<u8>) {
    let folder = tempdir().expect("a folder");
    let writer: RecordWriter =
        Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    for trial in TRIALS {
        run(&writer, trial, Status::Ok, "{}");
    }
    let file = |name: &str| fs::read(writer.folder().join(name)).expect("a file");
    (file("manifest.toml"), file("trials.jsonl"))
}

#[test]
fn no_bit_of_a_manifest_changes_unseen() {
    let (manifest, _) = record();
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

/// The trials that are still known, or None if the change is refused.
fn known(manifest: &Manifest, lines: &[u8]) -> Option<Vec<String>> {
    let lines = outcome::parse(lines, manifest.chain()).ok()?;
    Some(lines.outcomes.into_iter().map(|outcome| outcome.trial).collect())
}

#[test]
fn no_bit_of_the_lines_changes_unseen() {
    let (manifest, lines) = record();
    let manifest = Manifest::parse(&manifest).expect("it is as it was written");
    assert_eq!(known(&manifest, &lines).expect("whole lines"), TRIALS);
    for bit in 0..lines.len() * 8 {
        let mut changed = lines.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        // Without its newline the last line is one that a run writes now: its trial has not run.
        match known(&manifest, &changed) {
            None => {}
            Some(left) => assert!(left == TRIALS[..3] && bit / 8 == lines.len() - 1, "bit {bit}"),
        }
    }
    let all: Vec<&[u8]> = lines.split_inclusive(|&byte| byte == b'\n').collect();
    for gone in 0..all.len() {
        let kept: Vec<&[u8]> = [&all[..gone], &all[gone + 1..]].concat();
        let left = known(&manifest, &kept.concat());
        // The last ones may not have been written yet: their trials have not run.
        let expected = (gone == all.len() - 1)
            .then(|| TRIALS[..3].iter().map(|&trial| trial.to_owned()).collect());
        assert_eq!(left, expected, "line {gone}");
    }
}
