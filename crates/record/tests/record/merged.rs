//! Tests merges of records of parts of a suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use disklab_record::manifest::{Fact, NOT_THERE};
use disklab_record::merge::{Made, MergeError, Merged, merge};
use disklab_record::outcome::{Fault, again};
use disklab_record::{
    Manifest, Outcome, Part, Record, RecordError, RecordWriter, Retry, Status, compare, fingerprint,
};
use tempfile::tempdir;

use crate::{manifest, names, outcome, run};

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];
const FOLDER: &str = "DISKLAB_TEST_MERGED";
const FULL: &str = "DISKLAB_TEST_MERGED_FULL";

/// Returns the manifest of the part of a suite with these trials.
fn part(at: &[usize]) -> Manifest {
    let mut manifest = manifest(&at.iter().map(|&at| NAMES[at]).collect::<Vec<_>>());
    manifest.keys = at.iter().map(|at| format!("{at:016x}")).collect();
    let places = at.iter().map(|&at| at as u32).collect();
    manifest.part =
        Some(Part { of: NAMES.len() as u32, at: places }).filter(|_| at.len() < NAMES.len());
    manifest
}

fn begin(folder: &Path, name: &str, manifest: &Manifest) -> RecordWriter {
    Record::create(folder, name, manifest).expect("a record")
}

/// Makes a record of these trials, all of them good.
fn record(folder: &Path, name: &str, at: &[usize]) -> Record {
    finished(&begin(folder, name, &part(at)), at)
}

fn finished(writer: &RecordWriter, at: &[usize]) -> Record {
    for &at in at {
        run(writer, NAMES[at], Status::Ok, &format!("report of {}", NAMES[at]));
    }
    Record::open(writer.folder()).expect("a record")
}

fn made() -> Made {
    Made { command: vec!["disklab".to_owned(), "merge".to_owned()] }
}

fn merged(records: &[Record], to: &Path) -> Result<Merged, MergeError> {
    merge(records, to, &made())
}

fn refused(records: &[Record], to: &Path) -> String {
    let error = merged(records, to).expect_err("not one record").to_string();
    assert!(!to.exists(), "{error}");
    error
}

#[test]
fn parts_become_what_a_run_of_all_leaves() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let whole = record(here, "whole", &[0, 1, 2, 3, 4]);
    let parts = [record(here, "x", &[1, 4]), record(here, "y", &[0, 3]), record(here, "z", &[2])];
    let to = here.join("merged");
    let done = merged(&parts, &to).expect("one record");
    assert_eq!(
        done,
        Merged { trials: 5, of: 5, duplicates: 0, superseded: 0, ..Merged::default() }
    );

    assert_eq!(compare(whole.folder(), &to).expect("two records"), []);
    assert_eq!(fingerprint(whole.folder()).expect("a record"), fingerprint(&to).expect("a record"));
    let text = |folder: &Path| fs::read_to_string(folder.join("trials.jsonl")).expect("lines");
    assert_eq!(text(whole.folder()), text(&to), "as one run writes them, trial after trial");
    let record = Record::open(&to).expect("an ordinary record");
    let manifest = record.manifest();
    assert_eq!(whole.manifest().mismatches(manifest), [], "made the same way");
    assert_eq!((manifest.trials.len(), &manifest.part), (5, &None));
    assert_eq!(manifest.keys, whole.manifest().keys);
    let origins: Vec<_> =
        manifest.merged.iter().map(|origin| (origin.record.as_str(), origin.trials)).collect();
    assert_eq!(origins, [("x", 2), ("y", 2), ("z", 1)]);
    // The merged record can be continued like any other: nothing is left to run.
    drop((whole, record));
    let (writer, _) =
        Record::resume(&to, &part(&[0, 1, 2, 3, 4]), Retry::Nothing).expect("an ordinary record");
    assert_eq!(writer.remaining(), [""; 0]);
}

