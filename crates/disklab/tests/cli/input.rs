//! Tests mistaken input: exit status 2, and a message with the probable meaning.

use std::fs;
use std::process::Command;

use crate::{Done, copy_home, disklab, done, fixture, run};

/// Runs the program and returns its message, after checks that hold for all messages.
fn mistake(arguments: &[&str]) -> String {
    let here = tempfile::tempdir().expect("a folder");
    fixture::small_record(here.path(), "quick-1", 0);
    refused(run(here.path(), arguments))
}

pub fn refused(Done { status, out, err }: Done) -> String {
    // With --json, the message is a document too.
    let is_told = out.is_empty() || out.starts_with(r#"{"error":{"exit_code":2,"#);
    assert_eq!((status, is_told), (Some(2), true), "{out}{err}");
    assert!(!err.contains("panicked"), "{err}");
    err
}

#[test]
fn the_nearest_name_is_suggested() {
    for (arguments, expected) in [
        (
            &["plan", "read-policy-quik"][..],
            "unknown suite `read-policy-quik`; did you mean `read-policy-quick`?",
        ),
        (
            &["plan", "smoke", "--set", "polcy=pid"],
            "--set: polcy: unknown axis `polcy`; did you mean `policy`?",
        ),
        (&["plan", "smoke", "--set", "policy=pdi"], "unknown policy `pdi`; did you mean `pid`?"),
        (&["run", "smoke", "--set", "array=constant-raid2"], "did you mean `constant-raid1`?"),
        (&["run", "smoke", "--set", "kernel=7.9"], "unknown kernel `7.9`"),
        (&["kernel", "build", "--kernel", "7.9"], "unknown kernel `7.9`"),
        (&["kernel", "path", "newst"], "did you mean `newest`?"),
        (&["show", "quick-2"], "did you mean `quick-1`?"),
        (&["show", "xyz"], "./records has no record `xyz` (the latest are quick-1)"),
        (
            &["show", "quick-1", "hdd-raid1+randread-4k-qd1+pdi+s1"],
            "did you mean `hdd-raid1+randread-4k-qd1+pid+s1`?",
        ),
        (&["show", "./far/away"], "./far/away: there is no such folder; name a record"),
        (&["validate", "far.csv"], "name a fio report, a folder of reports, or a .csv table"),
        (&["show", "records/quick-2/"], "did you mean `quick-1`?"),
        (&["run", "--resume", "quick-9"], "did you mean `quick-1`?"),
        (&["lst"], "list"),
    ] {
        let message = mistake(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (arguments, expected) in [
        (&["plan", "smoke", "--set", "policy"][..], "axis=value"),
        (
            &["plan", "smoke", "--set", "array=hdd-raid1,policy=pid"],
            "one axis at a time: --set array=... --set policy=pid",
        ),
        (&["kernel", "patch", "--out", "records", "--author", "A <a@b>"], "is not empty"),
        (&["trace", "quick-1", "hdd-raid1+randread-4k-qd1+pid+s1", "--json"], "leave out --json"),
        (&["plan", "smoke", "--set", "policy="], "a value is empty"),
        (&["plan", "smoke", "--set", "policy=pid,pid"], "`pid` is given twice"),
        (&["plan", "smoke", "--seeds", "0"], "0 is out of range (1 to 1000)"),
        (&["plan", "smoke", "--jobs", "0"], "0 is out of range (1 to "),
        (&["plan", "smoke", "--set", "array=single-constant"], "nothing uses this axis"),
        (&["run"], "<SUITE>"),
        (&["run", "smoke", "--resume", "quick-1"], "cannot be used with"),
        (&["trace", "quick-1"], "<TRIAL>"),
        (&["show", "quick-1", "ssd-raid10+randread-4k-qd1+devid+s2"], "has not run"),
        (
            &["plan", "smoke", "--jobs", "100000"],
            "each keeps a processor busy, and this machine has ",
        ),
        (&["kernel", "build", "--jobs", "x"], "expected a whole number"),
        (&["kernel", "build", "--jobs", "100000"], "100000 is out of range (1 to "),
        (
            &["run", "smoke", "--set", "kernel=/nonexistent"],
            "there is no built kernel at /nonexistent",
        ),
        (
            &["plan", "smoke", "--set", "kernel=/nonexistent"],
            "there is no built kernel at /nonexistent",
        ),
        (&["run", "smoke", "--out", "/etc/passwd"], "/etc/passwd exists and is not a folder"),
        (&["plan", "smoke", "--kernel", "/etc@v7.4"], "/etc is not the folder of a git repository"),
        (&["run", "smoke", "--kernel", "/tmp/a+b"], "a kernel's path cannot have `+` in it"),
        (
            &["kernel", "build", "--kernel", "/etc@v7.4"],
            "/etc is not the folder of a git repository",
        ),
        (&["kernel", "path", "/nonexistent"], "`disklab kernel list`"),
        (&["kernel", "build", "--source", "/nowhere/linux"], "/nowhere/linux"),
        (
            &["kernel", "build", "--source", "/etc/passwd"],
            "/etc/passwd is not a Linux kernel source",
        ),
        (&["kernel", "build", "--source", "/dev/null"], "it is neither a folder nor a file"),
        (&["kernel", "build", "--sha256", "00"], "--source"),
    ] {
        let message = mistake(arguments);
        assert!(message.contains(expected), "{arguments:?}: {message}");
    }
}

/// A suite wants more memory than any machine has. Both the file and the machine are named.
#[test]
fn more_memory_than_there_is_is_refused() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("mine.toml"), SMALL.replace("256 MiB", "256 GiB")).expect("a file");
    let machine = fs::read_to_string("/proc/meminfo").expect("/proc");
    let kib = machine
        .split_whitespace()
        .nth(1)
        .and_then(|kib| kib.parse::<u64>().ok())
        .expect("MemTotal");
    if kib >= 256 << 20 {
        disklab_testkit::skipped(format!("this machine has {kib} KiB of memory"));
        return;
    }
    for verb in ["plan", "run"] {
        let message = refused(run(here.path(), &[verb, "mine.toml"]));
        assert!(
            message.contains(
                "mine.toml: memory: the suite asks for 256 GiB for a guest, and this machine has "
            ),
            "{message}"
        );
    }
}

const SMALL: &str = r#"
question = "?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "1s", solid_state = "10ms" }
metadata = "warm"
array = "single-constant"
workload = "smoke-randread"
"#;

#[test]
fn what_does_nothing_is_said() {
    let here = tempfile::tempdir().expect("a folder");
    fs::write(here.path().join("mine.toml"), SMALL).expect("a file");
    let plan = run(here.path(), &["plan", "mine.toml"]);
    assert_eq!(plan.status, Some(0), "{}", plan.err);
    assert!(
        plan.out.contains("metadata = \"warm\" does nothing on single-constant: a bare device"),
        "{}",
        plan.out
    );
}

/// A named pipe in the lab is reported and never opened, because opening it would block for ever.
#[test]
fn a_pipe_in_the_lab_is_no_suite() {
    let here = tempfile::tempdir().expect("a folder");
    let home = here.path().join("home");
    copy_home(&home);
    let pipe = home.join("lab/suites/pipe.toml");
    assert!(Command::new("mkfifo").arg(&pipe).status().is_ok_and(|status| status.success()));
    for arguments in [
        &["list"][..],
        &["list", "suites"],
        &["plan", "pipe"],
        &["plan", "home/lab/suites/pipe.toml"],
    ] {
        let Done { out, err, .. } = done(
            disklab(here.path())
                .args(arguments)
                .env("DISKLAB_HOME", &home)
                .output()
                .expect("it starts"),
        );
        // A table breaks lines at other places, so that words are compared.
        let words: Vec<_> = out.split_whitespace().chain(err.split_whitespace()).collect();
        assert!(words.join(" ").contains("it is a named pipe (FIFO)"), "{arguments:?}");
    }
}

/// Files without mistakes are listed, the mistakes are printed below, and the exit status is 2.
#[test]
fn a_list_leaves_out_only_files_with_mistakes() {
    let here = tempfile::tempdir().expect("a folder");
    copy_home(here.path());
    let lab = here.path().join("lab");
    let list = |arguments: &[&str]| {
        let mut command = disklab(here.path());
        done(command.args(arguments).env("DISKLAB_HOME", here.path()).output().expect("it starts"))
    };
    assert_eq!(list(&["list", "arrays"]).status, Some(0));
    let array = fs::read_to_string(lab.join("arrays/hdd-raid1.toml")).expect("an array");
    fs::write(lab.join("arrays/five.toml"), array.replace("btrfs-raid1", "btrfs-raid5")).unwrap();
    // The arrays of a device with mistakes have none themselves.
    fs::write(lab.join("devices/laptop-1tb.toml"), "summary = \"?\"\n").unwrap();
    let listed = list(&["list", "arrays"]);
    assert_eq!(listed.status, Some(2));
    assert!(listed.out.contains("hdd-raid1 ") && !listed.out.contains("hdd-8-mixed"));
    assert!(
        listed.err.contains("five.toml:2:8: join: `btrfs-raid5`: disklab does not support RAID")
    );
    assert!(listed.err.contains("laptop-1tb.toml"), "{}", listed.err);
    let document = list(&["list", "arrays", "--json"]);
    assert_eq!(document.status, Some(2));
    assert!(serde_json::from_str::<serde_json::Value>(&document.out).is_ok(), "{}", document.out);
}

#[test]
fn all_mistakes_of_a_suite_are_told_with_their_lines() {
    let here = tempfile::tempdir().expect("a folder");
    let suite = "question = \"?\"\nseeds = 0\nmemry = \"1 GiB\"\n\
                 runtime = { rotational = \"1s\", solid_state = \"1s\" }\n\
                 array = \"constant-raid1\"\nworkload = \"smoke-randread\"\n";
    fs::write(here.path().join("mine.toml"), suite).expect("a file");
    for verb in ["plan", "run"] {
        let message = refused(run(here.path(), &[verb, "mine.toml"]));
        assert!(message.contains("mine.toml:2:9: seeds: "), "{message}");
        assert!(
            message.contains("mine.toml:3:1: memry: unknown key; did you mean `memory`?"),
            "{message}"
        );
        assert!(!here.path().join("records").exists(), "nothing was begun");
    }
}

#[test]
fn a_record_that_was_tampered_with_is_an_error_and_no_panic() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = fixture::small_record(here.path(), "quick-1", 0);
    let trial = "hdd-raid1+randread-4k-qd1+pid+s1";
    let raw = folder.join("raw").join(trial);
    fs::remove_file(raw.join("requests.trace.gz")).expect("it was there");
    fs::write(raw.join("requests.trace"), b"DLT1\xff\xff").expect("a file");
    let Done { status, err, .. } = run(here.path(), &["trace", "quick-1", trial]);
    assert_eq!(status, Some(2));
    assert!(err.contains("requests.trace: not a trace of requests, or a damaged one"), "{err}");

    fs::write(raw.join("disks.json"), "{}").expect("a file");
    fs::write(raw.join("guest.jsonl"), b"\xff\xfe{").expect("a file");
    let Done { status, out, .. } = run(here.path(), &["show", "quick-1", trial]);
    assert_eq!(status, Some(0));
    assert!(out.contains("closing record of its disks is cut off"), "{out}");

    fs::write(folder.join("trials.jsonl"), "nonsense\n").expect("a file");
    assert!(refused(run(here.path(), &["show", "quick-1"])).contains("trials.jsonl, line 1"));
    fs::write(folder.join("manifest.toml"), "nonsense").expect("a file");
    assert!(refused(run(here.path(), &["show", "quick-1"])).contains("manifest.toml"));
    let listed = run(here.path(), &["list", "runs"]);
    assert_eq!(listed.status, Some(0));
    assert!(
        listed.out.contains("quick-1") && listed.out.contains("manifest.toml"),
        "{}",
        listed.out
    );
}
