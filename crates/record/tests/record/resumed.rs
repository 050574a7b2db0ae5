//! Tests that a record is continued: trials that run again, refusals, and repairs.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use disklab_record::manifest::{Fact, Suite};
use disklab_record::outcome::Fault;
use disklab_record::{Manifest, Outcome, Record, RecordError, Retry, Status, Tidied, is_written};
use tempfile::{TempDir, tempdir};

use crate::{manifest, names, outcome, run};

const TRIALS: [&str; 5] = ["good", "bad", "skipped", "stopped", "never"];

/// Makes a record with a trial of each status.
fn of_each_status() -> TempDir {
    let folder = tempdir().expect("a folder");
    let writer = Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    run(&writer, "good", Status::Ok, "good");
    run(&writer, "bad", Status::Failed, "first");
    writer.note(outcome("skipped", Status::Skipped)).expect("a recorded trial");
    run(&writer, "stopped", Status::Interrupted, "half");
    folder
}

fn resume(folder: &Path, retry: Retry) -> (disklab_record::RecordWriter, Tidied) {
    Record::resume(folder, &manifest(&TRIALS), retry).expect("a record to continue")
}

/// Tests that a trial runs again without an option if another try may succeed.
#[test]
fn what_failed_by_a_fault_of_the_machine_runs_again() {
    let folder = tempdir().expect("a folder");
    let writer = Record::create(folder.path(), "quick", &manifest(&TRIALS)).expect("a record");
    for (trial, fault) in [("good", Fault::Trial), ("bad", Fault::Machine)] {
        let failed = Outcome { fault: Some(fault), ..outcome(trial, Status::Failed) };
        writer.note(failed).expect("a recorded trial");
    }
    drop(writer);
    let quick = folder.path().join("quick");
    let (writer, _) = resume(&quick, Retry::Nothing);
    assert_eq!(writer.remaining(), ["bad", "skipped", "stopped", "never"]);
    run(&writer, "bad", Status::Ok, "second");
    drop(writer);
    let (writer, _) = resume(&quick, Retry::Nothing);
    assert_eq!(writer.remaining(), ["skipped", "stopped", "never"]);
}

#[test]
fn what_runs_again_is_what_did_not_end_and_what_was_asked_for() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let (writer, tidied) = resume(&quick, Retry::Nothing);
    assert_eq!(writer.remaining(), ["stopped", "never"]);
    assert_eq!(tidied, Tidied::default());
    drop(writer);
    let (writer, _) = resume(&quick, Retry::Failed);
    assert_eq!(writer.remaining(), ["bad", "skipped", "stopped", "never"]);
    for trial in writer.remaining() {
        run(&writer, &trial, Status::Ok, "second");
    }
    drop(writer);
    assert!(resume(&quick, Retry::Failed).0.remaining().is_empty());

    let record = Record::open(&quick).expect("a record");
    assert_eq!(record.lines().len(), 8);
    assert!(
        record
            .outcomes()
            .iter()
            .all(|(_, outcome)| outcome.is_some_and(|last| last.status == Status::Ok))
    );
    let raw = |outcome| {
        fs::read_to_string(record.raw(outcome).expect("output").join("fio.json")).expect("output")
    };
    assert_eq!(
        raw(&record.lines()[1]),
        "first",
        "a failed trial's raw output stays when it is tried again"
    );
    assert_eq!(raw(record.outcome("bad").expect("it ran")), "second");
    assert_eq!(
        names(&quick.join("raw")),
        ["bad", "bad~2", "good", "never", "skipped", "stopped", "stopped~2"]
    );
}

#[test]
fn a_torn_line_is_cut_and_kept_aside_and_its_trial_runs_again() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let trials = quick.join("trials.jsonl");
    let whole = fs::read(&trials).expect("lines");
    for torn in ["{\"schema\":1,\"tri", "\0\0\0"] {
        let mut file = OpenOptions::new().append(true).open(&trials).expect("lines");
        file.write_all(torn.as_bytes()).expect("room");
        fs::create_dir(quick.join("raw/never")).expect("a folder without a line");
        let record = Record::open(&quick).expect("readable meanwhile");
        assert_eq!((record.torn_bytes(), record.lines().len()), (torn.len(), 4));
        let (writer, tidied) = resume(&quick, Retry::Nothing);
        assert_eq!((tidied.torn_bytes, tidied.unrecorded), (torn.len(), vec!["never".to_owned()]));
        assert_eq!(writer.remaining(), ["stopped", "never"]);
        assert_eq!(fs::read(&trials).expect("lines"), whole);
    }
    let aside = fs::read_to_string(quick.join("trials.jsonl.torn")).expect("torn lines");
    assert_eq!(aside, "{\"schema\":1,\"tri\n\0\0\0\n");
    run(&resume(&quick, Retry::Nothing).0, "never", Status::Ok, "after all");
    assert_eq!(Record::open(&quick).expect("a record").lines().len(), 5);
}

#[test]
fn garbage_among_whole_lines_is_named_and_nothing_is_touched() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let trials = quick.join("trials.jsonl");
    let text = fs::read_to_string(&trials).expect("lines").replacen(
        "\"trial\":\"bad\"",
        "\"trial\";\"bad\"",
        1,
    );
    fs::write(&trials, &text).expect("room");
    fs::create_dir(quick.join("raw/never")).expect("a folder without a line");
    let read = Record::open(&quick).expect_err("a bad line").to_string();
    let resumed = Record::resume(&quick, &manifest(&TRIALS), Retry::Failed)
        .expect_err("a bad line")
        .to_string();
    assert_eq!(read, resumed);
    assert!(read.contains("trials.jsonl, line 2: its digest does not fit"), "{read}");
    assert_eq!(fs::read_to_string(&trials).expect("lines"), text);
    assert!(quick.join("raw/never").exists());
}

