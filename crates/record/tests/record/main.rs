//! Tests records as other programs see them: on disk, in order and after every kind of accident.

mod any_bytes;
mod damaged;
mod extended;
mod fingerprints;
mod full_disk;
mod gathered;
mod killed;
mod merged;
mod resumed;
mod written;

use std::fs;
use std::path::Path;

use disklab_record::manifest::{Fact, Suite};
use disklab_record::{Manifest, Outcome, RecordWriter, Status};
use disklab_units::{Nanos, Seed};

fn manifest(trials: &[&str]) -> Manifest {
    let suite = Suite::new("quick", "question = '''which?'''\n", vec!["policy=pid,devid".into()]);
    let mut manifest = disklab_testkit::manifest(suite, trials.iter().copied());
    manifest.kernels.push(disklab_testkit::kernel("newest", "7.3.2"));
    manifest.tools.push(Fact::new("fio", "fio-3.33"));
    manifest.tools.push(Fact::new("disk library", "1".repeat(64)));
    manifest.inputs.push(Fact::new("lab/devices/disk.toml", "3".repeat(64)));
    manifest.host.push(Fact::new("cpu", "two of them"));
    manifest
}

fn outcome(trial: &str, status: Status) -> Outcome {
    Outcome {
        seed: Seed(0xdead_beef_dead_beef),
        status,
        reason: (status != Status::Ok).then(|| format!("{status} for a test")),
        virtual_ns: Some(Nanos(20_000_000_000)),
        wall_ms: 900,
        ..disklab_testkit::outcome(trial, &[("workload", "rand-4k"), ("array", "hdd-raid1")], 1)
    }
}

/// Runs a trial whose raw output is `fio`.
fn run(writer: &RecordWriter, trial: &str, status: Status, fio: &str) {
    let raw = writer.begin(trial).expect("a folder for raw output");
    fs::write(raw.path().join("fio.json"), fio).expect("raw output");
    writer.finish(raw, outcome(trial, status)).expect("a recorded trial");
}

/// Returns the names of the entries of `folder`, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort_unstable();
    names
}
