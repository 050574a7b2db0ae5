//! `cargo xtask fuzz [SECONDS]`: runs libFuzzer on each parser in `fuzz/`, in SECONDS for all of
//! them together.
//!
//! The stable compiler suffices: coverage is a pass of LLVM, and no sanitizer is used.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

const DEFAULT_SECONDS: u64 = 60;
/// A parser that takes long for short input is wrong too.
const LONGEST_INPUT: u64 = 1 << 16;
/// The flags that cargo-fuzz sets.
const COVERAGE: [&str; 6] = [
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "--cfg=fuzzing",
];
const TARGET: &str = "x86_64-unknown-linux-gnu";

pub fn run(seconds: Option<&str>) -> anyhow::Result<()> {
    let seconds: u64 = seconds
        .map_or(Ok(DEFAULT_SECONDS), str::parse)
        .context("expected a number of seconds: cargo xtask fuzz [SECONDS]")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let built = root.join("target/fuzz");
    let status = Command::new("cargo")
        .args(["build", "--release", "--bins", "--target", TARGET, "--manifest-path"])
        .arg(root.join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(&built)
        .env("RUSTFLAGS", COVERAGE.join(" "))
        .status()
        .context("cannot start cargo")?;
    if !status.success() {
        bail!("the fuzz targets do not build; the compiler's message is above");
    }
    let targets = targets(&root.join("fuzz/src/bin"))?;
    let each = (seconds / targets.len().max(1) as u64).max(1);
    for target in targets {
        fuzz(&target, &root, &built, each)?;
    }
    Ok(())
}

fn targets(folder: &Path) -> anyhow::Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter_map(|entry| Some(entry.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort_unstable();
    Ok(names)
}

/// Fuzzes a target. It begins with the files of the tests, and continues from the findings of
/// earlier runs.
fn fuzz(target: &str, root: &Path, built: &Path, seconds: u64) -> anyhow::Result<()> {
    let corpus = built.join("corpus").join(target);
    let artifacts = built.join("artifacts");
    for folder in [&corpus, &artifacts] {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut samples = vec![
        root.join("docs/results/published"),
        root.join("lab/suites"),
        root.join("fuzz/seeds"),
        root.join("crates/disklab/src/array/draft"),
    ];
    for data in ["crates/results/tests/data", "crates/foreign/tests/data"] {
        samples.extend(folders(&root.join(data)));
    }
    let run = Command::new(built.join(TARGET).join("release").join(target))
        .arg(&corpus)
        .args(samples)
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LONGEST_INPUT}"))
        .arg(format!("-artifact_prefix={}/{target}-", artifacts.display()))
        .args(["-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1", "-verbosity=0"])
        .output()
        .with_context(|| format!("cannot start the fuzz target {target}"))?;
    let said = String::from_utf8_lossy(&run.stderr);
    if !run.status.success() {
        let from = said.find("panicked at").or_else(|| said.find("ERROR")).unwrap_or(0);
        bail!("{target} failed: {}\nthe input is in {}", &said[from..], artifacts.display());
    }
    let tried = said.lines().find_map(|line| line.strip_prefix("stat::number_of_executed_units:"));
    println!("{target}: {} inputs in {seconds} s, nothing found", tried.map_or("?", str::trim));
    Ok(())
}

/// Returns `folder` and all folders below it.
fn folders(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_owned()];
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    for below in entries.filter(|path| path.is_dir()) {
        all.extend(folders(&below));
    }
    all
}
