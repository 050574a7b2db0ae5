//! Measures the cost of watching this machine's disks: fio on a loop device over memory, which is
//! nearly all processor time, with every request traced, with counts only, and with neither, in
//! turn.

use super::figure::{Figure, median};
use anyhow::{Context, ensure};
use disklab_block_devices::disk::Disk;
use disklab_block_devices::watch::{Watch, WatchTrace, instance_name};
use disklab_protocol::Mark;
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_runner::account;
use disklab_trace::find;
use disklab_units::Bytes;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

const TURNS: usize = 31;
const MIB: u64 = 512;
/// Largest additional cost of a request, in per cent. At depth 32 a request takes some 8 us of a
/// processor here.
const MOST: f64 = 30.0;

#[derive(Clone, Copy, PartialEq)]
enum Watched {
    No,
    Counted,
    Traced,
}

pub fn run() -> anyhow::Result<Vec<Figure>> {
    if !rustix::process::geteuid().is_root() {
        return Ok(vec![Figure::new("watching this machine's disks", "skipped: only root can")]);
    }
    let image = tempfile::NamedTempFile::new_in("/dev/shm")?;
    let attached = Attached::filled(image.path())?;
    let mut figures = Vec::new();
    for depth in [1, 32] {
        figures.extend(at_depth(&attached, depth)?);
    }
    figures.push(account(&attached)?);
    Ok(figures)
}

fn at_depth(attached: &Attached, depth: u32) -> anyhow::Result<Vec<Figure>> {
    let (mut alone, mut counted, mut traced) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TURNS {
        alone.push(iops(attached, depth, Watched::No)?);
        counted.push(iops(attached, depth, Watched::Counted)?);
        traced.push(iops(attached, depth, Watched::Traced)?);
    }
    // Neighbours in time are compared.
    let cost = |with: &[f64]| {
        let each = alone.iter().zip(with).map(|(alone, with)| (alone / with - 1.0) * 100.0);
        let mut costs: Vec<f64> = each.collect();
        costs.sort_by(f64::total_cmp);
        let [low, middle, high] = [1, 2, 3].map(|quarter| costs[TURNS * quarter / 4]);
        (middle, format!("{middle:.1} (half of the turns: {low:.1} to {high:.1})"))
    };
    let ((_, counting), (percent, tracing)) = (cost(&counted), cost(&traced));
    let what =
        |what: &str| format!("loop device in memory, 4 KiB random reads, depth {depth}: {what}");
    Ok(vec![
        Figure::number(what("requests a second, not watched"), median(&alone), 0),
        Figure::new(what("time of a request more where disks are counted, %"), counting),
        Figure::new(what("where requests are traced, %"), tracing)
            .at_most(percent, MOST, None, " %"),
    ])
}

/// Measures the work after a trial: converting pages to a trace.
fn account(attached: &Attached) -> anyhow::Result<Figure> {
    let folder = tempfile::tempdir()?;
    let watch = Watch::start(folder.path(), &[attached.disk()?], Some(&name()))?;
    watch.mark(Mark::begin(MEASURED_PHASE, 0)).map_err(anyhow::Error::msg)?;
    fio(&attached.0, &["--rw=randread", "--bs=4k", "--iodepth=32", "--runtime=5", "--time_based"])?;
    watch.mark(Mark::End).map_err(anyhow::Error::msg)?;
    watch.end()?;
    let begun = Instant::now();
    let remarks =
        account::write(folder.path(), &["loop"], false, false).map_err(anyhow::Error::msg)?;
    let took = begun.elapsed().as_secs_f64();
    ensure!(remarks.is_empty(), "bench watch: the trace has faults: {remarks:?}");
    let trace =
        disklab_trace::open(&find(folder.path()).context("bench watch: no trace was written")?)?;
    let rate = trace.count() as f64 / took;
    Ok(Figure::number("requests a second that become a trace after a trial", rate, 0))
}

fn iops(attached: &Attached, depth: u32, watched: Watched) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    let name = name();
    let instance = (watched == Watched::Traced).then_some(name.as_str());
    let watch = match watched {
        Watched::No => None,
        _ => Some(Watch::start(folder.path(), &[attached.disk()?], instance)?),
    };
    if let Some(watch) = &watch {
        watch.mark(Mark::begin(MEASURED_PHASE, 0)).map_err(anyhow::Error::msg)?;
    }
    let depth = format!("--iodepth={depth}");
    let report =
        fio(&attached.0, &["--rw=randread", "--bs=4k", &depth, "--runtime=500ms", "--time_based"])?;
    if let Some(watch) = watch {
        watch.mark(Mark::End).map_err(anyhow::Error::msg)?;
        let trace = watch.end()?.trace;
        ensure!(
            !matches!(trace, WatchTrace::Failed(_)),
            "bench watch: the kernel's trace cannot be read: {trace:?}"
        );
    }
    report["jobs"][0]["read"]["iops"]
        .as_f64()
        .context("bench watch: fio's report has no IOPS of reads")
}

fn name() -> String {
    instance_name(std::process::id())
}

fn fio(path: &str, arguments: &[&str]) -> anyhow::Result<Value> {
    let run = Command::new("fio")
        .args(["--name=job", "--direct=1", "--ioengine=libaio", "--output-format=json"])
        .arg(format!("--filename={path}"))
        .args(arguments)
        .output()?;
    ensure!(run.status.success(), "fio failed: {}", String::from_utf8_lossy(&run.stderr));
    Ok(serde_json::from_slice(&run.stdout)?)
}

/// A loop device, detached on drop.
pub struct Attached(pub String);

impl Attached {
    /// Attaches a new file, and fills it.
    pub fn filled(image: &Path) -> anyhow::Result<Self> {
        std::fs::OpenOptions::new().write(true).open(image)?.set_len(MIB << 20)?;
        let attached = Self::new(image)?;
        fio(&attached.0, &["--rw=write", "--bs=1m"])?;
        Ok(attached)
    }

    fn new(image: &Path) -> anyhow::Result<Self> {
        let attached = Command::new("losetup").args(["--find", "--show"]).arg(image).output()?;
        ensure!(
            attached.status.success(),
            "losetup failed: {}",
            String::from_utf8_lossy(&attached.stderr)
        );
        Ok(Self(String::from_utf8(attached.stdout)?.trim().to_owned()))
    }

    pub fn disk(&self) -> anyhow::Result<Disk> {
        let name = self.0.trim_start_matches("/dev/").to_owned();
        let number = std::fs::read_to_string(format!("/sys/class/block/{name}/dev"))?;
        let (major, minor) = number.trim().split_once(':').with_context(|| {
            format!("{name}: expected MAJOR:MINOR in sysfs, found `{}`", number.trim())
        })?;
        Ok(Disk {
            named: PathBuf::from(&self.0),
            number: (major.parse()?, minor.parse()?),
            bytes: Bytes(MIB << 20),
            rotational: false,
            model: None,
            serial: None,
            name,
        })
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["--detach", &self.0]).status();
    }
}
