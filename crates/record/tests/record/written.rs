//! Tests that records are begun, and that trials are added to them.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::sync::Barrier;
use std::thread;

use disklab_protocol::digest::sha256_hex;
use disklab_record::{Manifest, Record, RecordError, Status, manifest};
use tempfile::tempdir;

use crate::{manifest, names, outcome, run};

#[test]
fn a_record_is_read_as_it_was_written() {
    let records = tempdir().expect("a folder");
    let manifest = manifest(&["b", "a", "c", "d"]);
    let writer =
        Record::create(&records.path().join("records"), "quick-20261121-210000", &manifest)
            .expect("a record");
    run(&writer, "a", Status::Ok, "{}");
    run(&writer, "b", Status::Failed, "half");
    writer.note(outcome("c", Status::Skipped)).expect("a recorded trial");
    assert_eq!(writer.remaining(), ["d"]);

    let record = Record::open(writer.folder()).expect("a record");
    assert_eq!(record.manifest(), &manifest);
    assert_eq!(record.torn_bytes(), 0);
    let statuses: Vec<_> = record
        .outcomes()
        .into_iter()
        .map(|(trial, outcome)| (trial, outcome.map(|outcome| outcome.status)))
        .collect();
    let expected = [
        ("b", Some(Status::Failed)),
        ("a", Some(Status::Ok)),
        ("c", Some(Status::Skipped)),
        ("d", None),
    ];
    assert_eq!(statuses, expected);
    let failed = record.outcome("b").expect("it ran");
    assert_eq!(failed.reason.as_deref(), Some("failed for a test"));
    let raw = record.raw(failed).expect("it left output");
    assert_eq!(raw, writer.folder().join("raw/b"));
    assert_eq!(fs::read_to_string(raw.join("fio.json")).expect("raw output"), "half");
    assert_eq!(record.outcome("c").expect("it was noted").raw, None);
    assert_eq!(
        names(writer.folder()),
        ["lock", "manifest.toml", "raw", "trials.jsonl", "trials.last"]
    );
    assert_eq!(names(&writer.folder().join("raw")), ["a", "b"]);
}

#[test]
fn a_name_that_is_taken_gets_a_number() {
    let records = tempdir().expect("a folder");
    let manifest = manifest(&["a"]);
    let folders: Vec<_> = (0..3)
        .map(|_| {
            Record::create(records.path(), "quick", &manifest)
                .expect("a record")
                .folder()
                .to_owned()
        })
        .collect();
    assert_eq!(folders, ["quick", "quick-2", "quick-3"].map(|name| records.path().join(name)));
    let exact = Record::create_at(&folders[0], &manifest).expect_err("it exists");
    assert!(matches!(exact, RecordError::Exists { .. }), "{exact}");
    for name in ["", "..", "a/b", ".hidden"] {
        let error = Record::create(records.path(), name, &manifest).expect_err("not a name");
        assert!(matches!(error, RecordError::Name(_)), "{error}");
    }
}

#[test]
fn only_trials_that_remain_can_be_recorded() {
    let records = tempdir().expect("a folder");
    let writer = Record::create(records.path(), "quick", &manifest(&["a", "b"])).expect("a record");
    run(&writer, "a", Status::Ok, "{}");
    for trial in ["a", "c", "../b"] {
        let error = writer.begin(trial).expect_err("it does not remain");
        assert!(matches!(error, RecordError::Unexpected { .. }), "{error}");
        let error = writer.note(outcome(trial, Status::Failed)).expect_err("it does not remain");
        assert!(matches!(error, RecordError::Unexpected { .. }), "{error}");
    }
    drop(writer.begin("b").expect("it remains"));
    assert_eq!(
        names(&records.path().join("quick/raw")),
        ["a"],
        "what is not finished leaves nothing"
    );
    assert_eq!(Record::open(writer.folder()).expect("a record").lines().len(), 1);
}

#[test]
fn half_a_line_is_never_built_upon() {
    let records = tempdir().expect("a folder");
    let writer = Record::create(records.path(), "quick", &manifest(&["a", "b"])).expect("a record");
    run(&writer, "a", Status::Ok, "{}");
    let mut file =
        OpenOptions::new().append(true).open(writer.folder().join("trials.jsonl")).expect("lines");
    file.write_all(b"{\"schema\":1,\"tri").expect("room");
    run(&writer, "b", Status::Ok, "{}");
    let record = Record::open(writer.folder()).expect("whole lines");
    assert_eq!((record.lines().len(), record.torn_bytes()), (2, 0));
}

#[test]
fn trials_of_several_threads_are_all_recorded() {
    let records = tempdir().expect("a folder");
    let trials: Vec<String> = (0..40).map(|trial| format!("t{trial}")).collect();
    let ids: Vec<&str> = trials.iter().map(String::as_str).collect();
    let writer = Record::create(records.path(), "quick", &manifest(&ids)).expect("a record");
    let start = Barrier::new(4);
    let (writer, start) = (&writer, &start);
    thread::scope(|scope| {
        for part in ids.chunks(10) {
            scope.spawn(move || {
                start.wait();
                for trial in part {
                    run(writer, trial, Status::Ok, trial);
                }
            });
        }
    });
    assert!(writer.remaining().is_empty());
    let record = Record::open(writer.folder()).expect("a record");
    assert_eq!(record.lines().len(), 40);
    for (trial, outcome) in record.outcomes() {
        let raw = record.raw(outcome.expect("it ran")).expect("it left output");
        assert_eq!(fs::read_to_string(raw.join("fio.json")).expect("raw output"), trial);
    }
}

#[test]
fn a_manifest_keeps_any_text() {
    let text = "a = '''\n'''\nb = \"\"\"\n\\ \"\"\"\n# \u{1}\u{7f} \u{feff}é\r\n\ttab";
    let suite = manifest::Suite::new("odd", text, Vec::new());
    let manifest = Manifest::new("0.1.0", "now", suite, vec!["a".into()]);
    let written = manifest.to_toml().expect("text");
    assert_eq!(Manifest::parse(written.as_bytes()), Ok(manifest));
}

#[test]
fn a_manifest_that_was_changed_is_refused() {
    let written = manifest(&["a", "b"]).to_toml().expect("text");
    let refused = |from: &str, to: &str, expected: &str| {
        assert!(written.contains(from), "{written}");
        let changed = written.replace(from, to);
        let error = Manifest::parse(changed.as_bytes()).expect_err("it was changed");
        assert!(error.contains("its digest does not fit") || error.contains(expected), "{error}");
        // Even with the digest of the changed text, the text has to be valid.
        let (_, below) = changed.split_once('\n').expect("lines");
        let sealed = format!("digest = \"{}\"\n{below}", sha256_hex(below.as_bytes()));
        let error = Manifest::parse(sealed.as_bytes()).expect_err("it makes no sense");
        assert!(error.contains(expected), "{error}");
    };
    refused("which?", "what?", "text was changed");
    refused("schema = 3", "schema = 4", "schema is 4");
    refused("\"b\"", "\"a\"", "listed twice");
    refused("\"b\"", "\"../b\"", "cannot be the name");
    refused("[suite]", "[suit]", "suite");
}

#[test]
fn a_manifest_lists_its_trials_before_they_run() {
    let records = tempdir().expect("a folder");
    let twice =
        Record::create(records.path(), "quick", &manifest(&["a", "a"])).expect_err("listed twice");
    assert!(matches!(twice, RecordError::Manifest { .. }), "{twice}");
    assert!(names(records.path()).is_empty(), "nothing was begun");
}
