//! Tests `watch` on finished records, and on one that is being written.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Stdio};

use crate::input::refused;
use crate::{disklab, done, fixture, run};

#[test]
fn what_nobody_writes_is_told_once() {
    let here = tempfile::tempdir().expect("a folder");
    fixture::record(here.path());
    let watch = run(here.path(), &["watch", fixture::NAME]);
    let show = run(here.path(), &["show", fixture::NAME]);
    assert_eq!(watch.out, show.out, "the table of the results");
    assert_eq!(watch.status, Some(1), "a trial of it failed");
    let tally = watch.err.lines().next().unwrap_or_default();
    assert!(tally.contains(" trials ok, ") && show.out.contains(tally), "{}", watch.err);
    let said = refused(run(here.path(), &["watch", fixture::NAME, "--json"]));
    assert!(said.contains("disklab show --json"), "{said}");
}

/// Starts watching. Returns the child, and a function that reads its output until a line begins
/// with `tally`.
fn watched(here: &std::path::Path) -> (Child, impl FnMut(&str)) {
    let mut child = disklab(here)
        .args(["watch", "./records/filling"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let until = move |tally: &str| {
        // The output ends when watching ends.
        let found = said.by_ref().map_while(Result::ok).any(|line| line.starts_with(tally));
        assert!(found, "it never said {tally}");
    };
    (child, until)
}

#[test]
fn a_record_that_fills_is_told_of_as_it_fills() {
    let here = tempfile::tempdir().expect("a folder");
    let writer = fixture::begun(here.path(), "filling");
    let (child, mut until) = watched(here.path());
    until("0 of 12 trials ok");
    fixture::go_on(&writer, 0);
    until("1 of 12 trials ok");
    // A crash or a slow disk may leave half a line for a while.
    let lines = writer.folder().join("trials.jsonl");
    let whole = fs::read(&lines).expect("a file");
    let half = &whole[..whole.len() / 2];
    let append = |bytes: &[u8]| {
        let mut file = OpenOptions::new().append(true).open(&lines).expect("a file");
        file.write_all(bytes).expect("room");
    };
    append(half);
    std::thread::sleep(std::time::Duration::from_millis(1200));
    fs::write(&lines, &whole).expect("room");
    for number in 1..12 {
        fixture::go_on(&writer, number);
    }
    until("12 of 12 trials ok");
    drop(writer);
    let ended = done(child.wait_with_output().expect("it ends"));
    let show = run(here.path(), &["show", "./records/filling"]);
    assert_eq!((ended.status, ended.out), (Some(0), show.out));
}

#[test]
fn a_record_that_is_left_and_one_that_is_spoilt_end_the_watching() {
    let here = tempfile::tempdir().expect("a folder");
    let writer = fixture::begun(here.path(), "filling");
    let (child, mut until) = watched(here.path());
    fixture::go_on(&writer, 0);
    until("1 of 12 trials ok");
    drop(writer);
    until("the run has stopped; to continue: disklab run --resume ");
    assert_eq!(done(child.wait_with_output().expect("it ends")).status, Some(1));

    let writer = fixture::begun(here.path(), "spoilt");
    fs::write(writer.folder().join("trials.jsonl"), "no line of ours\n").expect("room");
    let said = refused(run(here.path(), &["watch", "spoilt"]));
    assert!(said.contains("trials.jsonl") && said.contains("line 1"), "{said}");
}
