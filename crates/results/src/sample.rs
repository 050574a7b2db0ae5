//! Makes the numbers of one trial: joins fio's report with the disks' closing record, and checks
//! them against each other.

use disklab_protocol::closing::{Closing, DeviceCounts, PhaseCounts};
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::fio::{Direction, Fio, Job, Latency};
use crate::histogram::Histogram;
use crate::integrity::{self, Claim, Clock, DirectionClaim};
use crate::remark::Remark;

/// Smallest number of requests for a p99.9: fewer do not contain a thousandth.
pub const ENOUGH_FOR_P99_9: u64 = 1000;
/// Bytes that a filesystem reads now and then of its own accord.
const UNASKED: u64 = 1 << 20;
/// The reciprocal of the share of fio's bytes that may fall outside the disks' phase: fio's jobs
/// end the ramp by clocks of their own.
const PHASE_TOLERANCE: u64 = 100;

/// If several jobs together took more than this many times their own time, they did not measure at
/// the same time.
const APART: f64 = 1.1;

/// The load that the trial was asked for, as far as its results can be checked against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestedLoad {
    /// Number of requests that the load keeps in flight at any time: iodepth times numjobs, or
    /// numjobs alone with a synchronous engine. It is `None` for a load that is not a closed loop
    /// (limited in rate, or buffered).
    pub in_flight: Option<u32>,
    /// Whether requests bypass the page cache (`direct=1`).
    pub direct: bool,
    /// Whether fio alone uses the disks, so that the bytes of the disks can be compared with fio's.
    pub alone: bool,
    /// Time for which fio measures, without its ramp.
    pub runtime: Nanos,
    /// Number of jobs that measure.
    pub jobs: u32,
    /// Whether the disks' phase is a window of its own, which fio does not set.
    pub has_one_window: bool,
    /// Bytes of each request, or `None` if they differ.
    pub block: Option<u64>,
    /// The clock: whether only disks take time.
    pub clock: Clock,
    /// Bytes of metadata that a read may need in addition, because they are not in memory yet.
    pub besides: u64,
}

/// The measured numbers of a trial, over all jobs and all directions together.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sample {
    /// Requests per second.
    pub iops: f64,
    /// Bytes per second.
    pub bw_bytes: u64,
    /// Requests that fio measured.
    pub requests: u64,
    /// Mean of fio's `lat` (submission and completion), in nanoseconds.
    pub lat_mean_ns: f64,
    /// The kind of fio's latencies from which the percentiles are computed.
    pub percentiles_of: Option<LatencyKind>,
    pub p50_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    pub p99_9_ns: Option<Nanos>,
    /// The reads alone. It is `None` without reads, and in old records that do not separate reads
    /// from writes.
    #[serde(default)]
    pub read: Option<DirectionSample>,
    /// The writes alone, or `None` in the same cases as for reads.
    #[serde(default)]
    pub write: Option<DirectionSample>,
    /// The share of consecutive reads, in order of arrival at the disks, 0 to 1, that went to
    /// another disk than the one before.
    #[serde(default)]
    pub read_switches: Option<f64>,
    /// The disks, in the order of the closing record.
    pub devices: Vec<DeviceSample>,
}

/// The measured numbers of a trial in one direction, over all jobs: as in [`Sample`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DirectionSample {
    pub iops: f64,
    pub bw_bytes: u64,
    pub requests: u64,
    pub lat_mean_ns: f64,
    pub p50_ns: Option<Nanos>,
    pub p99_ns: Option<Nanos>,
    pub p99_9_ns: Option<Nanos>,
}

/// A kind of fio's latencies. fio computes percentiles of `clat`, or of `lat` with
/// `lat_percentiles=1`. With direct I/O they differ only by the submission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LatencyKind {
    Lat,
    Clat,
}

/// The activity of a disk in the measured phase, as its model recorded it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct DeviceSample {
    /// The name that the guest's kernel gives to the disk: `vda`.
    pub name: String,
    /// Name of the modelled device in the lab.
    pub device: Option<String>,
    pub reads: u64,
    pub writes: u64,
    /// The disk's share of the read requests of all disks, 0 to 1. It is `None` if no disk read.
    pub read_share: Option<f64>,
    /// The part of the phase, 0 to 1, in which at least one request was outstanding.
    pub utilisation: f64,
    #[serde(default)]
    pub read_bytes: u64,
    #[serde(default)]
    pub write_bytes: u64,
    /// Mean time from the start of a request's service to its completion.
    #[serde(default)]
    pub service_mean_ns: Option<Nanos>,
    /// Mean number of requests at the disk.
    #[serde(default)]
    pub depth_mean: Option<f64>,
    /// The share of reads and writes, 0 to 1, that did not begin at the end of the one before them,
    /// in order of arrival.
    #[serde(default)]
    pub not_sequential: Option<f64>,
    /// Mean distance between the beginning of a request and the end of the one before, in either
    /// direction. Sequential requests are included.
    #[serde(default)]
    pub distance_mean_bytes: Option<f64>,
    /// btrfs's counts of the disk's reads, on kernels that have them.
    #[serde(default)]
    pub read_stats: Option<ReadStatsChange>,
}

