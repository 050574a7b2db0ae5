//! How long trials will take here, roughly: for a plan, before anything has run.
//!
//! A guest handles so many requests a wall second, whatever its disks; what is unknown is how many requests a disk
//! will serve, and the order of magnitude of that is in its model. After the first trials, progress is the better guide.

use disklab_spec::{Model, Trial};
use disklab_units::{Bytes, Nanos};
use std::time::Duration;

/// Boot, fio's start, the copy of the disks, the record on disk.
const START: Duration = Duration::from_millis(400);
/// Wall time of one request in the guest and of each mebibyte moved; measured on a virtual machine with 2 cores.
const REQUEST: Duration = Duration::from_micros(20);
const MEBIBYTE: Duration = Duration::from_micros(300);
/// Wall time to look at a GiB of what a power cut left.
const LOOK: Duration = Duration::from_millis(800);
/// Wall time to write a GiB of a test file, which is zeroes.
const PREPARE_GIBIBYTE: Duration = Duration::from_millis(700);
/// Wall time to write one piece of a fragmented file.
const PREPARE_FRAGMENT: Duration = Duration::from_micros(60);
/// Requests that a process of a background keeps in flight, roughly: it reads ahead.
const BACKGROUND_DEPTH: usize = 32;

/// One trial on one processor.
pub fn wall(trial: &Trial) -> Duration {
    let seconds = (trial.lead() + trial.ramp + trial.runtime).as_secs_f64();
    let background = trial.background.as_ref();
    let fio = background.and_then(|background| background.workload.as_ref());
    // The largest: it moves the most.
    let jobs = trial.workload.jobs.iter().chain(fio.iter().flat_map(|fio| &fio.jobs));
    let block = jobs.map(|job| job.bs.0).max().unwrap_or_default() as f64;
    let beside = background.map_or(0, |background| background.processes.len() * BACKGROUND_DEPTH)
        + fio.map_or(0, |fio| fio.depth() as usize);
    let depth = f64::from(trial.workload.depth()) + beside as f64;
    let requests = seconds * trial.devices.iter().map(|d| rate(&d.model, block, depth)).sum::<f64>();
    let moved = MEBIBYTE.mul_f64(requests * block / f64::from(1 << 20));
    let cuts = trial.power_cut.map_or(0, |cut| cut.cuts);
    START * (1 + cuts)
        + LOOK.mul_f64(f64::from(cuts) * scanned(trial))
        + REQUEST.mul_f64(requests + touched(trial) as f64)
        + moved
}

/// The guest's clock at the end of a trial.
pub fn virtual_time(trial: &Trial) -> Nanos {
    let slowest = trial.devices.iter().map(|d| 1.0 / rate(&d.model, 4096.0, 1.0)).fold(0.0, f64::max);
    trial.lead() + trial.ramp + trial.runtime + Nanos::from_secs_f64(slowest * touched(trial) as f64)
}

/// What is read after each power cut: GiB.
fn scanned(trial: &Trial) -> f64 {
    (trial.workload.bytes() + disklab_spec::power_cut::WITNESS).0 as f64 / f64::from(1 << 30)
}

/// What preparing the disks of a trial takes at most on the host.
pub fn room(trial: &Trial) -> Bytes {
    crate::prepared::room(trial)
}

/// Blocks read beforehand, each with a look at its checksum.
fn touched(trial: &Trial) -> u64 {
    let each = |touch: disklab_guest::plan::Touch| 2 * trial.workload.file_size.0 / touch.every.0;
    crate::describe::touch(trial).into_iter().map(each).sum()
}

/// Preparing the disks of a trial on one processor, if they are not in the cache.
pub fn preparing(trial: &Trial) -> Duration {
    let trees = trial.background.as_ref().and_then(|background| background.trees);
    let fragments = trees.map_or(0, |trees| trees.fragments());
    START
        + PREPARE_GIBIBYTE.mul_f64(files(trial).0 as f64 / f64::from(1 << 30))
        + PREPARE_FRAGMENT.mul_f64(fragments as f64)
}

/// All that is written before anything is measured.
fn files(trial: &Trial) -> Bytes {
    let beside = trial.background.as_ref().and_then(|background| background.workload.as_ref());
    let room = trial.background.as_ref().map(|background| background.room).unwrap_or_default();
    trial.workload.bytes() + beside.map(disklab_spec::Workload::bytes).unwrap_or_default() + room
}

/// Requests a second that a disk serves at most.
fn rate(model: &Model, block: f64, depth: f64) -> f64 {
    match model {
        Model::Hdd(hdd) => {
            let access = hdd.seek_average.as_secs_f64() / 2.0 + 30.0 / f64::from(hdd.rpm);
            (depth.sqrt() / access).min(hdd.rate_outer.0 as f64 / block)
        }
        Model::Ssd(ssd) => {
            let read = ssd.read_page.iter().map(|t| t.as_secs_f64()).sum::<f64>()
                / ssd.read_page.len().max(1) as f64;
            (depth / (read + ssd.command_overhead.as_secs_f64())).min(ssd.link.0 as f64 / block)
        }
        Model::Card(card) => 1.0 / (card.read_access.as_secs_f64() + block / card.read_rate.0 as f64),
        Model::Constant(c) => depth.min(f64::from(c.servers)) / c.latency.as_secs_f64(),
    }
}
