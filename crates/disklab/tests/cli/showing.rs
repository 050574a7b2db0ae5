//! Tests `show` and `same` on records made here.

use std::fs;

use crate::{derived, fixture, json, run};

const TRIAL: &str = "hdd-raid1+randread-4k-qd1+pid+s1";

#[test]
fn the_table_of_a_record() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let show = run(here.path(), &["show", fixture::NAME]);
    assert_eq!((show.status, show.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(show.out);
}

/// A change of an older program's record could not be detected, and readers are warned.
#[test]
fn records_without_digests_are_said_to_be() {
    let here = tempfile::tempdir().expect("a folder");
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../report/tests/records/old");
    for verb in [&["show", old][..], &["audit", old], &["same", old, old]] {
        let said = run(here.path(), verb).err;
        assert!(said.contains("was written by an older disklab, without digests"), "{said}");
    }
    fixture::record(here.path());
    assert_eq!(run(here.path(), &["show", fixture::NAME]).err, "");
}

/// Names and reasons may come from anybody: a terminal shows them, and executes none of them.
#[test]
fn what_would_steer_a_terminal_is_text() {
    let here = tempfile::tempdir().expect("a folder");
    let record = fixture::record(here.path());
    let lines = record.join("trials.jsonl");
    let text = fs::read_to_string(&lines).expect("a file");
    let hostile = "\\u001b]0;mine\\u0007\\u001b[31m\\u202e";
    fs::write(&lines, text.replace("the guest kernel panicked", hostile)).expect("room");
    disklab_testkit::reseal(&record);
    let failed = "hdd-raid1+randread-4k-qd1+devid+s1";
    for verb in [
        &["show", fixture::NAME][..],
        &["show", fixture::NAME, failed],
        &["compare", fixture::NAME],
        &["watch", fixture::NAME],
    ] {
        for color in ["always", "never"] {
            let done = run(here.path(), &[verb, &["--color", color]].concat());
            let odd = |letter: char| {
                matches!(letter, '\u{7}' | '\u{202e}') || (letter == '\u{1b}' && color == "never")
            };
            assert!(
                !done.out.contains(odd) && !done.err.contains(odd),
                "{verb:?}: {}{}",
                done.out,
                done.err
            );
            assert!(
                !done.out.contains("\u{1b}]") && !done.out.contains("\u{1b}[31m"),
                "{verb:?}: {}",
                done.out
            );
        }
    }
    let shown = run(here.path(), &["show", fixture::NAME, failed]).out;
    assert!(shown.contains("\\u{1b}]0;mine\\u{7}\\u{1b}[31m\\u{202e}"), "{shown}");
}

#[test]
fn cells_are_merged_over_their_seeds() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let report = json(here.path(), &["show", fixture::NAME, "--json"]);
    assert_eq!(
        report["trials"],
        serde_json::json!({
            "ok": 8, "failed": 1, "skipped": 1, "interrupted": 0, "spared": 0, "not_run": 2
        })
    );
    let pid = &report["groups"][0]["cells"][0];
    assert_eq!(pid["values"], serde_json::json!(["pid"]));
    assert_eq!(
        pid["measured"]["lat_mean_ns"],
        serde_json::json!({"min": 8.5e6, "median": 8.55e6, "max": 8.6e6})
    );
    assert_eq!(
        pid["measured"]["disks"][1]["read_share"],
        serde_json::json!({"min": 0.0, "median": 0.5, "max": 1.0})
    );
    let devid = &report["groups"][0]["cells"][2];
    assert_eq!(
        (&devid["measured"]["seeds"], &devid["trials"][0]["status"]),
        (&1.into(), &"failed".into())
    );
    let never = &report["groups"][1]["cells"][2];
    assert!(never["measured"].is_null() && never["trials"][1]["status"].is_null(), "{never}");
}

#[test]
fn everything_about_a_trial() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let show = run(here.path(), &["show", fixture::NAME, TRIAL]);
    assert_eq!((show.status, show.err.as_str()), (Some(0), ""));
    insta::assert_snapshot!(show.out);
}

#[test]
fn a_failed_trial_shows_its_guests_last_words() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let show = run(here.path(), &["show", fixture::NAME, "hdd-raid1+randread-4k-qd1+devid+s1"]);
    assert_eq!(show.status, Some(0));
    assert!(
        show.out.contains("reason: the guest kernel panicked: sysrq triggered crash"),
        "{}",
        show.out
    );
    assert!(
        show.out.contains("disklab: hello\n\\u{1b}[31mred\n"),
        "no escapes of the guest: {}",
        show.out
    );
}