/// The change of a device's statistics over the measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadStatsChange {
    /// Reads that ended during the measurement.
    pub ios: u64,
    /// Total time of these reads, as btrfs measures it from submission to completion.
    pub wait_ns: Nanos,
    /// Mean time of these reads. It is None without reads.
    pub avg_ns: Option<Nanos>,
    /// Number of checkpoints.
    pub checkpoints: u64,
    /// Number of times that the device was passed over minus the number of times that it was
    /// chosen.
    pub ignored: i64,
    /// Number of times, at the end, that the device was passed over since it was last chosen. The
    /// number is negative while the device is tried again.
    pub age: i64,
    /// Mean latency, at the end, since the last checkpoint, by which policies decide.
    pub checkpoint_avg_ns: Nanos,
}

/// Returns the numbers of jobs that ran together as a claim, without the requested load.
pub fn claim_of(jobs: &[&Job]) -> Claim {
    Claim {
        ran: measured(jobs).iter().map(|direction| direction.runtime).max(),
        parts: measured(jobs).into_iter().map(part).collect(),
        ..Claim::default()
    }
}

/// Returns the numbers of jobs that ran together, without any disks, and remarks from fio's own
/// report.
pub fn of_jobs(jobs: &[&Job]) -> (Sample, Vec<Remark>) {
    let mut remarks = Vec::new();
    judge_jobs(jobs, &mut remarks);
    let sample = numbers_of(jobs);
    judge_counts(&sample, &mut remarks);
    (sample, remarks)
}

fn part(direction: &Direction) -> DirectionClaim {
    let kinds = [&direction.lat, &direction.clat];
    let latency = kinds.into_iter().find(|kind| kind.has_percentiles()).unwrap_or(&direction.lat);
    let seen = latency.count > 0 || latency.max > Nanos(0);
    let mut percents: Vec<f64> = latency.reported.iter().map(|(percent, _)| *percent).collect();
    percents.sort_by(f64::total_cmp);
    let percentile = |percent: f64| Some((percent, latency.percentile(percent)?.0 as f64));
    DirectionClaim {
        iops: Some(direction.iops),
        bytes_per_second: Some(direction.bw_bytes as f64),
        requests: Some(direction.total_ios),
        bytes: Some(direction.io_bytes),
        mean: (direction.lat.mean_ns > 0.0).then_some(direction.lat.mean_ns),
        latency: integrity::Latency {
            min: seen.then_some(latency.min.0 as f64),
            mean: seen.then_some(latency.mean_ns),
            max: seen.then_some(latency.max.0 as f64),
            percentiles: percents.into_iter().filter_map(percentile).collect(),
        },
    }
}

/// Joins fio's report with the closing record. Numbers that contradict each other are kept, and get
/// remarks.
pub fn join(fio: &Fio, closing: &Closing, asked: &RequestedLoad) -> (Sample, Vec<Remark>) {
    let jobs: Vec<&Job> = fio.jobs.iter().collect();
    let mut remarks = Vec::new();
    judge_jobs(&jobs, &mut remarks);
    if !fio.messages.is_empty() {
        remarks.push(Remark::FioMessages { text: fio.messages.clone() });
    }
    let phase = closing.phase(MEASURED_PHASE).filter(|phase| phase.length() > Nanos(0));
    let mut sample = numbers_of(&jobs);
    if let Some(phase) = phase {
        sample.devices = devices(closing, phase);
        sample.read_switches = phase.switched();
        judge_disks(fio, phase, asked, &mut remarks);
    } else {
        remarks.push(Remark::NoMeasuredPhase);
    }
    if sample.requests > 0 {
        remarks.extend(integrity::check(&Claim {
            in_flight: asked.in_flight.filter(|_| asked.direct),
            block: asked.block.filter(|_| asked.direct),
            asked: Some(asked.runtime),
            clock: asked.clock,
            ..claim_of(&jobs)
        }));
    }
    judge_counts(&sample, &mut remarks);
    (sample, remarks)
}

