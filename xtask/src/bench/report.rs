//! Measures the time of `disklab report` for 1,000 trials, each with a histogram of 300 bins and a
//! trace of 2,000 requests: 50 groups of five policies, four seeds. Also measures the size of the
//! page, and the time in which chromium opens it.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, ensure};

use super::figure::{Figure, disklab, median};

#[path = "../../../crates/report/tests/report/synthetic.rs"]
mod synthetic;

const TURNS: usize = 3;

const AXES: [(&str, &[&str]); 4] = [
    ("array", &["single-hdd", "hdd-raid1", "hdd-8-mixed", "ssd-raid1", "ssd-raid10"]),
    ("background", &["none", "defrag"]),
    (
        "workload",
        &[
            "randread-4k-qd1",
            "randread-4k-qd4",
            "randread-4k-qd8",
            "randread-4k-qd32",
            "seqread-1m-qd16",
        ],
    ),
    ("policy", &["pid", "round-robin", "latency", "latency-rr", "queue"]),
];

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    let record = place.path().join("large");
    synthetic::write_record(&record, &AXES, 4, 4)?;
    let disklab = disklab()?;
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
        ensure!(status.success(), "disklab report ended with {status}");
        turns.push(start.elapsed().as_secs_f64());
    }
    let seconds = median(&turns);
    let megabytes = std::fs::metadata(&page)?.len() as f64 / 1e6;
    let opening = "its page opened in chromium, s";
    let opened = match opened(&page) {
        Ok(seconds) => Figure::number(opening, seconds, 2).at_most(seconds, 2.0, None, " s"),
        Err(why) => Figure::new(opening, format!("not measured: {why:#}")),
    };
    Ok(vec![
        Figure::number("report of 1000 trials in 50 groups, s", seconds, 2)
            .at_most(seconds, 3.0, None, " s"),
        Figure::number("its page, MB", megabytes, 2).at_most(megabytes, 3.0, None, " MB"),
        opened,
    ])
}

/// Returns the time until the page is loaded and drawn, by the clock of the script that opens it.
fn opened(page: &Path) -> anyhow::Result<f64> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("crates/report/tests/browser");
    let target = std::env::current_exe()?;
    let modules = target
        .ancestors()
        .nth(2)
        .context("bench report: this program is in no target folder; run it by cargo xtask")?
        .join("browser-tests/node_modules");
    ensure!(
        modules.is_dir(),
        "{} does not exist; this makes it: cargo test -p disklab --test cli in_a_browser",
        modules.display()
    );
    let turn = || -> anyhow::Result<f64> {
        let done = Command::new("node")
            .arg(home.join("opening.js"))
            .arg(page)
            .env("NODE_PATH", &modules)
            .stdin(Stdio::null())
            .output()
            .context("cannot start node; install nodejs")?;
        let said = String::from_utf8_lossy(&done.stdout);
        ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr).trim());
        said.trim()
            .parse()
            .with_context(|| format!("report.test.js: expected seconds, found `{}`", said.trim()))
    };
    let turns = (0..TURNS).map(|_| turn()).collect::<Result<Vec<_>, _>>()?;
    Ok(median(&turns))
}
