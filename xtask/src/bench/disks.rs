//! Measures the disk models alone: requests per second of processor time with 32 in flight, and the
//! memory of a disk. Wall time would depend on the other load of this machine.

use super::figure::Figure;
use anyhow::Context;
use disklab_config::Lab;
use disklab_config::device::{Device, Model, Preconditioned};
use disklab_disks::{Disk, Op, Request, build};
use disklab_units::{Nanos, Random, Seed};
use rustix::time::{ClockId, clock_gettime};

const REQUESTS: u32 = 2_000_000;
const DEPTH: u32 = 32;
const BLOCK: u64 = 4096;
const SSD: &str = "sata-ssd-1tb";

/// A measurement: name, device, operation, whether the SSD was written at random before, least
/// millions per second, largest MiB.
type Case = (&'static str, &'static str, Op, bool, Option<f64>, Option<f64>);

const CASES: [Case; 7] = [
    ("12 TB hard disk, reads", "nas-12tb", Op::Read, false, Some(1.0), Some(100.0)),
    ("12 TB hard disk, writes", "nas-12tb", Op::Write, false, Some(1.0), Some(100.0)),
    ("1 TB SATA SSD, reads", SSD, Op::Read, false, Some(2.0), Some(1024.0)),
    ("1 TB SATA SSD, writes", SSD, Op::Write, false, Some(1.0), Some(1024.0)),
    ("1 TB SATA SSD in its steady state, writes", SSD, Op::Write, true, Some(1.0), Some(1024.0)),
    ("constant, reads", "constant-50us", Op::Read, false, None, None),
    ("constant, writes", "constant-50us", Op::Write, false, None, None),
];

pub fn run() -> anyhow::Result<Vec<Figure>> {
    let share = disklab_kernels::Share::find()?;
    let lab = Lab::load(&share.lab())?;
    let mut figures = Vec::new();
    for (words, name, op, steady, rate_bar, memory_bar) in CASES {
        let mut device = lab
            .devices
            .get(name)
            .with_context(|| format!("the lab has no device `{name}`"))?
            .clone();
        if let (Model::Ssd(ssd), true) = (&mut device.model, steady) {
            ssd.preconditioned = Preconditioned::AtRandom;
        }
        let before = resident_mib();
        let (rate, after) = random_requests(&device, op);
        let millions = rate / 1e6;
        let figure =
            Figure::number(format!("{words}, million a second of processor time"), millions, 2);
        figures.push(match rate_bar {
            Some(bar) => figure.at_least(millions, bar, None, ""),
            None => figure,
        });
        if let Some(bar) = memory_bar {
            let mib = (after - before).max(0.0);
            let figure = Figure::number(format!("{words}, memory, MiB"), mib, 0);
            figures.push(figure.at_most(mib, bar, None, " MiB"));
        }
    }
    Ok(figures)
}

/// Measures the largest map of an SSD: every block of the disk is written by itself, in an
/// irregular order.
pub fn full() -> anyhow::Result<Vec<Figure>> {
    let share = disklab_kernels::Share::find()?;
    let lab = Lab::load(&share.lab())?;
    let device = lab.devices.get(SSD).with_context(|| format!("the lab has no device `{SSD}`"))?;
    let mut random = Random::new(Seed(1));
    let mut order: Vec<u32> = (0..u32::try_from(device.bytes.0 / BLOCK)?).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, random.below(last as u64 + 1) as usize);
    }
    let before = resident_mib();
    let (rate, after) = requests(device, Op::Write, order.into_iter().map(u64::from));
    Ok(vec![
        Figure::number("1 TB SATA SSD, each block written, million a second", rate / 1e6, 2),
        Figure::number("1 TB SATA SSD, each block written, memory, MiB", after - before, 0)
            .at_most(after - before, 1024.0, None, " MiB"),
    ])
}

fn random_requests(device: &Device, op: Op) -> (f64, f64) {
    let mut random = Random::new(Seed(1));
    let blocks = device.bytes.0 / BLOCK;
    requests(device, op, (0..REQUESTS).map(|_| random.below(blocks)))
}

/// Serves requests for these blocks as the guest's driver does. Returns their number per second of
/// processor time, and the MiB of this process while the disk still exists.
fn requests(device: &Device, op: Op, mut blocks: impl ExactSizeIterator<Item = u64>) -> (f64, f64) {
    let count = blocks.len() as f64;
    let mut disk: Box<dyn Disk> = build(&device.model, device.bytes, Seed(1));
    let mut next = |id| {
        blocks.next().map(|block| Request {
            id,
            op,
            sector: block * (BLOCK / 512),
            sectors: 8,
            fua: false,
        })
    };
    let start = clock_gettime(ClockId::ThreadCPUTime);
    for request in (0..DEPTH).map_while(&mut next) {
        disk.submit(Nanos::ZERO, request);
    }
    let mut done = Vec::with_capacity(DEPTH as usize);
    while let Some(now) = disk.next_event() {
        disk.advance(now, &mut done);
        for completion in done.drain(..) {
            if let Some(request) = next(completion.id) {
                disk.submit(now, request);
            }
        }
    }
    let end = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = (end.tv_sec - start.tv_sec) as f64 + (end.tv_nsec - start.tv_nsec) as f64 / 1e9;
    let resident = resident_mib();
    drop(disk);
    (count / seconds, resident)
}

/// Returns the resident memory of this process, or 0 if the system does not report it.
fn resident_mib() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: f64 =
        statm.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0.0);
    pages * rustix::param::page_size() as f64 / f64::from(1 << 20)
}
