//! Tests seeds that are added to a record, records that are pooled, and suites at the ends of
//! estimates, with real guests.

use std::fs;
use std::path::Path;

use disklab_record::{Record, Status};
use rustix::process::Signal;
use serde_json::Value;

use crate::guests::{end, place, start, wait_for_lines};
use crate::{json, run};

const SUITE: &str = r#"
question = "Which policy?"
seeds = 3
memory = "192 MiB"
runtime = { rotational = "20ms", solid_state = "20ms" }
baseline = { policy = "pid" }
[axes]
array = ["constant-raid1"]
workload = ["smoke-randread"]
policy = ["pid", "round-robin:4k"]
"#;

fn suite() -> Option<tempfile::TempDir> {
    let here = place()?;
    fs::write(here.path().join("mine.toml"), SUITE).expect("a file");
    Some(here)
}

fn ok(here: &Path, arguments: &[&str]) -> String {
    let done = run(here, arguments);
    assert_eq!(done.status, Some(0), "{arguments:?}: {}{}", done.out, done.err);
    done.out + &done.err
}

fn refused(here: &Path, arguments: &[&str], expected: &str) {
    let done = run(here, arguments);
    assert_eq!(done.status, Some(2), "{arguments:?}: {}{}", done.out, done.err);
    assert!(done.err.contains(expected), "no `{expected}`: {}", done.err);
}

fn shares(document: &Value) -> Vec<f64> {
    let analyses = document["sequential"]["analyses"].as_array().expect("analyses");
    analyses.iter().map(|analysis| analysis["share"].as_f64().expect("a share")).collect()
}

#[test]
fn seeds_are_added_to_a_record() {
    let Some(place) = suite() else { return };
    let here = place.path();
    ok(here, &["run", "mine.toml", "--out", "few"]);
    let told = ok(here, &["run", "--resume", "./few", "--seeds", "5"]);
    assert!(told.contains("seeds 4 to 5 are added after an analysis"), "{told}");
    // The same command again finds nothing to do, and adds no interim analysis.
    let again = ok(here, &["run", "--resume", "./few", "--seeds", "5"]);
    assert!(again.contains("nothing left to run"), "{again}");
    ok(here, &["run", "mine.toml", "--seeds", "5", "--out", "whole"]);
    ok(here, &["same", "./few", "./whole"]);
    let compare = |name: &str| json(here, &["compare", name, "--json"]);
    assert_eq!(shares(&compare("./few")), [0.5, 0.25]);
    assert_eq!(compare("./whole")["sequential"], Value::Null);
    let width = |name: &str| {
        let change = &compare(name)["cells"][0]["change"];
        change["high"].as_f64().expect("high") - change["low"].as_f64().expect("low")
    };
    assert!(width("./few") >= width("./whole"), "the looks take their part of alpha");
    let words = ok(here, &["compare", "./few"]).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("after an interim analysis of the results (seed 3)"), "{words}");
    ok(here, &["gate", "./few", "--against", "./whole"]);
    ok(here, &["report", "./few", "--format", "markdown"]);

    refused(here, &["run", "--resume", "./few", "--seeds", "2"], "seeds can only be added");
    refused(here, &["run", "--resume", "./few", "--seeds", "6-9"], "--seeds 9");
    ok(here, &["run", "mine.toml", "--shard", "1/2", "--out", "part"]);
    refused(here, &["run", "--resume", "./part", "--seeds", "5"], "disklab merge");
}

#[test]
fn an_extension_that_was_killed_goes_on() {
    let Some(place) = suite() else { return };
    let here = place.path();
    ok(here, &["run", "mine.toml", "--out", "few"]);
    let line = ["run", "--resume", "./few", "--seeds", "9"];
    let mut killed = start(here, &line);
    wait_for_lines(&mut killed, &here.join("few"), 8);
    end(killed, Signal::KILL);
    ok(here, &line);
    let record = Record::open(&here.join("few")).expect("a record");
    assert_eq!(record.manifest().extended.len(), 1);
    let outcomes = record.outcomes();
    assert_eq!(outcomes.len(), 18);
    assert!(outcomes.iter().all(|(_, last)| last.is_some_and(|own| own.status == Status::Ok)));
}

#[test]
fn a_run_until_decided_takes_more_seeds() {
    let Some(place) = suite() else { return };
    let here = place.path();
    ok(here, &["run", "mine.toml", "--until-decided", "--seeds", "4", "--out", "few"]);
    ok(here, &["run", "--resume", "./few", "--seeds", "8"]);
    let record = Record::open(&here.join("few")).expect("a record");
    let until = record.manifest().until_decided.as_ref().expect("its rule");
    assert_eq!(until.analyses, [4, 6, 8]);
    let all = json(here, &["compare", "./few", "--json"]);
    assert_eq!(shares(&all), [0.5, 0.125, 0.125]);
    assert!(record.outcomes().iter().all(|(_, last)| last.is_some()), "every trial has its line");
}

