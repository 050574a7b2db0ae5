//! Rough estimates of the time that trials take here, for a plan before anything has run.
//!
//! A guest handles a fixed number of requests per second of wall time, for any disks. The number of
//! requests that a disk will serve is unknown, and its model gives the order of magnitude. After
//! the first trials, the progress is the better guide.

mod memory;
mod phases;
mod rate;
mod room;

pub use memory::memory;
pub use room::room;

use crate::describe::{fsload, plan};
use disklab_config::Trial;
use disklab_config::fsload::Fsload;
use disklab_config::workload::Job;
use disklab_units::{Bytes, Nanos};
use rate::rate;
use std::time::Duration;

/// Time to boot, to start fio, to copy the disks, and to write the record.
const START: Duration = Duration::from_millis(400);

/// Wall time of one request in the guest and of each mebibyte moved; measured on a virtual machine
/// with 2 cores.
const REQUEST: Duration = Duration::from_micros(20);

const MEBIBYTE: Duration = Duration::from_micros(300);

/// Wall time of each mebibyte of phases, which move large sequential pieces; and the additional
/// time of each mebibyte through the page cache, whose pages are found, filled and reclaimed.
const PHASES_MEBIBYTE: Duration = Duration::from_micros(200);

const CACHED_MEBIBYTE: Duration = Duration::from_micros(500);

/// Wall time that each phase adds: fio's start.
const PHASE: Duration = Duration::from_millis(150);

/// Wall time of a system call during virtual time, if calls take any: programs wait for half of it.
const SYSTEM_CALL: Duration = Duration::from_nanos(1500);

/// Wall time of an operation on a file that is in memory.
const OPERATION: Duration = Duration::from_micros(40);

/// Bytes that an operation moves if its file is not in memory: filebench's mean file size.
const FILES_BLOCK: u64 = 16 << 10;

/// Wall time of each mebibyte of a rate-limited load, which writes and checksums.
const LIMITED_MEBIBYTE: Duration = Duration::from_micros(1900);

/// Wall time to take and delete a snapshot, including btrfs's rewrites after it.
const SNAPSHOT: Duration = Duration::from_millis(450);

/// Wall time of a virtual second of replication, which is always busy.
const REPLICATION: Duration = Duration::from_millis(90);

/// Wall time to check a GiB after a power cut.
const LOOK: Duration = Duration::from_millis(800);

/// Wall time to write a GiB of a test file, which is zeroes.
const PREPARE_GIBIBYTE: Duration = Duration::from_millis(700);

/// Wall time to send and receive a GiB of a test file.
const SEND_GIBIBYTE: Duration = Duration::from_secs(3);

/// Wall time to write one piece of a fragmented file.
const PREPARE_FRAGMENT: Duration = Duration::from_micros(60);

/// Rough number of requests that a background's process keeps in flight, by read-ahead.
const BACKGROUND_DEPTH: usize = 32;

/// Returns the virtual time to the end of the measurement. A load that ends by itself counts its
/// expected time, and a program that starts counts its limit.
pub fn measured(trial: &Trial) -> Nanos {
    if let Some(fio) = trial.workload.fio().filter(|fio| fio.groups() > 1) {
        let each = trial.ramp.saturating_add(trial.runtime);
        return trial.lead().saturating_add(each.saturating_mul(u64::from(fio.groups())));
    }
    let own = trial.workload.phases().map(|own| Nanos::from_secs_f64(phases::seconds(trial, own)));
    trial.lead().saturating_add(trial.ramp).saturating_add(own.unwrap_or(trial.runtime))
}

/// Returns the wall time of one trial on one processor.
pub fn wall(trial: &Trial) -> Duration {
    if let Some(own) = trial.workload.phases() {
        let (requests, bytes) = phases::load(trial, own);
        let count = u32::try_from(own.all.len()).unwrap_or(u32::MAX);
        let cached = CACHED_MEBIBYTE.mul_f64(phases::cached(own) / f64::from(1 << 20));
        let moved = PHASES_MEBIBYTE.mul_f64(bytes / f64::from(1 << 20)) + cached;
        let calls = if own.system_call == Nanos::ZERO {
            0.0
        } else {
            phases::seconds(trial, own) / own.system_call.as_secs_f64()
        };
        let worked = REQUEST.mul_f64(requests + touched(trial) as f64) + SYSTEM_CALL.mul_f64(calls);
        return START + PHASE * count + worked + moved;
    }
    let seconds = measured(trial).as_secs_f64();
    let background = trial.background.as_ref();
    let fio = background.and_then(|background| background.workload.as_ref());
    // The largest job moves the most data.
    let jobs = trial.workload.jobs().iter().chain(fio.iter().flat_map(|fio| fio.jobs()));
    let files = fsload::load(trial);
    let block = files.map(|_| FILES_BLOCK).into_iter().chain(jobs.map(|job| job.bs.0));
    let block = block.max().unwrap_or_default() as f64;
    let beside = background.map_or(0, |background| background.processes.len() * BACKGROUND_DEPTH)
        + fio.map_or(0, |fio| fio.depth() as usize);
    let depth = f64::from(trial.workload.depth()) + beside as f64;
    let disks = trial
        .devices
        .iter()
        .take(trial.array.devices.len() + usize::from(trial.array.cache.is_some()));
    let at_most = disks.map(|d| rate(&d.model, block, depth)).sum::<f64>();
    let limited = limited(trial).filter(|load| load.requests < at_most);
    let (a_second, moved) = match &limited {
        Some(load) => (load.requests, LIMITED_MEBIBYTE.mul_f64(seconds * load.mebibytes)),
        None => (at_most, MEBIBYTE.mul_f64(seconds * at_most * block / f64::from(1 << 20))),
    };
    let requests = seconds * a_second;
    let states = trial.power_cut.map_or(0, |cut| cut.cuts * cut.states);
    // Most operations of threads on files are done in memory.
    let operations = files.map_or(0.0, |load| seconds / load.operation.as_secs_f64());
    START * (1 + states)
        + OPERATION.mul_f64(operations)
        + REQUEST.mul_f64(looked_at(trial))
        + LOOK.mul_f64(f64::from(states) * scanned(trial))
        + REQUEST.mul_f64(requests + touched(trial) as f64)
        + moved
        + snapshots(trial, seconds)
}

