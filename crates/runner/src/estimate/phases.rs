//! Rough estimates of the time of phases. The work of a program is unknown, unless its workload
//! gives it.

use super::rate::rate;
use disklab_config::phases::{FileJob, PhaseAction, Phases, WorkloadPhase};
use disklab_config::{Layout, Md, Model, Profile, Profiles, Trial};

/// Returns the virtual seconds of all phases together.
pub fn seconds(trial: &Trial, phases: &Phases) -> f64 {
    let told = phases.expected.map(|expected| expected.for_disks(trial.rotational()).as_secs_f64());
    told.unwrap_or_else(|| phases.all.iter().map(|phase| of_phase(trial, phase)).sum())
}

/// Returns the requests to all disks, and the bytes that they move.
pub fn load(trial: &Trial, phases: &Phases) -> (f64, f64) {
    let fio: Vec<&FileJob> = phases.all.iter().flat_map(WorkloadPhase::jobs).collect();
    let moved = |job: &FileJob| {
        job.bytes().0 as f64 * if job.job.rw.writes() { copies(trial) } else { 1.0 }
    };
    let bytes: f64 = fio.iter().map(|job| moved(job)).sum();
    let requests: f64 = fio.iter().map(|job| moved(job) / size(job)).sum();
    if phases
        .all
        .iter()
        .all(|phase| matches!(phase.what, PhaseAction::Fio(_)) && phase.reader.is_none())
    {
        return (requests, bytes);
    }
    // The work of a program is unknown. Its disks are busy with small requests for much of the
    // time.
    let each = trial.devices.iter().map(|device| rate(&device.model, PROGRAMS_BLOCK, 1.0));
    let busy = seconds(trial, phases) * each.fold(0.0, f64::max);
    (requests + busy, bytes + busy * PROGRAMS_BLOCK)
}

/// Returns fio's bytes that go through the page cache.
pub fn cached(phases: &Phases) -> f64 {
    let jobs = phases.all.iter().flat_map(WorkloadPhase::jobs).filter(|job| !job.job.direct);
    jobs.map(|job| job.bytes().0 as f64).sum()
}

/// Bytes of a program's request, and of a sequential load's request.
const PROGRAMS_BLOCK: f64 = 16384.0;
const SEQUENTIAL_BLOCK: f64 = 524_288.0;
/// Time of a program's phase without an estimate, and of a mount: seconds on rotating disks and on
/// others.
const PROGRAM: (f64, f64) = (20.0, 2.0);
const MOUNT: (f64, f64) = (0.5, 0.01);
/// Share of its outer rate that a rotating disk reaches on average: heads move, and files are
/// fragmented.
const REACHED: f64 = 0.7;

fn of_phase(trial: &Trial, phase: &WorkloadPhase) -> f64 {
    let by_kind = |(turning, other): (f64, f64)| if trial.rotational() { turning } else { other };
    match &phase.what {
        PhaseAction::Fio(jobs) => of_jobs(trial, jobs),
        PhaseAction::Program { .. } => by_kind(PROGRAM),
        PhaseAction::Remount => by_kind(MOUNT),
    }
}

/// Returns the seconds of jobs. Sequential jobs share the disks' sequential rate, and random jobs
/// share the random rate.
fn of_jobs(trial: &Trial, jobs: &[FileJob]) -> f64 {
    let (mut seconds, disks) = (0.0, trial.array.devices.len() as f64);
    let readers: u32 = jobs.iter().map(|job| job.job.numjobs).sum();
    for job in jobs {
        let bytes = job.bytes().0 as f64;
        let (writes, limit) = (job.job.rw.writes(), trial.array.controller);
        if is_random(job) {
            let depth = f64::from(job.job.depth() * readers);
            let rate = slowest(trial, |model| rate(model, size(job), (depth / disks).max(1.0)));
            let most = trial.array.host.and_then(|host| host.requests_per_second);
            let all = (rate * disks.min(depth)).min(most.map_or(f64::MAX, f64::from));
            seconds += bytes / size(job) / all;
            continue;
        }
        let used = if writes { disks } else { disks.min(spread(trial, readers)) };
        let moved = if writes { bytes * copies(trial) } else { bytes };
        let rate = slowest(trial, in_a_row) * used;
        let most = limit.map_or(
            f64::MAX,
            |controller| if writes { controller.write.0 } else { controller.read.0 } as f64,
        );
        seconds += moved / rate.min(most);
    }
    seconds
}

/// Returns how many disks readers keep busy: all disks of a stripe, and one copy for each reader.
fn spread(trial: &Trial, readers: u32) -> f64 {
    let one = match trial.array.layout {
        Layout::Btrfs(Profiles { data: Profile::Raid0, .. })
        | Layout::On { raid: Some(Md::Raid0), .. } => trial.array.devices.len(),
        Layout::Btrfs(Profiles { data: Profile::Raid10, .. })
        | Layout::ZfsMirrors
        | Layout::On { raid: Some(Md::Raid10), .. } => trial.array.devices.len() / 2,
        Layout::Btrfs(_) | Layout::On { .. } => 1,
    };
    one.max(1) as f64 * f64::from(readers)
}

fn is_random(job: &FileJob) -> bool {
    use disklab_config::workload::Rw::{Randread, Randrw, Randwrite};
    matches!(job.job.rw, Randread | Randwrite | Randrw)
}

/// Returns the bytes of a request.
fn size(job: &FileJob) -> f64 {
    if is_random(job) { job.job.bs.0 as f64 } else { SEQUENTIAL_BLOCK }
}

fn copies(trial: &Trial) -> f64 {
    f64::from(trial.array.copies())
}

/// Returns the sequential rate, in bytes per second.
fn in_a_row(model: &Model) -> f64 {
    match model {
        Model::Hdd(hdd) => hdd.rate_outer.0 as f64 * REACHED,
        Model::Ssd(ssd) => ssd.link.0 as f64,
        Model::Card(card) => card.read_rate.0 as f64,
        Model::Constant(_) => rate(model, SEQUENTIAL_BLOCK, 1.0) * SEQUENTIAL_BLOCK,
    }
}

fn slowest(trial: &Trial, of: impl Fn(&Model) -> f64) -> f64 {
    let disks = trial.devices.iter().take(trial.array.devices.len());
    let connected = |model: &Model| match trial.array.host {
        Some(host) => of(&model.connected_to(&host)),
        None => of(model),
    };
    disks.map(|device| connected(&device.model)).fold(f64::MAX, f64::min)
}
