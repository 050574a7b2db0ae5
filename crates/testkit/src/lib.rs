//! Helps tests: printed reasons for skips, builders of records and outcomes, and checks of
//! docs/FORMAT.md.

pub mod format;

use std::fmt::Display;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use disklab_protocol::digest::sha256_hex;
use disklab_record::manifest::{Kernel, Suite};
use disklab_record::outcome::Cell;
use disklab_record::{Chain, Manifest, Outcome, Record, Status};
use disklab_trace::{Served, TraceWriter};
use disklab_units::Seed;

/// The variable that forbids skipping tests that only root can run.
pub const NEED_ROOT: &str = "DISKLAB_NEED_ROOT";

/// Prints the reason for a skip to stderr itself, because the output of a passing test is not
/// shown.
pub fn skipped(why: impl Display) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Prints the reason for skipping a test that root can run on any recent Linux with the programs
/// that `install/needs test` installs.
///
/// # Panics
/// Panics if [`NEED_ROOT`] is set.
pub fn skipped_without_root(why: impl Display) {
    assert!(std::env::var_os(NEED_ROOT).is_none(), "{NEED_ROOT} is set, and here {why}");
    skipped(why);
}

/// Returns the cell with these values, by axis.
pub fn cell(values: &[(&str, &str)]) -> Cell {
    Cell(values.iter().map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned())).collect())
}

/// Returns the outcome of a trial that is ok and has no numbers. Its seed is the index of its seed.
pub fn outcome(trial: impl Into<String>, values: &[(&str, &str)], seed_index: u32) -> Outcome {
    let seed = Seed(u64::from(seed_index));
    Outcome::new(trial.into(), cell(values), seed_index, seed, Status::Ok)
}

/// Returns a suite whose text needs no lab.
pub fn suite(name: &str) -> Suite {
    Suite::new(name, "question = '''which?'''\n", Vec::new())
}

/// Returns the manifest of a run of these trials, without kernels, tools and inputs.
pub fn manifest<Id: Into<String>>(suite: Suite, trials: impl IntoIterator<Item = Id>) -> Manifest {
    let trials = trials.into_iter().map(Into::into).collect();
    Manifest::new("0.1.0", "2026-11-21T21:00:00Z", suite, trials)
}

/// Returns a kernel of this name and version, with made-up digests.
pub fn kernel(name: &str, version: &str) -> Kernel {
    Kernel {
        name: name.to_owned(),
        version: version.to_owned(),
        key: format!("{version}-abc"),
        sha256: "1".repeat(64),
        config_sha256: "2".repeat(64),
        source: "a package".to_owned(),
        revision: String::new(),
        compiler: "a compiler".to_owned(),
        btrfs: "policies".to_owned(),
    }
}

/// Makes a record with the lines of these trials and no raw output, in a new folder.
///
/// # Panics
/// Panics if the folder exists, or cannot be written to.
pub fn record(
    folder: &Path,
    manifest: &Manifest,
    outcomes: impl IntoIterator<Item = Outcome>,
) -> Record {
    let writer = Record::create_at(folder, manifest).expect("a record");
    for outcome in outcomes {
        writer.note(outcome).expect("a recorded trial");
    }
    Record::open(folder).expect("a record")
}

/// Writes the digests of a record again, after a test has changed its manifest or lines by hand.
///
/// # Panics
/// Panics if there is no record, or it cannot be written to.
pub fn reseal(folder: &Path) {
    let path = folder.join("manifest.toml");
    let text = fs::read_to_string(&path).expect("a manifest");
    let (_, below) = text.split_once('\n').expect("lines");
    let digest = sha256_hex(below.as_bytes());
    fs::write(&path, format!("digest = \"{digest}\"\n{below}")).expect("written");
    let path = folder.join("trials.jsonl");
    let text = fs::read_to_string(&path).expect("lines");
    let mut chain = Chain::new(true);
    let bare = |line: &str| match line.rsplit_once(",\"chain\":") {
        Some((members, _)) => format!("{members}}}"),
        None => line.to_owned(),
    };
    let lines = text.lines().map(|line| chain.seal(bare(line)));
    fs::write(&path, lines.map(|line| line + "\n").collect::<String>()).expect("written");
    let last = chain.last().expect("a chain with digests").to_text().expect("plain data");
    fs::write(folder.join("trials.last"), last).expect("written");
}

/// The closing record of a trial on two disks.
pub const CLOSING: &str = concat!(
    r#"{"schema":1,"complete":true,"fault":null,"virtual_ns":9,"requests":2,"#,
    r#""devices":["nas-4tb","nas-4tb"],"phases":[{"name":"measure","begin_ns":1000,"#,
    r#""end_ns":9000,"read_followers":4,"read_switches":1,"#,
    r#""devices":[{"name":"vda","reads":3,"writes":1,"#,
    r#""flushes":1,"discards":0,"read_bytes":12288,"write_bytes":4096,"busy_ns":6000,"#,
    r#""wait_ns":50000,"service_ns":4000,"depth_ns":48000,"followers":4,"apart":3,"#,
    r#""apart_sectors":4096,"model":{"seeks":2,"cache":{"hits":1,"misses":0}}},"#,
    r#"{"name":"vdb","reads":1,"writes":0,"flushes":0,"discards":0,"#,
    r#""read_bytes":4096,"write_bytes":0,"busy_ns":2000,"wait_ns":2000,"service_ns":2000,"#,
    r#""depth_ns":2000,"model":null}]}],"trace_sha256":null}"#
);

/// Returns a trace of two requests, the second of which begins at `sector`.
pub fn requests(sector: u64) -> Vec<u8> {
    let mut writer = TraceWriter::new(2);
    writer.mark(5, "begin measure 0");
    for (number, sector) in [64, sector].into_iter().enumerate() {
        let submitted = 10 + number as u64 * 100;
        let arrived = writer.arrived();
        let served = Served {
            disk: number,
            op: disklab_disks::Op::Read,
            fua: false,
            sector,
            sectors: 8,
            submitted,
            started: submitted + 1,
            ended: submitted + 90,
        };
        writer.served(&served, arrived);
    }
    writer.pending().to_vec()
}