/// Requests and bytes per second of a rate-limited load.
struct Limited {
    requests: f64,
    mebibytes: f64,
}

/// Returns None if any part of the trial goes as fast as it can.
fn limited(trial: &Trial) -> Option<Limited> {
    let beside = trial.background.as_ref();
    if beside.is_some_and(|beside| beside.workload.is_some() || !beside.processes.is_empty())
        || trial.workload.jobs().is_empty()
    {
        return None;
    }
    let mut load = Limited { requests: 0.0, mebibytes: 0.0 };
    for job in trial.workload.jobs() {
        let bytes = job.rate?.0 as f64 * f64::from(job.numjobs) * copies(trial, job);
        load.requests += bytes / job.bs.0 as f64;
        load.mebibytes += bytes / f64::from(1 << 20);
    }
    Some(load)
}

/// Returns how many disks serve a request of a job, on average over reads and writes. Each
/// direction has the whole rate.
fn copies(trial: &Trial, job: &Job) -> f64 {
    let written = f64::from(u8::from(job.rw.writes())) * f64::from(trial.array.copies());
    f64::from(u8::from(job.rw.reads())) + written
}

fn snapshots(trial: &Trial, seconds: f64) -> Duration {
    let Some(snapshots) = trial.background.as_ref().and_then(|background| background.snapshots)
    else {
        return Duration::ZERO;
    };
    let replicated =
        snapshots.replicate_every.map_or(Duration::ZERO, |_| REPLICATION.mul_f64(seconds));
    SNAPSHOT.mul_f64(seconds / snapshots.every.as_secs_f64()) + replicated
}

/// Returns the guest's clock at the end of a trial.
pub fn virtual_time(trial: &Trial) -> Nanos {
    let slowest =
        trial.devices.iter().map(|d| 1.0 / rate(&d.model, 4096.0, 1.0)).fold(0.0, f64::max);
    let reads = touched(trial) as f64 + looked_at(trial);
    trial.lead() + trial.ramp + trial.runtime + Nanos::from_secs_f64(slowest * reads)
}

/// Returns the number of reads of all files after threads have worked on them, each with a read of
/// its inode.
fn looked_at(trial: &Trial) -> f64 {
    let count =
        |load: &Fsload| load.files.iter().map(|set| f64::from(load.count(set))).sum::<f64>();
    2.0 * fsload::load(trial).map_or(0.0, count)
}

/// Returns the GiB that are read after each power cut.
fn scanned(trial: &Trial) -> f64 {
    (trial.workload.bytes() + disklab_config::power_cut::WITNESS).0 as f64 / f64::from(1 << 30)
}

/// Returns the number of blocks that are read beforehand, each with a read of its checksum.
fn touched(trial: &Trial) -> u64 {
    let size = trial.workload.file_size();
    let warmed = plan::warm_metadata(trial).into_iter();
    warmed.map(|file| 2 * size.0 / file.every.0).sum()
}

/// Returns the time to prepare the disks of a trial on one processor, if they are not in the cache.
pub fn preparing(trial: &Trial) -> Duration {
    let trees = trial.background.as_ref().and_then(|background| background.trees);
    let fragments = trees.map_or(0, |trees| trees.fragments());
    let sent = trial
        .background
        .as_ref()
        .and_then(|background| background.snapshots?.replicate_every)
        .map_or(0, |_| written(trial).0);
    START
        + SEND_GIBIBYTE.mul_f64(sent as f64 / f64::from(1 << 30))
        + PREPARE_GIBIBYTE.mul_f64(written(trial).0 as f64 / f64::from(1 << 30))
        + PREPARE_FRAGMENT.mul_f64(fragments as f64)
}

/// Returns the bytes that are written before the measurement.
pub fn written(trial: &Trial) -> Bytes {
    let beside = trial.background.as_ref().and_then(|background| background.workload.as_ref());
    let room = trial.background.as_ref().map(|background| background.room).unwrap_or_default();
    trial.workload.bytes() + beside.map(disklab_config::Workload::bytes).unwrap_or_default() + room
}
