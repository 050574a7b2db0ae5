//! Measures the cost of disklab itself on real disks: fio alone on a loop device over memory, and
//! the same fio with the same arguments as a trial of `run --on host`, in turn. Each turn has fio
//! alone twice; the difference of these two is noise.

use super::figure::{Figure, median};
use super::watch::Attached;
use anyhow::{Context, ensure};
use disklab_block_devices::{Disk, allow};
use disklab_protocol::names;
use disklab_protocol::step::Step;
use disklab_record::Record;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const TURNS: usize = 15;
const SUITE: &str = r#"
question = "Is fio under disklab what fio is alone?"
seeds = 1
memory = "256 MiB"
runtime = { rotational = "1 s", solid_state = "1 s" }
[axes]
array = ["single-constant"]
workload = ["smoke-randread"]
"#;
const P99: &str = "99.000000";

/// IOPS, and p99 in ns.
type Numbers = [f64; 2];

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let what = "fio as a trial on this machine against fio alone";
    if !rustix::process::geteuid().is_root() {
        return Ok(vec![Figure::new(what, "skipped: only root can")]);
    }
    let Some(program) = program() else {
        return Ok(vec![Figure::new(
            what,
            "skipped: no target/release/disklab; build the workspace with --release",
        )]);
    };
    let image = tempfile::NamedTempFile::new_in("/dev/shm")?;
    let attached = Attached::filled(image.path())?;
    // All of the device was written, which a trial cannot know: bare flash is refused, since
    // unwritten blocks are answered from the map. The scheduler is the trial's, since fio alone
    // would have another.
    let queue = Path::new("/sys/block").join(attached.disk()?.name).join("queue");
    for (name, value) in [("rotational", "1"), ("scheduler", "mq-deadline")] {
        let path = queue.join(name);
        fs::write(&path, value).with_context(|| format!("cannot write {}", path.display()))?;
    }
    // The folder is not in /tmp, which fio alone does not see.
    let here = tempfile::tempdir_in("/dev/shm")?;
    fs::set_permissions(here.path(), fs::Permissions::from_mode(0o700))?;
    fs::write(here.path().join("bench.toml"), SUITE)?;
    fs::write(
        here.path().join("devices.toml"),
        allow::lines(&Disk::find(Path::new(&attached.0))?),
    )?;
    let mut figures = Vec::new();
    for (trace, word) in [(true, "requests traced"), (false, "not traced")] {
        figures.extend(against_alone(&program, here.path(), &attached, (trace, word))?);
    }
    Ok(figures)
}

fn against_alone(
    program: &Path,
    here: &Path,
    attached: &Attached,
    (trace, word): (bool, &str),
) -> anyhow::Result<Vec<Figure>> {
    let (mut first, mut second, mut trials) = (Vec::new(), Vec::new(), Vec::new());
    let (command, _) = as_a_trial(program, here, &here.join(word), attached, trace)?;
    for turn in 0..TURNS {
        // The first run of a turn may differ, so that each run is first, in the middle and last
        // equally often.
        for place in 0..3 {
            match (turn + place) % 3 {
                0 => {
                    let record = here.join(format!("{word} {turn}"));
                    trials.push(as_a_trial(program, here, &record, attached, trace)?.1);
                }
                1 => first.push(alone(&command, here)?),
                _ => second.push(alone(&command, here)?),
            }
        }
    }
    let mut figures = Vec::new();
    for (number, name) in ["IOPS", "p99"].into_iter().enumerate() {
        let percents = |one: &[Numbers], other: &[Numbers]| -> Vec<f64> {
            let each = one
                .iter()
                .zip(other)
                .map(|(one, other)| (one[number] / other[number] - 1.0) * 100.0);
            let mut each: Vec<f64> = each.collect();
            each.sort_by(f64::total_cmp);
            each
        };
        let quarters = |all: &[f64]| [1, 3].map(|quarter| all[TURNS * quarter / 4]);
        let noise = percents(&second, &first);
        let [low, high] = quarters(&noise);
        let spread = low.abs().max(high.abs());
        let differ = percents(&trials, &first);
        let [least, most] = quarters(&differ);
        let middle = median(&differ);
        figures.push(
            Figure::new(
                format!("fio as a trial, {word}, against fio alone, {name}, % more"),
                format!(
                    "{middle:.1} (half of the turns: {least:.1} to {most:.1}; fio alone twice: \
                    {low:.1} to {high:.1})"
                ),
            )
            .at_most(
                middle.abs(),
                spread.ceil().max(2.0),
                None,
                " %, as fio alone differs from \
                itself",
            ),
        );
    }
    Ok(figures)
}

/// Runs fio as a trial, and returns its command too.
fn as_a_trial(
    program: &Path,
    here: &Path,
    record: &Path,
    attached: &Attached,
    trace: bool,
) -> anyhow::Result<(Vec<String>, Numbers)> {
    let mut command = Command::new(program);
    command.args([
        "run",
        "bench.toml",
        "--on",
        "host",
        "--rest",
        "0 s",
        "--warm-up",
        "0 s",
        "--no-pairs",
    ]);
    command.args(["--allow", "devices.toml", "--devices", &attached.0, "--out"]).arg(record);
    command.args((!trace).then_some("--no-trace"));
    let run = command.current_dir(here).env("DISKLAB_STATE", here.join("state")).output()?;
    ensure!(run.status.success(), "disklab run failed: {}", String::from_utf8_lossy(&run.stderr));
    let record = Record::open(record)?;
    let outcome = record.lines().first().context("bench host: the record has no trial")?;
    let raw = record.raw(outcome).context("bench host: the trial has no raw output")?;
    let steps = Step::read_all(&fs::read(raw.join(names::STEPS))?);
    let measured = steps.into_iter().find_map(|step| match step {
        Step::Program { step, end } if step == "measure" => Some(end.command),
        _ => None,
    });
    Ok((
        measured.context("bench host: the trial has no step `measure`")?,
        numbers(&raw.join(names::FIO))?,
    ))
}

/// Runs fio alone with a /tmp in memory, as trials have. fio polls a file there,
/// /tmp/fio-dump-status. On another /tmp it makes about a tenth fewer IOPS here, which would look
/// like a merit of trials.
fn alone(command: &[String], here: &Path) -> anyhow::Result<Numbers> {
    let report = here.join("alone.json");
    let output = format!("--output={}", report.display());
    let words =
        command.iter().map(|word| if word.starts_with("--output=") { &output } else { word });
    let run = Command::new("unshare")
        .args(["--mount", "sh", "-c", "mount -t tmpfs tmpfs /tmp && exec \"$@\"", "sh"])
        .args(words)
        .output()?;
    ensure!(run.status.success(), "fio failed: {}", String::from_utf8_lossy(&run.stderr));
    numbers(&report)
}

fn numbers(report: &Path) -> anyhow::Result<Numbers> {
    let numbers: Value = serde_json::from_slice(&fs::read(report)?)?;
    let read = &numbers["jobs"][0]["read"];
    let p99 = read["lat_ns"]["percentile"][P99]
        .as_f64()
        .with_context(|| format!("{}: no p99 of reads", report.display()))?;
    Ok([
        read["iops"].as_f64().with_context(|| format!("{}: no IOPS of reads", report.display()))?,
        p99,
    ])
}

/// Finds the program in the profile of this bench, for speed.
fn program() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/disklab");
    path.is_file().then_some(path)
}
