//! Measures the memory of a guest's process besides the guest's own, for a small and for a large
//! test file.
//!
//! The guest's memory is a file mapped by its process, counted as shared memory. The rest is
//! kernel, library and models.

use super::figure::{Figure, status_kib};
use super::guest::BenchSetup;
use super::start::{run_trials, trials};
use anyhow::Context;
use disklab_units::Bytes;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    let trials = trials(place, "read-policy-quick")?;
    let trial = trials
        .iter()
        .find(|trial| trial.id.contains("hdd-8-mixed+randread-4k-qd32"))
        .context("bench memory: read-policy-quick has no hdd-8-mixed+randread-4k-qd32")?;
    let (mut figures, mut peaks) = (Vec::new(), Vec::new());
    for size in [Bytes::gib(1), Bytes::gib(50)] {
        let mut trial = trial.clone();
        trial
            .workload
            .fio_mut()
            .context("bench memory: the trial's workload is not one of fio")?
            .file_size = size;
        let (done, trial) = (AtomicBool::new(false), std::slice::from_ref(&trial));
        let peak = std::thread::scope(|scope| {
            let peak = scope.spawn(|| watch(&done));
            let result = run_trials(place, trial, 1, &|_| ());
            done.store(true, Ordering::Relaxed);
            result.map(|_| peak.join().unwrap_or_default())
        })?;
        let mib = peak as f64 / 1024.0;
        let what = format!("memory of all processes besides the guest's own, MiB, file of {size}");
        figures.push(Figure::number(what, mib, 0).at_most(mib, 150.0, None, " MiB"));
        peaks.push(mib);
    }
    let ratio = peaks[1] / peaks[0];
    let what = "the same, file of 50 GiB as a multiple of file of 1 GiB";
    figures.push(Figure::number(what, ratio, 2).at_most(ratio, 1.25, None, ""));
    Ok(figures)
}

/// Returns the peak, in KiB, of the memory of this process and its descendants besides shared
/// memory.
fn watch(done: &AtomicBool) -> u64 {
    let mut peak = 0;
    while !done.load(Ordering::Relaxed) {
        peak = peak.max(held());
        std::thread::sleep(Duration::from_millis(20));
    }
    peak
}

fn held() -> u64 {
    let mut family = vec![u64::from(std::process::id())];
    let mut sum = 0;
    while let Some(pid) = family.pop() {
        let kib = |key: &str| status_kib(&pid.to_string(), key).unwrap_or(0);
        sum += kib("RssAnon:") + kib("RssFile:");
        for task in fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            family.extend(children.split_whitespace().filter_map(|pid| pid.parse::<u64>().ok()));
        }
    }
    sum
}
