//! Tests `export`: the numbers of a record as files for other programs.

use std::fs;
use std::path::Path;

use crate::input::refused;
use crate::{fixture, json, run};

/// Makes a record of trials with a load other than fio: the fixture's fio reports are empty.
fn record(here: &Path) {
    let folder = fixture::record(here);
    for trial in fs::read_dir(folder.join("raw")).expect("a folder").flatten() {
        fs::remove_file(trial.path().join("fio.json")).expect("a report");
    }
    let lines = folder.join("trials.jsonl");
    let text = fs::read_to_string(&lines).expect("lines");
    let without = text.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let members = line.as_object_mut().expect("an object");
        members.remove("chain");
        if let Some(files) = members.get_mut("files").and_then(|files| files.as_object_mut()) {
            files.remove("fio.json");
        }
        format!("{line}\n")
    });
    fs::write(&lines, without.collect::<String>()).expect("written");
    disklab_testkit::reseal(&folder);
}

#[test]
fn raw_files_that_are_not_what_was_recorded_are_not_exported() {
    let here = tempfile::tempdir().expect("a folder");
    let folder = fixture::record(here.path());
    let report = folder.join("raw/hdd-raid1+randread-4k-qd1+pid+s1/fio.json");
    fs::write(report, "{\"jobs\": []}").expect("room");
    let words = ["export", fixture::NAME, "-o", "tables", "--table", "histograms"];
    let said = refused(run(here.path(), &words));
    assert!(said.contains("fio.json: it was changed after it was recorded"), "{said}");
}

#[test]
fn a_record_becomes_tables() {
    let here = tempfile::tempdir().expect("a folder");
    record(here.path());
    let done = run(here.path(), &["export", fixture::NAME, "--format", "csv", "-o", "tables"]);
    assert_eq!(done.status, Some(0));
    assert!(done.err.contains("8 of 12 trials ok, 1 failed, 1 skipped, 2 not run"), "{}", done.err);
    assert!(
        done.out.contains("tables/metrics: ")
            && done.out.contains("tables/trials: 10 rows in 1 file"),
        "{}",
        done.out
    );
    let place = format!("suite=quick/run={}/data.csv", fixture::NAME);
    let metrics =
        fs::read_to_string(here.path().join("tables/metrics").join(&place)).expect("a table");
    // The number equals the record's: 1e9 / 8,500,000 ns.
    let iops = metrics.lines().find(|line| line.contains(",iops,")).expect("a row");
    assert!(
        iops.starts_with("hdd-raid1+randread-4k-qd1+pid+s1,,hdd-raid1,randread-4k-qd1,,,pid,"),
        "{iops}"
    );
    assert!(iops.contains(",iops,1/s,,117.6470588235294"), "{iops}");
    assert!(!here.path().join("tables/traces").exists());
    let arguments = [
        "export",
        fixture::NAME,
        "--format",
        "jsonl",
        "-o",
        "tables",
        "--table",
        "traces",
        "--json",
    ];
    let told = json(here.path(), &arguments);
    let traces =
        told["files"].as_array().into_iter().flatten().find(|file| file["table"] == "traces");
    // Each trial that is ok has two requests and a mark.
    assert_eq!(traces.expect("a table")["rows"], 3 * 8, "{told}");
}

#[test]
fn mistakes_are_told() {
    let here = tempfile::tempdir().expect("a folder");
    record(here.path());
    let export = |arguments: &[&str]| run(here.path(), &[&["export"], arguments].concat());
    assert!(
        refused(export(&["nothing", "-o", "tables"])).contains("./records has no record `nothing`")
    );
    fs::write(here.path().join("file"), "").expect("a file");
    assert!(refused(export(&[fixture::NAME, "-o", "file"])).contains("exists and is not a folder"));
    assert_eq!(export(&[fixture::NAME]).status, Some(2), "where to is not said");
    assert!(
        refused(export(&[fixture::NAME, "-o", "tables", "--table", "trace"])).contains("traces")
    );
    let elsewhere = here.path().join("elsewhere");
    fs::create_dir(&elsewhere).expect("a folder");
    record(&elsewhere);
    let other = format!("elsewhere/records/{}", fixture::NAME);
    let twice = refused(export(&[fixture::NAME, &other, "-o", "tables"]));
    assert!(
        twice.contains("have the same suite and the same name")
            && !here.path().join("tables").exists(),
        "{twice}"
    );
    fs::write(here.path().join(format!("records/{}/trials.jsonl", fixture::NAME)), "?\n")
        .expect("a file");
    assert!(refused(export(&[fixture::NAME, "-o", "tables"])).contains("trials.jsonl, line 1"));
}
