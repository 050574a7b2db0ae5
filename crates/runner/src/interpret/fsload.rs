//! Threads that work on many files: their numbers, and their promises before a power cut.

use super::evidence::raw_file;
use crate::describe::fsload::seed;
use disklab_config::Trial;
use disklab_config::suite::metric::{LOOPS, OPS};
use disklab_fsload::promises::{Promise, promised};
use disklab_fsload::report::LoadReport;
use disklab_protocol::names;
use disklab_results::measure::{Measure, Measures};
use std::path::Path;

fn report(folder: &Path) -> Result<LoadReport, String> {
    let text =
        raw_file(folder, names::FSLOAD, || format!("fsload wrote no report ({})", names::FSLOAD))?;
    serde_json::from_slice(&text)
        .map_err(|e| format!("cannot parse fsload's report, {}: {e}", names::FSLOAD))
}

/// Returns operations per second, of all and of each kind, their latencies, and loops per second of
/// each kind of threads.
pub fn measures(folder: &Path) -> Result<Measures, String> {
    let report = report(folder)?;
    let rate = |count| Measure::rate(report.a_second(count), "1/s");
    let mut measures = Measures::new();
    measures.insert(OPS.to_owned(), Measure::rate(report.rate(), "1/s"));
    for threads in &report.threads {
        measures.insert(format!("{}{LOOPS}", threads.name), rate(threads.loops));
    }
    for each in &report.operations {
        measures.insert(format!("{} {OPS}", each.name), rate(each.count));
        for (what, ns) in [
            ("mean", each.mean_ns),
            ("p50", each.p50_ns as f64),
            ("p99", each.p99_ns as f64),
            ("max", each.max_ns as f64),
        ] {
            measures.insert(format!("{} {what}", each.name), Measure::time(ns));
        }
    }
    Ok(measures)
}

/// Returns the promises to the load before the note with this number. The list is empty for other
/// loads.
pub fn promises(trial: &Trial, folder: &Path, number: u64) -> Result<Vec<Promise>, String> {
    match trial.workload.file_load() {
        Some(load) => Ok(promised(load, seed(trial), &report(folder)?.notes, number)),
        None => Ok(Vec::new()),
    }
}