#[test]
fn records_of_different_seeds_are_pooled() {
    let Some(place) = suite() else { return };
    let here = place.path();
    ok(here, &["run", "mine.toml", "--out", "first"]);
    ok(here, &["run", "mine.toml", "--seeds", "4-5", "--out", "second"]);
    let hint = ok(here, &["compare", "./first", "./second"]);
    assert!(hint.contains("disklab merge"), "{hint}");
    let merged = ok(here, &["merge", "./first", "./second", "--out", "pooled"]);
    assert!(merged.contains("seeds 1 to 5 of one suite, pooled"), "{merged}");
    ok(here, &["run", "mine.toml", "--seeds", "5", "--out", "whole"]);
    ok(here, &["same", "./pooled", "./whole"]);
    ok(here, &["run", "--resume", "./pooled", "--seeds", "6"]);
}

#[test]
fn a_verdict_says_on_which_drives_it_is_given() {
    let Some(place) = suite() else { return };
    let here = place.path();
    let hard = "array=hdd-raid1";
    refused(here, &["plan", "mine.toml", "--drives", "disk"], "[possible values: hdd, ssd");
    let turns = "no array of the suite has any: constant";
    refused(here, &["plan", "mine.toml", "--drives", "hdd"], turns);
    let named = ["plan", "mine.toml", "--set", hard, "--set", "device=nas-4tb"];
    refused(here, &[&named[..], &["--drives", "hdd"]].concat(), "has the axis `device` already");
    let real = ["run", "mine.toml", "--set", hard, "--on", "host", "--at", "there"];
    refused(here, &[&real[..], &["--drives", "hdd"]].concat(), "leave --on host out");
    refused(here, &[&real[..], &["--set", "device=nas-4tb"]].concat(), "leave --on host out");
    let plan = json(here, &["plan", "mine.toml", "--drives", "hdd", "--set", hard, "--json"]);
    let trials = plan["trials"].as_array().expect("trials").len();
    let drives = trials / (2 * 3);
    assert!(drives > 10 && trials == 2 * 3 * drives, "{trials}");
    let three = "device=nas-4tb,laptop-1tb,desktop-500gb";
    for shard in ["1/2", "2/2"] {
        let shard = ["--shard", shard, "--out", &format!("part-{}", &shard[..1])];
        ok(here, &[&["run", "mine.toml", "--set", hard, "--set", three], &shard[..]].concat());
    }
    ok(here, &["merge", "./part-1", "./part-2", "--out", "all"]);
    let compare = json(here, &["compare", "./all", "--json"]);
    let [over] = &compare["drives"].as_array().expect("over drives")[..] else { panic!("one") };
    let of = |key: &str| {
        over["drives"]
            .as_array()
            .expect("drives")
            .iter()
            .map(|own| own[key].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(of("drive"), ["\"nas-4tb\"", "\"laptop-1tb\"", "\"desktop-500gb\""]);
    assert_eq!(compare["cells"].as_array().expect("cells").len(), 3);
    let text = ok(here, &["compare", "./all"]);
    assert!(text.contains("Over 3 drives: nas-4tb, laptop-1tb and desktop-500gb."), "{text}");
}

#[test]
fn verdicts_are_held_against_the_ends_of_estimates() {
    let Some(place) = suite() else { return };
    let here = place.path();
    refused(here, &["plan", "mine.toml", "--sensitivity"], "no disk of the suite has an estimate");
    let hard = "array=hdd-raid1";
    let plan = json(here, &["plan", "mine.toml", "--sensitivity", "--set", hard, "--json"]);
    // The cells are the suite's, and both ends of each estimate of the disks.
    let trials = plan["trials"].as_array().expect("trials").len();
    let estimates = (trials / (2 * 3) - 1) / 2;
    assert_eq!(trials, 2 * 3 * (1 + 2 * estimates));
    assert!(estimates >= 4, "{estimates}");
    let told = plan["remarks"].to_string();
    assert!(told.contains("queue_patience (2 s to 10 s)"), "{told}");
    ok(here, &["run", "mine.toml", "--sensitivity", "--set", hard, "--out", "all"]);
    let compare = json(here, &["compare", "./all", "--json"]);
    let all = compare["sensitivity"].as_array().expect("sensitivities");
    for own in all {
        assert_eq!(own["ends"].as_array().expect("ends").len(), 2 * estimates, "{own}");
    }
    let ends = compare["cells"].as_array().expect("cells").len();
    assert_eq!(ends, 1 + 2 * estimates);
    let show = ok(here, &["run", "--resume", "./all"]);
    assert!(!show.contains("queue_patience-low"), "the table is of the disks as they are: {show}");
    let disks = here.join("cache/disklab/disks");
    let prepared = fs::read_dir(disks)
        .expect("a cache")
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.path().is_dir()));
    assert_eq!(prepared.count(), 1, "one set of prepared disks for all");
}