#[test]
fn what_is_in_no_part_is_left_out_and_can_follow() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let parts = [record(here, "x", &[4]), record(here, "y", &[0, 2])];
    let most = here.join("most");
    let done = merged(&parts, &most).expect("a part");
    assert_eq!((done.trials, done.of), (3, 5));
    let most = Record::open(&most).expect("a record");
    assert_eq!(most.manifest().trials, ["a", "c", "e"]);
    assert_eq!(most.manifest().part, Some(Part { of: 5, at: vec![0, 2, 4] }));
    let rest = record(here, "rest", &[1, 3]);
    let done = merged(&[most, rest], &here.join("all")).expect("the whole");
    assert_eq!((done.trials, done.of), (5, 5));
    assert_eq!(Record::open(&here.join("all")).expect("a record").manifest().trials, NAMES);
}

/// Tests that a pair of measurements shows the noise of the machine of their record.
#[test]
fn second_measurements_stay_beside_the_first_ones() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let twice = |name: &str, own: &[usize], status: Status| {
        let mut manifest = part(own);
        manifest.trials = own.iter().map(|&at| format!("{}+s1", NAMES[at])).collect();
        manifest.again = manifest.trials.iter().map(|id| again(id)).collect();
        let writer = begin(here, name, &manifest);
        for (at, id) in manifest.trials.iter().enumerate() {
            run(&writer, id, if at == 0 { status } else { Status::Ok }, &format!("{id} of {name}"));
            run(&writer, &again(id), Status::Ok, &format!("second {id} of {name}"));
        }
        Record::open(writer.folder()).expect("a record")
    };
    let parts = [twice("x", &[0, 3], Status::Failed), twice("y", &[0], Status::Ok)];
    let to = here.join("merged");
    let done = merged(&parts, &to).expect("one record");
    assert_eq!((done.trials, done.superseded), (2, 1));
    let record = Record::open(&to).expect("a record");
    assert_eq!(record.manifest().again, ["a+again+s1", "d+again+s1"]);
    let pairs: Vec<String> = record
        .pairs()
        .into_iter()
        .flat_map(|(first, second)| [first, second])
        .map(|outcome| {
            fs::read_to_string(record.raw(outcome).expect("raw output").join("fio.json"))
                .expect("text")
        })
        .collect();
    assert_eq!(pairs, ["a+s1 of y", "second a+s1 of y", "d+s1 of x", "second d+s1 of x"]);
    // A changed second measurement is not taken, like a changed first one.
    let second = parts[0].outcome("d+again+s1").expect("it ran");
    fs::write(parts[0].raw(second).expect("raw output").join("fio.json"), "other").expect("a file");
    assert!(refused(&parts, &here.join("changed")).contains("was changed or removed"));
}

#[test]
fn of_equal_results_one_is_kept_and_a_result_goes_before_none() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let x = begin(here, "x", &part(&[0, 1]));
    run(&x, "a", Status::Failed, "the machine was full");
    run(&x, "b", Status::Ok, "report of b");
    let y = begin(here, "y", &part(&[0, 1, 2]));
    run(&y, "a", Status::Ok, "report of a");
    run(&y, "b", Status::Ok, "report of b");
    y.note(outcome("c", Status::Interrupted)).expect("a line");
    let records = [&x, &y].map(|writer| Record::open(writer.folder()).expect("a record"));
    let to = here.join("merged");
    assert!(refused(&records, &to).contains("is being written"));
    drop((x, y));
    let done = merged(&records, &to).expect("one record");
    assert_eq!(
        done,
        Merged { trials: 3, of: 5, duplicates: 1, superseded: 1, ..Merged::default() }
    );
    let record = Record::open(&to).expect("a record");
    let status = |trial: &str| record.outcome(trial).map(|outcome| outcome.status);
    assert_eq!(
        ["a", "b", "c"].map(status),
        [Status::Ok, Status::Ok, Status::Interrupted].map(Some)
    );
    assert_eq!(names(&to.join("raw")), ["a", "b"]);
    assert_eq!(names(here), ["merged", "x", "y"], "nothing is left beside it");
}