/// Returns the disks' activity in a trial in which fio did not measure everything: a start-up, a
/// player, or several phases. Returns `None` if nothing was measured.
pub fn of_disks(closing: &Closing) -> Option<Sample> {
    let phase = closing.measured().filter(|phase| phase.length() > Nanos(0))?;
    Some(Sample {
        read_switches: phase.switched(),
        devices: devices(closing, &phase),
        ..Sample::default()
    })
}

/// Returns the directions of all jobs that have requests.
fn measured<'a>(jobs: &[&'a Job]) -> Vec<&'a Direction> {
    with_requests(jobs.iter().flat_map(|job| job.directions()))
}

/// Returns one direction of all jobs (`|job| &job.read`), for the jobs with requests in it.
fn measured_in<'a>(jobs: &[&'a Job], direction: fn(&Job) -> &Direction) -> Vec<&'a Direction> {
    with_requests(jobs.iter().map(|job| direction(job)))
}

fn with_requests<'a>(directions: impl Iterator<Item = &'a Direction>) -> Vec<&'a Direction> {
    directions.filter(|direction| direction.total_ios > 0).collect()
}

fn sum(values: impl Iterator<Item = u64>) -> u64 {
    values.fold(0, u64::saturating_add)
}

fn numbers_of(jobs: &[&Job]) -> Sample {
    let alone = |direction| {
        let directions = measured_in(jobs, direction);
        (!directions.is_empty()).then(|| numbers(&directions).0)
    };
    let (all, percentiles_of) = numbers(&measured(jobs));
    let DirectionSample { iops, bw_bytes, requests, lat_mean_ns, p50_ns, p99_ns, p99_9_ns } = all;
    Sample {
        iops,
        bw_bytes,
        requests,
        lat_mean_ns,
        percentiles_of,
        p50_ns,
        p99_ns,
        p99_9_ns,
        read: alone(|job| &job.read),
        write: alone(|job| &job.write),
        ..Sample::default()
    }
}

/// Returns the numbers of some directions together, and the kind of latencies of the percentiles.
fn numbers(directions: &[&Direction]) -> (DirectionSample, Option<LatencyKind>) {
    let tail = tail(directions);
    let weights: f64 = directions.iter().map(|direction| direction.lat.count as f64).sum();
    let weighted: f64 =
        directions.iter().map(|direction| direction.lat.mean_ns * direction.lat.count as f64).sum();
    let percentile = |percent| tail.as_ref().and_then(|(_, latency)| latency.percentile(percent));
    let numbers = DirectionSample {
        iops: directions.iter().map(|direction| direction.iops).sum(),
        bw_bytes: sum(directions.iter().map(|direction| direction.bw_bytes)),
        requests: sum(directions.iter().map(|direction| direction.total_ios)),
        lat_mean_ns: if weights > 0.0 { weighted / weights } else { 0.0 },
        p50_ns: percentile(50.0),
        p99_ns: percentile(99.0),
        p99_9_ns: percentile(99.9),
    };
    (numbers, tail.map(|(kind, _)| kind))
}

/// Returns the latencies of all jobs and directions together, from which a sample's percentiles are
/// computed, or None if fio gave none that hold for all.
pub fn latency_of(jobs: &[&Job]) -> Option<(LatencyKind, Latency)> {
    tail(&measured(jobs))
}

/// Returns the latencies of one direction of all jobs, such as `|job| &job.read`.
pub fn latency_in(
    jobs: &[&Job],
    direction: fn(&Job) -> &Direction,
) -> Option<(LatencyKind, Latency)> {
    tail(&measured_in(jobs, direction))
}

/// Returns the latencies for computing percentiles. Prefers `lat`, because the mean is of `lat`.
fn tail(directions: &[&Direction]) -> Option<(LatencyKind, Latency)> {
    let in_kind = |kind, pick: fn(&Direction) -> &Latency| {
        let latencies: Vec<&Latency> = directions.iter().map(|direction| pick(direction)).collect();
        Some((kind, together(&latencies)?))
    };
    in_kind(LatencyKind::Lat, |direction| &direction.lat)
        .or_else(|| in_kind(LatencyKind::Clat, |direction| &direction.clat))
}

/// Adds the histograms up, if each latency has one. Percentiles that fio computed itself cannot be
/// added, and are used only if one job had one direction.
fn together(latencies: &[&Latency]) -> Option<Latency> {
    if let [only] = latencies {
        return only.has_percentiles().then(|| (*only).clone());
    }
    let mut all = Histogram::default();
    for latency in latencies {
        all = all.merged(latency.histogram.as_ref()?)?;
    }
    Some(Latency {
        count: all.count(),
        min: latencies.iter().map(|latency| latency.min).min()?,
        max: latencies.iter().map(|latency| latency.max).max()?,
        histogram: Some(all),
        ..Latency::default()
    })
}