#[test]
fn folders_that_no_line_tells_of_are_removed_and_nothing_else() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let raw = quick.join("raw");
    for name in [".never.part", "never", "bad~2", "my notes", ".git"] {
        fs::create_dir(raw.join(name)).expect("a folder");
        fs::write(raw.join(name).join("file"), "x").expect("a file");
    }
    fs::write(raw.join("README"), "x").expect("a file");
    std::os::unix::fs::symlink("/nowhere", raw.join("link")).expect("a link");
    let (_writer, tidied) = resume(&quick, Retry::Nothing);
    assert_eq!(tidied.unfinished, [".never.part"]);
    assert_eq!(tidied.unrecorded, ["bad~2", "never"]);
    assert_eq!(names(&raw), [".git", "README", "bad", "good", "link", "my notes", "stopped"]);
}

#[test]
fn a_second_writer_is_refused_and_told_who_writes() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let (first, _) = resume(&quick, Retry::Nothing);
    let error =
        Record::resume(&quick, &manifest(&TRIALS), Retry::Nothing).expect_err("it is locked");
    let expected = format!("being written by another disklab (process {})", std::process::id());
    assert!(
        matches!(error, RecordError::Busy { .. }) && error.to_string().contains(&expected),
        "{error}"
    );
    Record::open(&quick).expect("reading takes no lock");
    assert!(is_written(&quick).expect("a lock file"));
    run(&first, "never", Status::Ok, "still the writer");
    drop(first);
    assert!(!is_written(&quick).expect("a lock file"));
    resume(&quick, Retry::Nothing);
}

#[test]
fn who_only_looks_keeps_no_writer_out() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                is_written(&quick).expect("a lock file");
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        for _ in 0..50 {
            drop(resume(&quick, Retry::Nothing));
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn what_is_under_way_is_known() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let (writer, _) = resume(&quick, Retry::Nothing);
    let under_way =
        || Record::open(&quick).expect("a record").under_way().into_iter().collect::<Vec<_>>();
    assert!(under_way().is_empty());
    let raw = writer.begin("never").expect("a folder");
    assert_eq!(under_way(), ["never"]);
    drop(raw);
}

#[test]
fn every_change_of_the_experiment_is_named() {
    let folder = of_each_status();
    let quick = folder.path().join("quick");
    let refused = |change: fn(&mut Manifest), expected: &str| {
        let mut now = manifest(&TRIALS);
        change(&mut now);
        let error = Record::resume(&quick, &now, Retry::Nothing).expect_err(expected);
        assert!(
            matches!(&error, RecordError::Mismatch { differences, .. } if differences.len() == 1),
            "{error}"
        );
        assert!(error.to_string().contains(expected), "{error}\nshould say: {expected}");
    };
    refused(|now| now.disklab = "0.2.0".into(), "disklab: recorded 0.1.0, now 0.2.0");
    refused(
        |now| now.suite = Suite::new("quick", "other", now.suite.set.clone()),
        "text of the suite: recorded SHA-256",
    );
    refused(
        |now| now.suite.set.clear(),
        "settings of the suite: recorded `policy=pid,devid`, now none",
    );
    refused(
        |now| now.kernels[0].version = "7.3.3".into(),
        "kernel newest: recorded 7.3.2, key 7.3.2-abc",
    );
    refused(
        |now| now.tools[0].value = "fio-3.40".into(),
        "tool fio: recorded fio-3.33, now fio-3.40",
    );
    refused(
        |now| now.tools.push(Fact::new("mkfs.btrfs", "6.2")),
        "tool mkfs.btrfs: recorded none, now 6.2",
    );
    refused(
        |now| now.tools[1].value = "2".repeat(64),
        "build the sources that the record was begun with",
    );
    refused(|now| now.inputs.clear(), "input lab/devices/disk.toml: recorded 333");
    refused(
        |now| now.trials[1] = "worse".into(),
        "trials: recorded 5, of which number 2 is bad, now 5, of which number 2 is worse",
    );
    refused(|now| now.trials.truncate(4), "now 4, of which number 5 is none");

    let mut elsewhere = manifest(&TRIALS);
    elsewhere.created = "later".into();
    elsewhere.command.push("disklab".into());
    elsewhere.host[0].value = "four of them".into();
    Record::resume(&quick, &elsewhere, Retry::Nothing).expect("no result depends on these");
}

#[test]
fn what_is_no_record_is_said_so() {
    let folder = tempdir().expect("a folder");
    let open =
        |name: &str| Record::open(&folder.path().join(name)).expect_err("no record").to_string();
    assert!(open(".").contains("is not a record"), "{}", open("."));
    assert!(open("nothing").contains("nothing/manifest.toml: No such file"), "{}", open("nothing"));
    fs::write(folder.path().join("manifest.toml"), "schema = 1\ndisklab = 3\n").expect("room");
    assert!(open(".").contains("manifest.toml: TOML parse error at line 2"), "{}", open("."));
}