#[test]
fn other_bytes_of_one_trial_are_a_conflict() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let x = record(here, "x", &[0, 1]);
    let writer = begin(here, "y", &part(&[1, 2]));
    run(&writer, "b", Status::Ok, "another report of b");
    run(&writer, "c", Status::Ok, "report of c");
    drop(writer);
    let y = Record::open(&here.join("y")).expect("a record");
    let error = merged(&[x.clone(), y], &here.join("merged")).expect_err("a conflict");
    let MergeError::Conflicts(conflicts) = &error else { panic!("{error}") };
    assert_eq!(conflicts.len(), 1);
    assert_eq!((conflicts[0].trial.as_str(), conflicts[0].file.as_str()), ("b", "fio.json"));
    assert_eq!(conflicts[0].key.as_deref(), Some("0000000000000001"));
    let text = error.to_string();
    assert!(text.contains("b (0000000000000001): fio.json differs between"), "{text}");
    assert!(!here.join("merged").exists());
    // The bytes are the same, and yet the number is another.
    let writer = begin(here, "z", &part(&[1]));
    let raw = writer.begin("b").expect("a folder");
    fs::write(raw.path().join("fio.json"), "report of b").expect("raw output");
    let mut other = outcome("b", Status::Ok);
    other.virtual_ns = None;
    writer.finish(raw, other).expect("a line");
    drop(writer);
    let z = Record::open(&here.join("z")).expect("a record");
    assert!(refused(&[x, z], &here.join("merged")).contains("`virtual_ns` in trials.jsonl"));
}

#[test]
fn a_trial_that_fails_by_itself_cannot_have_a_result_elsewhere() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let x = record(here, "x", &[0, 1]);
    let failed = |name: &str, fault: Option<Fault>| {
        let writer = begin(here, name, &part(&[1]));
        let raw = writer.begin("b").expect("a folder");
        writer.finish(raw, Outcome { fault, ..outcome("b", Status::Failed) }).expect("a line");
        drop(writer);
        Record::open(&here.join(name)).expect("a record")
    };
    let own = failed("own", Some(Fault::Trial));
    for records in [[x.clone(), own.clone()], [own, x.clone()]] {
        let error = refused(&records, &here.join("merged"));
        assert!(
            error.contains("b (0000000000000001): `status` in trials.jsonl differs between"),
            "{error}"
        );
    }
    // The trial failed by the machine's fault, or the record is an older one that does not say
    // whose fault it was.
    for (name, fault) in [("full", Some(Fault::Machine)), ("older", None)] {
        let done = merged(&[x.clone(), failed(name, fault)], &here.join(format!("with-{name}")));
        assert_eq!(done.expect("one record").superseded, 1);
    }
}

#[test]
fn what_was_made_otherwise_is_refused() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let x = record(here, "x", &[0]);
    let mut count = 0;
    let mut told = |change: &dyn Fn(&mut Manifest)| {
        let mut manifest = part(&[1]);
        change(&mut manifest);
        count += 1;
        let other = finished(&begin(here, &format!("other-{count}"), &manifest), &[]);
        refused(&[x.clone(), other], &here.join("merged"))
    };
    let kernel = told(&|changed| changed.kernels[0].sha256 = "9".repeat(64));
    assert!(kernel.contains("kernel newest: 7.3.2, key 7.3.2-abc, SHA-256 111"), "{kernel}");
    assert!(
        kernel.contains("/x and ") && kernel.contains("/other-1 cannot be one record"),
        "{kernel}"
    );
    assert!(
        told(&|changed| changed.disklab = "0.2.0".to_owned())
            .contains("disklab: 0.1.0 in the first, 0.2.0 in the second")
    );
    assert!(
        told(&|changed| changed.tools[1].value = "2".repeat(64)).contains("tool disk library: 111")
    );
    assert!(
        told(&|changed| changed.inputs[0].value = "4".repeat(64))
            .contains("input lab/devices/disk.toml: 333")
    );
    assert!(
        told(&|changed| changed.suite.set.clear())
            .contains("settings of the suite: `policy=pid,devid` in the first")
    );
    assert!(
        told(&|changed| changed.part = Some(Part { of: 6, at: vec![1] }))
            .contains("the whole suite: 5 trials in the first")
    );
    let other_key = told(&|changed| {
        changed.part = Some(Part { of: 5, at: vec![0] });
        changed.trials = vec!["a".to_owned()];
        changed.keys = vec!["f".repeat(16)];
    });
    assert!(
        other_key.contains("trial 1 of the suite: a (0000000000000000) in the first, a (ffff"),
        "{other_key}"
    );
    // A file or tool that only one of them needed is not a difference, and neither is a program
    // that one machine lacks.
    let mut manifest = part(&[1]);
    manifest.inputs.push(Fact::new("lab/devices/other.toml", "5".repeat(64)));
    manifest.tools[0].value = NOT_THERE.to_owned();
    let other = finished(&begin(here, "other", &manifest), &[1]);
    merged(&[other, x], &here.join("merged")).expect("one record");
    let merged = Record::open(&here.join("merged")).expect("a record");
    assert_eq!(merged.manifest().tools[0], Fact::new("fio", "fio-3.33"));
    assert_eq!(merged.manifest().inputs.len(), 2);
}