fn devices(closing: &Closing, phase: &PhaseCounts) -> Vec<DeviceSample> {
    let reads = sum(phase.devices.iter().map(|device| device.reads));
    let length = phase.length().0 as f64;
    let sample = |(index, device): (usize, &DeviceCounts)| DeviceSample {
        name: device.name.clone(),
        device: closing.devices.get(index).cloned(),
        reads: device.reads,
        writes: device.writes,
        read_share: (reads > 0).then(|| device.reads as f64 / reads as f64),
        utilisation: device.busy.0 as f64 / length,
        read_bytes: device.read_bytes,
        write_bytes: device.write_bytes,
        service_mean_ns: device.mean_service(),
        depth_mean: device.mean_depth(phase),
        not_sequential: device.not_sequential(),
        distance_mean_bytes: device.mean_distance(),
        read_stats: None,
    };
    phase.devices.iter().enumerate().map(sample).collect()
}

fn judge_jobs(jobs: &[&Job], remarks: &mut Vec<Remark>) {
    let failed = jobs.iter().filter(|job| job.error != 0);
    remarks.extend(failed.map(|job| Remark::FioError { job: job.name.clone(), errno: job.error }));
    let directions = || jobs.iter().flat_map(|job| job.directions());
    // fio counts each sync as a short read of no bytes.
    let syncs = sum(jobs.iter().map(|job| job.syncs));
    let short = sum(directions().map(|direction| direction.short_ios)).saturating_sub(syncs);
    let dropped = sum(directions().map(|direction| direction.drop_ios));
    if short > 0 || dropped > 0 {
        remarks.push(Remark::LostRequests { short, dropped });
    }
}

fn judge_counts(sample: &Sample, remarks: &mut Vec<Remark>) {
    if sample.requests == 0 {
        remarks.push(Remark::NoRequests);
    } else if sample.percentiles_of.is_none() {
        remarks.push(Remark::NoPercentiles);
    } else if sample.requests < ENOUGH_FOR_P99_9 {
        remarks.push(Remark::FewRequests { requests: sample.requests, what: None });
    }
}

fn judge_disks(fio: &Fio, phase: &PhaseCounts, asked: &RequestedLoad, remarks: &mut Vec<Remark>) {
    for DeviceCounts { name, busy, .. } in &phase.devices {
        let (device, busy, phase) = (name.clone(), *busy, phase.length());
        if busy > phase {
            remarks.push(Remark::BusyBeyondPhase { device, busy, phase });
        }
    }
    let is_long = phase.length().0 as f64 > asked.runtime.0 as f64 * APART;
    if asked.alone && !asked.has_one_window && asked.jobs > 1 && is_long {
        remarks.push(Remark::JobsApart { asked: asked.runtime, phase: phase.length() });
    }
    if !asked.direct || !asked.alone {
        return;
    }
    let moved = |pick: fn(&Job) -> &Direction| {
        let bytes = sum(fio.jobs.iter().map(|job| pick(job).io_bytes));
        let requests = sum(fio.jobs.iter().map(|job| pick(job).total_ios));
        // fio alone may count requests that were in flight at the beginning or end of the phase.
        let in_flight = u64::from(asked.in_flight.unwrap_or(0));
        let either = bytes.checked_div(requests).unwrap_or(0).saturating_mul(in_flight);
        (bytes, bytes.saturating_sub(either).saturating_sub(bytes / PHASE_TOLERANCE))
    };
    let (fio_bytes, at_least) = moved(|job| &job.read);
    let disks_bytes = sum(phase.devices.iter().map(|device| device.read_bytes));
    if disks_bytes < at_least {
        remarks.push(Remark::ReadFromElsewhere { fio_bytes, disks_bytes });
    }
    let requests = sum(fio.jobs.iter().map(|job| job.read.total_ios));
    let known = requests.saturating_mul(asked.besides).saturating_add(fio_bytes - at_least);
    let at_most = fio_bytes.saturating_add(known.saturating_mul(2)).saturating_add(UNASKED);
    let writes = fio.jobs.iter().any(|job| job.write.total_ios > 0);
    if disks_bytes > at_most && !writes {
        let known_bytes = at_most - fio_bytes;
        remarks.push(Remark::ReadBesides { fio_bytes, disks_bytes, known_bytes });
    }
    let (fio_bytes, at_least) = moved(|job| &job.write);
    let disks_bytes = sum(phase.devices.iter().map(|device| device.write_bytes));
    if disks_bytes < at_least {
        remarks.push(Remark::WrittenElsewhere { fio_bytes, disks_bytes });
    }
}
