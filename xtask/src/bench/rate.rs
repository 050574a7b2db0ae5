//! Requests a wall second through the whole path, beside two limits in the same kind of guest: null_blk with a timer of
//! 50 us, which does what a disk of 50 us must (a request waits, time moves, an interrupt ends it) and nothing else; and
//! null_blk as it is, which ends a request inside its submission, as no disk can.
//!
//! io_uring at depth 1 is held against the first alone: a request that ends inside its submission needs one system call of
//! fio, and one that takes any time needs two, whatever the disk is; with a timer null_blk has half the rate too.
//!
//! fio reads 4 KiB at random, few times and many times; the difference is the requests without the start. The cost of the
//! trace is a few per cent, less than what wall time differs by from one run to the next on a machine that others use too:
//! it is told in processor time, and of the best turn with it and without, for others can only make a turn slower.

use super::guest::Place;
use super::{Figure, median};

const FEW: u64 = 20_000;
const MANY: u64 = 170_000;
/// Of the limits, and with and without the trace: that difference is small, so they are many.
const TURNS: usize = 3;
const TRACED_TURNS: usize = 9;
/// As the disk that it is compared with.
const TIMER: [&str; 2] = ["null_blk.irqmode=2", "null_blk.completion_nsec=50000"];

pub fn run(place: &Place) -> anyhow::Result<Vec<Figure>> {
    // Pinned like a trial's worker: see exec::cpus.
    disklab_exec::cpus::keep_to(disklab_exec::cpus::allowed()[0]);
    let mut figures = Vec::new();
    for (engine, depth) in [("psync", 1), ("libaio", 1), ("libaio", 32), ("io_uring", 1), ("io_uring", 32)] {
        let instant_counts = (engine, depth) != ("io_uring", 1);
        let new = Rates::measure(place, engine, depth)?
            .figures(&format!("{engine}, depth {depth}"), instant_counts);
        // It takes minutes: what is known is told.
        for figure in &new {
            eprintln!("  {}: {}", figure.what, figure.value);
        }
        figures.extend(new);
    }
    Ok(figures)
}

/// Requests a wall second, a turn each.
#[derive(Default)]
struct Rates {
    timer: Vec<f64>,
    instant: Vec<f64>,
    /// Of the same turns as the limits.
    ours: Vec<f64>,
    /// Requests a second of processor time, with the trace and without, in turn: the first one, the other one first, and
    /// so on.
    traced: Vec<f64>,
    untraced: Vec<f64>,
}

impl Rates {
    fn measure(place: &Place, engine: &str, depth: u32) -> anyhow::Result<Self> {
        let rate = |file: &str, parameters: &[&str], trace: bool| -> anyhow::Result<Rate> {
            let time = |reads| -> anyhow::Result<(f64, f64)> {
                let before = processor_time()?;
                let wall = place.run(&fio(engine, depth, file, reads), parameters, trace, &mut |_| ())?;
                Ok((wall.as_secs_f64(), processor_time()? - before))
            };
            let (few, many) = (time(FEW)?, time(MANY)?);
            let requests = (MANY - FEW) as f64;
            Ok(Rate { wall: requests / (many.0 - few.0), processor: requests / (many.1 - few.1) })
        };
        let ours = |trace| rate("/dev/vda", &[], trace);
        let mut rates = Self::default();
        for turn in 0..TRACED_TURNS {
            let (with, without) = if turn % 2 == 0 {
                let with = ours(true)?;
                (with, ours(false)?)
            } else {
                let without = ours(false)?;
                (ours(true)?, without)
            };
            rates.traced.push(with.processor);
            rates.untraced.push(without.processor);
            if turn < TURNS {
                rates.ours.push(with.wall);
                rates.timer.push(rate("/dev/nullb0", &TIMER, false)?.wall);
                rates.instant.push(rate("/dev/nullb0", &[], false)?.wall);
            }
        }
        Ok(rates)
    }

    fn figures(self, name: &str, instant_counts: bool) -> Vec<Figure> {
        let part = |limit: &[f64]| {
            100.0 * median(self.ours.iter().zip(limit).map(|(ours, limit)| ours / limit).collect())
        };
        let (of_timer, of_instant) = (part(&self.timer), part(&self.instant));
        let best = |rates: &[f64]| rates.iter().copied().fold(0.0, f64::max);
        let cost = 100.0 * (1.0 - best(&self.traced) / best(&self.untraced));
        let count = |what: &str, rates: Vec<f64>| {
            Figure::new(format!("{name}: requests a second, {what}"), format!("{:.0}", median(rates)))
        };
        let percent =
            |what: &str, value: f64| Figure::new(format!("{name}: {what}"), format!("{value:.0} %"));
        let barred = |what: &str, value: f64| percent(what, value).at_least(value, 75.0, Some(90.0), " %");
        let instant_name = "of null_blk inside the submission";
        vec![
            count("null_blk, timer of 50 us", self.timer),
            count("null_blk, inside the submission", self.instant),
            count("50 us disk", self.ours),
            barred("of null_blk with a timer", of_timer),
            if instant_counts { barred(instant_name, of_instant) } else { percent(instant_name, of_instant) },
            Figure::new(
                format!("{name}: cost of the trace in processor time (best of {TRACED_TURNS} turns each)"),
                format!("{cost:.1} %"),
            )
            .at_most(cost, 5.0, None, " %"),
        ]
    }
}

/// Requests a second, of two kinds of second.
#[derive(Clone, Copy)]
struct Rate {
    wall: f64,
    processor: f64,
}

/// Seconds of processor time that all ended descendants of this process took: fields 16 and 17 of proc_pid_stat(5).
fn processor_time() -> anyhow::Result<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let fields: Vec<u64> = after_name.split_whitespace().skip(13).take(2).flat_map(str::parse).collect();
    anyhow::ensure!(fields.len() == 2, "/proc/self/stat: {stat:?}");
    Ok(fields.iter().sum::<u64>() as f64 / TICKS)
}

/// `USER_HZ`: of /proc, the same on all machines.
const TICKS: f64 = 100.0;

fn fio(engine: &str, depth: u32, file: &str, reads: u64) -> Vec<String> {
    let words = [
        "fio --clocksource=clock_gettime --thread --disk_util=0 --eta=never --output-format=terse --name=x --size=1G",
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
