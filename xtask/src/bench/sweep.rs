//! Measures how much a cluster costs compared with runs without one, and how fast frames load. Runs
//! python/bench/sweep.py for both, in the Python environment that install/python makes.

use super::figure::{Figure, disklab};
use anyhow::{Context, ensure};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let disklab = disklab()?;
    let made = Command::new(root.join("install/python"))
        .status()
        .context("cannot start install/python")?;
    ensure!(made.success(), "install/python failed; its message is above");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
    let out = Command::new(target.join("python/bin/python"))
        .arg(root.join("python/bench/sweep.py"))
        .env("PYTHONPATH", root.join("python/src"))
        .env("DISKLAB_PROGRAM", &disklab)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start python/bench/sweep.py")?;
    ensure!(out.status.success(), "python/bench/sweep.py failed; its message is above");
    let measured: Value =
        serde_json::from_slice(&out.stdout).context("python/bench/sweep.py printed no JSON")?;
    let value = |name: &str| {
        measured[name]
            .as_f64()
            .with_context(|| format!("python/bench/sweep.py printed no number `{name}`"))
    };
    let figure = |what: &str, name: &str, digits: usize, bar: f64, unit: &str| {
        let value = value(name)?;
        anyhow::Ok(Figure::number(what, value, digits).at_most(value, bar, None, unit))
    };
    let gather = "the same of disklab gather, MiB";
    Ok(vec![
        figure(
            "10,000 empty trials, from the plan to the record, s",
            "empty_seconds",
            1,
            60.0,
            " s",
        )?,
        figure("the driver's memory grew in their second half, MiB", "grown_mib", 0, 16.0, " MiB")?,
        figure(gather, "gather_grown_mib", 0, 16.0, " MiB")?,
        Figure::new("a trial without Ray, s", format!("{:.1}", value("trial_seconds")?)),
        figure("overhead of Ray, %", "overhead_percent", 1, 5.0, " %")?,
        figure("a million rows of parquet in pandas, s", "parquet_seconds", 2, 2.0, " s")?,
    ])
}
