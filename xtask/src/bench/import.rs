//! Measures time and memory of `disklab import` for 100 MB of fio's JSON+. For comparison, a reader
//! in Python with json and numpy only takes the latencies of each job from their bins. Also
//! measures how the time of rows with the same name grows with their number.

use super::figure::{Figure, disklab, median, status_kib};
use anyhow::{Context, ensure};
use disklab_units::Bytes;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SIZE: usize = 100_000_000;
const FILES: usize = 50;
const TURNS: usize = 3;

const PYTHON: &str = "
import json, sys, numpy
for name in sys.argv[1:]:
    for job in json.load(open(name))['jobs']:
        bins = job['read']['lat_ns'].get('bins', {})
        ns = numpy.array([int(value) for value in bins])
        counts = numpy.array(list(bins.values()))
        order = numpy.argsort(ns)
        total = numpy.cumsum(counts[order])
        for percent in (50, 99, 99.9):
            ns[order][numpy.searchsorted(total, percent / 100 * total[-1])]
";

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let place = tempfile::tempdir()?;
    let files = write(place.path())?;
    let disklab = disklab()?;
    let has_numpy =
        Command::new("python3").args(["-c", "import numpy"]).stderr(Stdio::null()).status();
    let has_numpy = has_numpy.is_ok_and(|status| status.success());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let out = place.path().join(format!("record-{turn}"));
        let mut import = Command::new(&disklab);
        import.arg("import").arg(place.path().join("results")).arg("--out").arg(&out);
        ours.push(timed(import)?);
        std::fs::remove_dir_all(&out)?;
        if has_numpy {
            let mut python = Command::new("python3");
            python.args(["-c", PYTHON]).args(&files);
            theirs.push(timed(python)?);
        }
    }
    let figures = |name: &str, runs: &[Run]| {
        let seconds = median(&runs.iter().map(|run| run.seconds).collect::<Vec<_>>());
        let peaks = runs.iter().map(|run| run.peak.0 as f64 / f64::from(1 << 20));
        let mib = median(&peaks.collect::<Vec<_>>());
        let what = |unit: &str| format!("100 MB of JSON+ in {FILES} files, {name}, {unit}");
        (
            (Figure::number(what("s"), seconds, 2), seconds),
            (Figure::number(what("MiB"), mib, 0), mib),
        )
    };
    let ((time, seconds), (memory, mib)) = figures("disklab import", &ours);
    let mut all =
        vec![time.at_most(seconds, 1.0, None, " s"), memory.at_most(mib, 300.0, None, " MiB")];
    if theirs.is_empty() {
        let why = "not measured: python3 has no numpy here";
        all.push(Figure::new("the same, json and numpy in Python", why));
    } else {
        let ((time, _), (memory, _)) = figures("json and numpy in Python", &theirs);
        all.extend([time, memory]);
    }
    let fewer = rows_of_one_name(place.path(), ROWS)?;
    let more = rows_of_one_name(place.path(), 10 * ROWS)?;
    let what = "import of 10 times as many rows of one name, times as long";
    let times = more / fewer;
    all.push(Figure::number(what, times, 1).at_most(times, 20.0, None, ""));
    Ok(all)
}

/// The smaller number of rows with the same name.
const ROWS: usize = 3_000;

/// Returns the time of an import in s. The values consist of letters that a trial's name cannot
/// have, so that all rows get the same name and each gets a number.
fn rows_of_one_name(place: &Path, rows: usize) -> anyhow::Result<f64> {
    const LETTERS: [&str; 4] = ["ä", "ö", "ü", "ß"];
    let value = |row: usize| (0..8).map(|at| LETTERS[(row >> (2 * at)) & 3]).collect::<String>();
    let mut table = String::from("workload,iops\n");
    for row in 0..rows {
        let _ = writeln!(table, "{},{}", value(row), row + 1);
    }
    let (table_file, out) = (place.join("rows.csv"), place.join("rows"));
    std::fs::write(&table_file, table)?;
    let mut seconds = Vec::new();
    for _ in 0..TURNS {
        let mut import = Command::new(disklab()?);
        import.arg("import").arg(&table_file).arg("--out").arg(&out);
        seconds.push(timed(import)?.seconds);
        std::fs::remove_dir_all(&out)?;
    }
    Ok(median(&seconds))
}

/// Writes jobs with about as many bins as a minute of random reads has.
fn write(place: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let folder = place.join("results");
    std::fs::create_dir(&folder)?;
    let mut bins = String::new();
    for bin in 0..460_u64 {
        let comma = if bin == 0 { "" } else { "," };
        // fio has 64 buckets an octave, here from 65 us on.
        let ns = (65_536 << (bin / 64)) + (bin % 64) * (1024 << (bin / 64)) + (512 << (bin / 64));
        let _ = write!(bins, "{comma}\n            \"{ns}\" : {}", 1 + bin * 7 % 97);
    }
    let requests: u64 = (0..460_u64).map(|bin| 1 + bin * 7 % 97).sum();
    let job = |name: &str| {
        format!(
            "{{\"jobname\" : \"{name}\",\"job options\" : {{\"iodepth\" : \"1\",\"bs\" : \
             \"4k\"}},\n\"read\" : {{\"iops\" : {requests}.0,\"bw_bytes\" : {bytes},\"io_bytes\" : \
             {bytes},\"total_ios\" : {requests},\"runtime\" : 1000,\n\"lat_ns\" : {{\"min\" : \
             65000,\"max\" : 9000000,\"mean\" : 1000000.0,\"N\" : {requests},\n\"bins\" : \
             {{{bins}}}}}}}}}",
            bytes = requests * 4096
        )
    };
    let each = SIZE / FILES;
    let mut files = Vec::new();
    for file in 0..FILES {
        let mut text = String::from(
            "{\"fio version\" : \"fio-3.36\",\n\"global options\" : {\"direct\" : \
             \"1\"},\n\"jobs\" : [\n",
        );
        let mut number = 0;
        while text.len() < each {
            let comma = if number == 0 { "" } else { ",\n" };
            let _ = write!(text, "{comma}{}", job(&format!("job-{number}")));
            number += 1;
        }
        text.push_str("]}\n");
        let path = folder.join(format!("results-{file:02}.json"));
        std::fs::write(&path, text)?;
        files.push(path);
    }
    Ok(files)
}

struct Run {
    seconds: f64,
    /// Largest memory at any time.
    peak: Bytes,
}

fn timed(mut command: Command) -> anyhow::Result<Run> {
    let start = Instant::now();
    let spawned = command.stdout(Stdio::null()).spawn();
    let mut child = spawned.with_context(|| format!("cannot start {command:?}"))?;
    let mut peak = Bytes(0);
    loop {
        // The kernel keeps the peak, so that only memory of the last ms can be missed.
        peak = peak.max(Bytes::kib(status_kib(&child.id().to_string(), "VmHWM:").unwrap_or(0)));
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "{command:?} ended with {status}");
            return Ok(Run { seconds: start.elapsed().as_secs_f64(), peak });
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}