#[test]
fn a_record_can_be_named_by_its_path() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = fixture::record(here.path());
    let path = folder.display().to_string();
    let by_path = run(here.path(), &["show", &path]);
    assert_eq!(by_path.status, Some(0));
    assert!(by_path.out.contains(&format!("disklab show {path} ")), "{}", by_path.out);
}

#[test]
fn equal_records_are_the_same() {
    let here = tempfile::tempdir().expect("a folder");
    derived::derived_record(here.path(), "a", 1);
    derived::derived_record(here.path(), "b", 1);
    let same = run(here.path(), &["same", "a", "b"]);
    assert_eq!((same.status, same.err.as_str()), (Some(0), ""));
    assert!(same.out.starts_with("the same: 12 trials, fingerprint "), "{}", same.out);
}

#[test]
fn the_first_request_that_differs_is_shown() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::small_record(here.path(), "a", 7);
    fixture::small_record(here.path(), "b", 8);
    let same = run(here.path(), &["same", "a", "b"]);
    assert_eq!(same.status, Some(1));
    for expected in [
        "1 difference\n",
        "requests.trace.gz: differs at byte ",
        "first:  entry 3: vdb,read,0,7,8,110,111,200,\n",
        "second: entry 3: vdb,read,0,8,8,110,111,200,\n",
    ] {
        assert!(same.out.contains(expected), "{expected} in {}", same.out);
    }
}

#[test]
fn text_that_differs_is_shown_by_its_line() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::small_record(here.path(), "a", 7);
    let other =
        fixture::small_record(here.path(), "b", 7).join("raw").join(TRIAL).join("guest.jsonl");
    let text = fs::read_to_string(&other).expect("steps").replace("a warning", "a Warning");
    fs::write(&other, text).expect("room");
    let same = run(here.path(), &["same", "a", "b"]);
    assert_eq!(same.status, Some(1));
    assert!(
        same.out.contains("second: line 3: ") && same.out.contains("a Warning"),
        "{}",
        same.out
    );
    // The output says which of the two records was changed.
    let expected = format!("after they were recorded:\n  second: {TRIAL}/guest.jsonl\n");
    assert!(same.out.ends_with(&expected), "{}", same.out);
}

#[test]
fn raw_output_that_was_changed_is_told() {
    let here = tempfile::tempdir().expect("a folder");
    let raw = fixture::small_record(here.path(), "a", 7).join("raw").join(TRIAL);
    let show = || json(here.path(), &["show", "a", TRIAL, "--json"]);
    assert_eq!(show()["raw_changed"], serde_json::json!([]));
    fs::write(raw.join("fio.json"), "{} ").expect("a file");
    fs::remove_file(raw.join("disks.json")).expect("it was there");
    assert_eq!(show()["raw_changed"], serde_json::json!(["disks.json", "fio.json"]));
    let text = run(here.path(), &["show", "a", TRIAL]).out;
    assert!(
        text.contains("changed or removed after the numbers were taken: disks.json, fio.json"),
        "{text}"
    );
    // A changed record is not the same as itself.
    let same = run(here.path(), &["same", "a", "a"]);
    assert_eq!(same.status, Some(1));
    assert!(
        same.out.starts_with("equal now, but changed after they were recorded\n"),
        "{}",
        same.out
    );
}

/// An unreadable line of another trial does not affect an intact trial; one of the trial itself
/// does.
#[test]
fn a_line_that_cannot_be_read_keeps_no_other_trial_back() {
    let here = tempfile::tempdir().expect("a folder");
    let lines = fixture::record(here.path()).join("trials.jsonl");
    let text = fs::read_to_string(&lines).expect("a file");
    let bad = text.lines().position(|line| line.contains("devid+s1")).expect("its line");
    let cut = |(at, line): (usize, &str)| {
        if at == bad { "{\"a\n".to_owned() } else { format!("{line}\n") }
    };
    fs::write(&lines, text.lines().enumerate().map(cut).collect::<String>()).expect("room");
    for verb in ["show", "trace"] {
        let done = run(here.path(), &[verb, fixture::NAME, TRIAL]);
        assert_eq!(done.status, Some(0), "{}", done.err);
        let said = format!("not read: records/{}/trials.jsonl, line {}: ", fixture::NAME, bad + 1);
        assert!(done.err.starts_with(&said) && done.err.lines().count() == 1, "{}", done.err);
        assert!(!done.out.is_empty());
        let done = run(here.path(), &[verb, fixture::NAME, "hdd-raid1+randread-4k-qd1+devid+s1"]);
        assert_eq!(done.status, Some(2), "{}", done.out);
        assert!(done.err.contains(&format!("line {}", bad + 1)), "{}", done.err);
    }
}
