//! Makes records whose numbers follow from raw files that agree with one another, without a guest.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_config::{Lab, Suite, Trial};
use disklab_disks::Op;
use disklab_protocol::digest::sha256_hex;
use disklab_record::outcome::Cell;
use disklab_record::{Outcome, Record, Status, Writer};
use disklab_runner::derive;
use disklab_trace::{Served, TraceWriter};
use serde_json::{Value, json};

use crate::{HOME, fixture};

/// fio's report of 1024 reads at random, whose latencies are scaled to those of each trial.
const FIO: &str = include_str!("../../../results/tests/data/randread.json");
/// Reads of a trial, of 4 KiB each, one after the other.
const READS: u64 = 1024;
const BYTES: u64 = 4096;
/// Virtual time at which a trial begins to measure, in ns.
const BEGIN: u64 = 1_000_000_000;

/// Describes the trials of a record as its copy of the suite does.
fn trials(record: &Record) -> Vec<Trial> {
    let suite = &record.manifest().suite;
    let lab = Lab::load(&Path::new(HOME).join("lab")).expect("the lab");
    Suite::of_text(&suite.name, "suite", suite.text(), &suite.set)
        .expect("a suite")
        .trials(&lab)
        .expect("trials")
}

/// Makes a record whose first trials have numbers that follow from their raw files.
pub fn derived_record(here: &Path, name: &str, count: usize) -> PathBuf {
    filled(&fixture::begun(here, name), count)
}

/// Makes the same record with keys, of trials that measure for `runtime`.
pub fn derived_record_with_keys(here: &Path, name: &str, count: usize, runtime: &str) -> PathBuf {
    filled(&fixture::begun_with_keys(here, name, runtime), count)
}

/// Fills a record with the first trials, and returns its folder.
fn filled(writer: &Writer, count: usize) -> PathBuf {
    let record = Record::open(writer.folder()).expect("a record");
    for (number, trial) in trials(&record).iter().take(count).enumerate() {
        let raw = writer.begin(&trial.id).expect("a folder");
        let write = |name: &str, text: &str| fs::write(raw.path().join(name), text).expect("room");
        let length = length(trial, number as u64);
        write("fio.json", &report(length));
        write("console.log", "disklab: hello\n");
        write("machine.json", "{\"disks\":[]}\n");
        write("plan.json", "{\"actions\":[]}\n");
        write("guest.jsonl", "{\"step\":\"finished\"}\n");
        let trace = requests(trial, length);
        let closing = closing(trial, length, &sha256_hex(&trace));
        write("disks.json", &format!("{closing}\nsha256 {}\n", sha256_hex(closing.as_bytes())));
        fs::write(raw.path().join(disklab_trace::PLAIN), trace).expect("room");
        disklab_trace::pack(raw.path()).expect("a packed trace");
        let cell = Cell(trial.cell.clone());
        let mut outcome =
            Outcome::new(trial.id.clone(), cell, trial.seed_index, trial.seed, Status::Ok);
        (outcome.wall_ms, outcome.disks) = (1400, vec!["5".repeat(64)]);
        derive(trial, raw.path(), &mut outcome).expect("numbers");
        writer.finish(raw, outcome).expect("a recorded trial");
    }
    writer.folder().to_owned()
}

/// Returns how long a trial measures, in ns: whole milliseconds, as fio reports them. The reads of
/// `pid` take a tenth longer than those of the other policies; each trial differs from the others.
fn length(trial: &Trial, number: u64) -> u64 {
    let is_slow = trial.cell.iter().any(|(axis, value)| axis == "policy" && value == "pid");
    let thousandths = 1000 + number + if is_slow { 100 } else { 0 };
    trial.runtime.0 * thousandths / 1_000_000_000 * 1_000_000
}

/// Returns fio's report of reads that follow one another for `length` ns.
fn report(length: u64) -> String {
    let mut report: Value = serde_json::from_str(FIO).expect("fio's report");
    let job = &mut report["jobs"][0];
    job["job options"]["iodepth"] = json!("1");
    job["job_runtime"] = json!(length / 1_000_000);
    let read = &mut job["read"];
    let mean = length as f64 / READS as f64;
    let factor = mean / read["lat_ns"]["mean"].as_f64().expect("a mean");
    for kind in ["slat_ns", "clat_ns", "lat_ns"] {
        scale(&mut read[kind], factor);
    }
    let seconds = length as f64 / 1e9;
    read["runtime"] = json!(length / 1_000_000);
    read["iops"] = json!(READS as f64 / seconds);
    let rate = (READS * BYTES) as f64 / seconds;
    read["bw_bytes"] = json!(rate as u64);
    read["bw"] = json!((rate / 1024.0) as u64);
    serde_json::to_string_pretty(&report).expect("plain data")
}

/// Multiplies the latencies of one kind: its moments, percentiles and bins.
fn scale(latency: &mut Value, factor: f64) {
    let scaled = |ns: f64| (ns * factor) as u64;
    for (name, value) in latency.as_object_mut().expect("latencies") {
        match (name.as_str(), value) {
            ("N", _) => {}
            ("bins", Value::Object(bins)) => {
                *bins = std::mem::take(bins)
                    .into_iter()
                    .map(|(ns, count)| (scaled(ns.parse().expect("a bin")).to_string(), count))
                    .collect();
            }
            ("percentile", Value::Object(percentiles)) => {
                for value in percentiles.values_mut() {
                    *value = json!(scaled(value.as_f64().expect("a percentile")));
                }
            }
            ("min" | "max", value) => *value = json!(scaled(value.as_f64().expect("a number"))),
            (_, value) => *value = json!(value.as_f64().expect("a number") * factor),
        }
    }
}

/// Returns the trace of a trial's reads: one after the other, on each disk in turn.
fn requests(trial: &Trial, length: u64) -> Vec<u8> {
    let disks = trial.devices.len();
    let mut writer = TraceWriter::new(disks);
    writer.mark(BEGIN, "begin measure 0");
    let each = length / READS;
    for number in 0..READS {
        let submitted = BEGIN + number * each;
        let arrived = writer.arrived();
        let served = Served {
            disk: number as usize % disks,
            op: Op::Read,
            fua: false,
            sector: number * 7919 % 100_000 * 8,
            sectors: (BYTES / 512) as u32,
            submitted,
            started: submitted,
            ended: submitted + each,
        };
        writer.served(&served, arrived);
    }
    writer.pending().to_vec()
}

/// Returns the closing record of the disks of [`requests`].
fn closing(trial: &Trial, length: u64, trace: &str) -> String {
    let disks = trial.devices.len() as u64;
    let reads = READS / disks;
    let busy = length / READS * reads;
    let device = |index: u64| {
        json!({
            "name": format!("vd{}", char::from(b'a' + index as u8)),
            "reads": reads, "writes": 0, "flushes": 0, "discards": 0,
            "read_bytes": reads * BYTES, "write_bytes": 0,
            "busy_ns": busy, "wait_ns": busy, "service_ns": busy, "depth_ns": busy,
            "followers": 0, "apart": reads - 1, "apart_sectors": (reads - 1) * 4096,
            "model": null,
        })
    };
    json!({
        "schema": 1, "complete": true, "fault": null,
        "virtual_ns": BEGIN + length, "requests": READS,
        "devices": trial.array.devices,
        "phases": [{
            "name": "measure", "begin_ns": BEGIN, "end_ns": BEGIN + length,
            "read_followers": 0, "read_switches": READS - 1,
            "devices": (0..disks).map(device).collect::<Vec<_>>(),
        }],
        "trace_sha256": trace,
    })
    .to_string()
}