#[test]
fn raw_output_that_was_changed_is_not_taken() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    let (x, y) = (record(here, "x", &[0, 1]), record(here, "y", &[1]));
    fs::write(x.folder().join("raw/b/fio.json"), "changed").expect("room");
    assert!(
        refused(std::slice::from_ref(&x), &here.join("merged"))
            .contains("raw/b/fio.json was changed or removed")
    );
    // Another record has the original file.
    let file = x.folder().join("raw/b/fio.json");
    let done = merged(&[x, y], &here.join("merged")).expect("one record");
    assert_eq!(done.damaged, [file]);
    assert_eq!(
        fs::read_to_string(here.join("merged/raw/b/fio.json")).expect("a file"),
        "report of b"
    );
}

#[test]
fn what_is_there_is_not_written_over() {
    let folder = tempdir().expect("a folder");
    let x = record(folder.path(), "x", &[0]);
    fs::create_dir(folder.path().join("merged")).expect("a folder");
    let error = merged(&[x], &folder.path().join("merged")).expect_err("it is there");
    assert!(matches!(error, MergeError::Store(RecordError::Exists { .. })), "{error}");
}

/// Tests that after `kill -9` at any moment, the whole record exists or none of it.
#[test]
fn a_killed_merge_leaves_none_or_all() {
    let folder = tempdir().expect("a folder");
    let here = folder.path();
    for (name, at) in [("x", vec![0, 1, 2]), ("y", vec![3, 4])] {
        let writer = begin(here, name, &part(&at));
        for at in at {
            run(&writer, NAMES[at], Status::Ok, &"a report ".repeat(100_000));
        }
    }
    let to = here.join("merged");
    let mut killed = 0;
    loop {
        let mut child = Command::new(std::env::current_exe().expect("this test"))
            .args(["--exact", "merged::child", "--include-ignored"])
            .env(FOLDER, here)
            .stdout(Stdio::null())
            .spawn()
            .expect("this test again");
        thread::sleep(Duration::from_millis(1 + killed));
        child.kill().expect("its own child");
        if child.wait().expect("its own child").success() {
            break;
        }
        killed += 1;
        if to.exists() {
            break;
        }
    }
    assert!(killed > 0, "nothing was put to the test");
    let record = Record::open(&to).expect("a whole record");
    assert!(record.outcomes().iter().all(|(_, outcome)| outcome.is_some()));
    for outcome in record.lines() {
        assert_eq!(disklab_record::changed(&record, outcome).expect("raw output"), [""; 0]);
    }
}

#[test]
fn a_disk_without_space_gets_no_record() {
    let folder = tempdir().expect("a folder");
    let script =
        "mount -t tmpfs -o size=300k none \"$DISKLAB_TEST_MERGED\" || exit 77; exec \"$@\"";
    let output = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"])
        .arg(std::env::current_exe().expect("this test"))
        .args(["--exact", "merged::child", "--include-ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .env(FULL, "1")
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    if !text.contains("test result") {
        disklab_testkit::skipped(format!("no namespaces for a small disk here: {}", text.trim()));
        return;
    }
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "runs in a process of its own, started by the tests above"]
fn child() {
    let here = PathBuf::from(std::env::var_os(FOLDER).expect("the folder of the test above"));
    let open = |name: &str| Record::open(&here.join(name)).expect("a record");
    if std::env::var_os(FULL).is_none() {
        merged(&[open("x"), open("y")], &here.join("merged")).expect("one record");
        return;
    }
    let writer = begin(&here, "x", &part(&[0]));
    run(&writer, "a", Status::Ok, &"a report ".repeat(20_000));
    drop(writer);
    let text = refused(&[open("x")], &here.join("merged"));
    assert!(text.contains("No space left on device"), "{text}");
    assert_eq!(names(&here), ["x"], "what was begun is gone");
}
