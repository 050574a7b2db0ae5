//! Measures requests per wall second through the whole path, and two limits in the same kind of
//! guest. The first limit is null_blk with a timer of 50 us, which does only the work that a disk
//! of 50 us requires: a request waits, time moves, and an interrupt ends it. The second is null_blk
//! without a timer, which ends a request inside its submission, as no disk can.
//!
//! io_uring at depth 1 is compared with the first limit alone. A request that ends inside its
//! submission needs one system call of fio; a request that takes any time needs two, for every
//! disk. With a timer null_blk has half the rate too.
//!
//! fio reads 4 KiB at random, few times and many times; the difference is the requests without the
//! start. The trace costs a few per cent, less than the difference of guests from run to run on a
//! machine that others use too. Its work in the library and on the host is therefore measured
//! alone, right after each guest, and printed as a share of the time of a request there.

use std::fs::File;
use std::io::Write;

use disklab_disks::Op;
use disklab_runner::cpus::Processors;
use disklab_trace::{PLAIN, Served, TraceWriter, pack};
use disklab_units::{Random, Seed};
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};

use super::figure::{Figure, median};
use super::guest::BenchSetup;

const FEW: u64 = 20_000;
const MANY: u64 = 170_000;
const TURNS: usize = 3;
/// Parameters of null_blk with the service time of the compared disk.
const TIMER: [&str; 2] = ["null_blk.irqmode=2", "null_blk.completion_nsec=50000"];

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    // The bench is pinned like a trial's worker: see crates/runner/src/execute/cpus.rs.
    let processors = Processors::allowed();
    let _kept = processors.keep_to_one();
    let mut figures = Vec::new();
    for (engine, depth) in
        [("psync", 1), ("libaio", 1), ("libaio", 32), ("io_uring", 1), ("io_uring", 32)]
    {
        let instant_counts = (engine, depth) != ("io_uring", 1);
        let new = Rates::measure(place, engine, depth)?
            .figures(&format!("{engine}, depth {depth}"), instant_counts);
        // The bench takes minutes, so that figures are printed as they come.
        for figure in &new {
            eprintln!("  {}: {}", figure.what, figure.value);
        }
        figures.extend(new);
    }
    Ok(figures)
}

/// Requests per wall second, one number for each turn.
#[derive(Default)]
struct Rates {
    timer: Vec<f64>,
    instant: Vec<f64>,
    /// Rates of disklab, in the same turns as the limits.
    ours: Vec<f64>,
    /// Share of the trace in the processor time of these.
    trace: Vec<f64>,
}

impl Rates {
    fn measure(place: &BenchSetup, engine: &str, depth: u32) -> anyhow::Result<Self> {
        let rate = |file: &str, parameters: &[&str], trace: bool| -> anyhow::Result<Rate> {
            let time = |reads| -> anyhow::Result<(f64, f64)> {
                let before = processor_time()?;
                let wall =
                    place.run(&fio(engine, depth, file, reads), parameters, trace, &mut |_| ())?;
                Ok((wall.as_secs_f64(), processor_time()? - before))
            };
            let (few, many) = (time(FEW)?, time(MANY)?);
            let requests = (MANY - FEW) as f64;
            Ok(Rate { wall: requests / (many.0 - few.0), processor: requests / (many.1 - few.1) })
        };
        let mut rates = Self::default();
        for _ in 0..TURNS {
            let ours = rate("/dev/vda", &[], true)?;
            rates.ours.push(ours.wall);
            rates.trace.push(trace_seconds(depth)? * ours.processor);
            rates.timer.push(rate("/dev/nullb0", &TIMER, false)?.wall);
            rates.instant.push(rate("/dev/nullb0", &[], false)?.wall);
        }
        Ok(rates)
    }

