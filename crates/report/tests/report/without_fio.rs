//! Tests trials that fio did not measure: start-ups and players.

use std::fs;
use std::path::Path;

use disklab_protocol::digest::sha256_hex;
use disklab_record::{Chain, Outcome};
use disklab_report::markdown;

use super::synthetic::write_record;
use super::{between, html, with_source};

/// Makes two choices on a disk. With the second, serving and queueing take twice as long, and so do
/// programs.
fn start_ups(place: &Path) {
    write_record(
        place,
        &[("array", &["one"]), ("workload", &["shell"]), ("policy", &["pid", "queue"])],
        6,
        1,
    )
    .expect("a record");
    let path = place.join("trials.jsonl");
    let text = fs::read_to_string(&path).expect("its lines");
    let mut chain = Chain::new(true);
    let changed = text.lines().map(|line| {
        let mut line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let thousands = if line["cell"]["policy"] == "queue" { 2 } else { 1 };
        let times = thousands * 1000 + line["seed_index"].as_u64().unwrap();
        line["sample"] = serde_json::Value::Null;
        let ns = times * 1_000_000;
        line["measures"] =
            serde_json::json!({"start-up": {"value": ns, "unit": "ns", "better": "lower"}});
        let closing = serde_json::json!({
            "schema": 1, "complete": true, "fault": null, "virtual_ns": 9_000_000_000_u64,
            "requests": 100, "devices": ["nas-4tb"],
            "phases": [{
                "name": "measure", "begin_ns": 0, "end_ns": times * 1_000_000,
                "read_followers": 100, "read_switches": 0,
                "devices": [{
                    "name": "vda", "reads": 100, "writes": 0, "flushes": 0, "discards": 0,
                    "read_bytes": 409_600, "write_bytes": 0, "busy_ns": times * 900_000,
                    "wait_ns": times * 3_000_000, "service_ns": times * 1_000_000,
                    "depth_ns": times * 3_000_000, "followers": 100, "apart": 100,
                    "apart_sectors": 800,
                }],
            }],
        })
        .to_string();
        let folder = place.join(line["raw"].as_str().expect("a folder"));
        let closing = format!("{closing}\nsha256 {}\n", sha256_hex(closing.as_bytes()));
        fs::write(folder.join("disks.json"), closing).expect("written");
        fs::remove_file(folder.join("fio.json")).expect("it was there");
        let outcome: Outcome = serde_json::from_value(line).expect("an outcome");
        outcome.to_line(&mut chain).expect("a line")
    });
    let changed: String = changed.collect();
    fs::write(path, changed).expect("written");
}

#[test]
fn what_the_disks_did_comes_from_their_own_record() {
    let place = tempfile::tempdir().expect("a folder");
    start_ups(place.path());
    let page = html(place.path());
    let served = between(&page, "data-panel=\"served\"", "data-panel=\"why\"");
    assert!(served.contains("vda nas-4tb") && served.contains("90 %"), "{served}");
    assert!(
        !served.contains("<svg") && !served.contains("btrfs"),
        "a bar of one disk says nothing: {served}"
    );
    let why = between(&page, "data-panel=\"why\"", "data-panel=");
    let told = "at its disk, a request queues for 40.1 ms and is served for 20 ms with queue; it \
                queues for 20.1 ms and is served";
    assert!(why.contains(told) && !why.contains("share of reads of the busiest"), "{why}");
    // Pictures over time name the disk too.
    assert!(!page.contains("disk 1"), "a disk without a name");
    let text = with_source(place.path(), markdown::markdown);
    assert!(text.contains("start-up"), "{text}");
}

#[test]
fn a_damaged_closing_record_is_none() {
    let place = tempfile::tempdir().expect("a folder");
    start_ups(place.path());
    for trial in fs::read_dir(place.path().join("raw")).expect("a folder").flatten() {
        fs::write(trial.path().join("disks.json"), "{}").expect("written");
    }
    let page = html(place.path());
    assert!(page.contains("No trial has a record of the work of its disks."), "{page}");
}
