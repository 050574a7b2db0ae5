//! How long `disklab report` takes for 1,000 trials, each with a histogram of 300 bins: 50 groups of five policies, four
//! seeds; and how large the page is.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::ensure;

use super::{Figure, median};

#[path = "../../../crates/report/tests/report/synthetic.rs"]
mod synthetic;

const TURNS: usize = 3;

const AXES: [(&str, &[&str]); 4] = [
    ("array", &["single-hdd", "hdd-raid1", "hdd-8-mixed", "ssd-raid1", "ssd-raid10"]),
    ("background", &["none", "defrag"]),
    (
        "workload",
        &["randread-4k-qd1", "randread-4k-qd4", "randread-4k-qd8", "randread-4k-qd32", "seqread-1m-qd16"],
    ),
    ("policy", &["pid", "round-robin", "latency", "latency-rr", "queue"]),
];

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    let record = place.path().join("large");
    synthetic::write_record(&record, &AXES, 4)?;
    let disklab = std::env::current_exe()?.with_file_name("disklab");
    ensure!(disklab.is_file(), "{} is not built: cargo build --release", disklab.display());
    let page = place.path().join("large.html");
    let mut turns = Vec::new();
    for _ in 0..TURNS {
        let start = Instant::now();
        let status = Command::new(&disklab)
            .arg("report")
            .arg(&record)
            .arg("-o")
            .arg(&page)
            .stdout(Stdio::null())
            .status()?;
        ensure!(status.success(), "disklab report: {status}");
        turns.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(turns);
    let megabytes = std::fs::metadata(&page)?.len() as f64 / 1e6;
    Ok(vec![
        Figure::new("report of 1000 trials in 50 groups, s", format!("{seconds:.2}"))
            .at_most(seconds, 3.0, None, " s"),
        Figure::new("its page, MB", format!("{megabytes:.2}")),
    ])
}