    fn figures(&self, name: &str, instant_counts: bool) -> Vec<Figure> {
        let part = |limit: &[f64]| {
            let parts = self.ours.iter().zip(limit).map(|(ours, limit)| ours / limit);
            100.0 * median(&parts.collect::<Vec<_>>())
        };
        let (of_timer, of_instant) = (part(&self.timer), part(&self.instant));
        let cost = 100.0 * median(&self.trace);
        let count = |what: &str, rates: &[f64]| {
            Figure::number(format!("{name}: requests a second, {what}"), median(rates), 0)
        };
        let percent = |what: &str, value: f64| {
            Figure::new(format!("{name}: {what}"), format!("{value:.0} %"))
        };
        let barred =
            |what: &str, value: f64| percent(what, value).at_least(value, 75.0, Some(90.0), " %");
        let instant_name = "of null_blk inside the submission";
        vec![
            count("null_blk, timer of 50 us", &self.timer),
            count("null_blk, inside the submission", &self.instant),
            count("50 us disk", &self.ours),
            barred("of null_blk with a timer", of_timer),
            if instant_counts {
                barred(instant_name, of_instant)
            } else {
                percent(instant_name, of_instant)
            },
            Figure::new(
                format!("{name}: the trace's part of the processor time"),
                format!("{cost:.1} %"),
            )
            .at_most(cost, 5.0, None, " %"),
        ]
    }
}

/// Returns the processor time of the trace of one request: the library writes its entry and the
/// digest of 64 KiB at a time, and the runner compresses all.
fn trace_seconds(depth: u32) -> anyhow::Result<f64> {
    let place = tempfile::tempdir()?;
    let mut random = Random::new(Seed(1));
    let depth = u64::from(depth);
    // A wave has as many requests as are in flight, and takes 50 us.
    let served = |at: u64, sector: u64| Served {
        disk: 0,
        op: Op::Read,
        fua: false,
        sector,
        sectors: 8,
        submitted: at / depth * 50_000,
        started: at / depth * 50_000,
        ended: (at / depth + 1) * 50_000,
    };
    let all: Vec<Served> = (0..MANY).map(|at| served(at, random.below(1 << 18) * 8)).collect();
    let start = clock_gettime(ClockId::ThreadCPUTime);
    let (mut writer, mut digest) = (TraceWriter::new(1), Sha256::new());
    let mut file = File::create(place.path().join(PLAIN))?;
    let mut arrived = writer.arrived();
    for (at, served) in all.iter().enumerate() {
        writer.served(served, arrived);
        if (at as u64 + 1).is_multiple_of(depth) {
            arrived = writer.arrived();
        }
        if writer.pending().len() >= 64 << 10 {
            digest.update(writer.pending());
            file.write_all(writer.pending())?;
            writer.clear();
        }
    }
    digest.update(writer.pending());
    file.write_all(writer.pending())?;
    drop(file);
    std::hint::black_box(digest.finalize());
    pack(place.path())?;
    let end = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = (end.tv_sec - start.tv_sec) as f64 + (end.tv_nsec - start.tv_nsec) as f64 / 1e9;
    Ok(seconds / MANY as f64)
}

/// Requests per second of wall time and of processor time.
#[derive(Clone, Copy)]
struct Rate {
    wall: f64,
    processor: f64,
}

/// Returns the seconds of processor time of all ended descendants of this process: fields 16 and 17
/// of proc_pid_stat(5).
fn processor_time() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields: Vec<u64> =
        after_name.split_whitespace().skip(13).take(2).flat_map(str::parse).collect();
    anyhow::ensure!(
        fields.len() == 2,
        "/proc/self/stat: expected numbers as fields 16 and 17, found {stat:?}"
    );
    Ok(fields.iter().sum::<u64>() as f64 / TICKS)
}

/// `USER_HZ`, which /proc uses on all machines.
const TICKS: f64 = 100.0;

fn fio(engine: &str, depth: u32, file: &str, reads: u64) -> Vec<String> {
    let words = [
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --output-format=terse \
         --name=x --size=1G",
        "--rw=randread --bs=4k --direct=1 --norandommap --randrepeat=0 --randseed=1",
    ];
    let mut command: Vec<String> = words.join(" ").split(' ').map(str::to_owned).collect();
    command.extend([format!("--ioengine={engine}"), format!("--iodepth={depth}")]);
    command.extend([
        format!("--filename={file}"),
        format!("--number_ios={reads}"),
        "--io_size=1T".to_owned(),
    ]);
    command
}
