//! A fast model of the path of a read of a mirrored btrfs: fio's jobs, btrfs's mapping of chunks,
//! the read policy's own C code, the block layer's queues, and the disk models. There is no guest
//! and no filesystem. The page cache is modelled only for the first read into each buffer of fio.
//!
//! The model serves searches for policies, and never verdicts. `disklab predict --on model` shows
//! how far it is from the kernel.

mod block_layer;
mod job;
mod mapping;
mod mirror_state;
mod oracle;
mod queue;
mod simulation;
mod slots;

use disklab_config::scheduler::Scheduler;
use disklab_config::suite::Metadata;
use disklab_config::workload::{FioLoad, WorkloadKind};
use disklab_config::{Layout, Trial, policy};
use disklab_disks::Bank;
use disklab_read_policies::Choice;
use disklab_units::{Bytes, Nanos};

pub use block_layer::Observer;
pub use mapping::{ChunkStripe, MappedPiece, Mapping};
pub use simulation::EndedRead;

use block_layer::BlockLayer;
use job::ReadingJob;
use mapping::NODE;
use mirror_state::{BLOCK_BITS, MirrorStates};
use oracle::Oracle;
use queue::DiskQueue;
use simulation::Simulation;

/// Process ids of a guest begin at a multiple of 12 plus an offset from the seed's index. The
/// guest's first process starts fio, fio starts its helper thread, and then its jobs.
const PIDS: u32 = 12;
const FIRST_JOB: u32 = 3;
/// Process id of the guest's first process. It mounts the filesystem, with the initial read policy
/// `pid`.
const MOUNTING: u32 = 1;
/// A trial's warm-up reads one block in this many bytes, so that all checksums are in memory.
const WARM_EVERY: u64 = 12 << 20;
/// A mount reads the roots of the trees, and a node for each chunk. The number of roots is from
/// traces of guests with 50 GiB of data. So are the distances of the nodes from the begin of the
/// metadata and from each other.
const ROOTS: u64 = 17;
const CHUNK_NODES: u64 = 112 << 20;
const CHUNK_NODE_EVERY: u64 = 80 << 10;

/// Returns why the model cannot run a trial, or `None` if it can.
pub fn obstacle(trial: &Trial) -> Option<String> {
    if let Some(what) = unsupported(trial) {
        return Some(format!("the fast model cannot run {what}; leave --on model out"));
    }
    mapping(trial).is_none().then(|| "the files do not fit on the disks".to_owned())
}

/// Names the part of a trial that the model does not support.
fn unsupported(trial: &Trial) -> Option<String> {
    if !trial.array.layout.has_read_policy() {
        return Some(format!("an array of layout {} (only btrfs's mirrors)", trial.array.layout));
    }
    if trial.array.cache.is_some() {
        return Some("bcache".to_owned());
    }
    if trial.power_cut.is_some() {
        return Some("power cuts".to_owned());
    }
    if let Some(background) = &trial.background {
        return Some(format!("background workloads such as {}", background.name));
    }
    match &trial.workload.kind {
        WorkloadKind::Startup(_) => return Some("workloads that start programs".to_owned()),
        WorkloadKind::Phases(_) => return Some("workloads of several phases".to_owned()),
        WorkloadKind::FileLoad(_) => return Some("workloads on many files".to_owned()),
        WorkloadKind::Player { .. } => return Some("film players".to_owned()),
        WorkloadKind::Fio(load) if !load.sections.is_empty() => {
            return Some("fio's own job files".to_owned());
        }
        WorkloadKind::Fio(load) if !load.only_reads() => {
            return Some("writes, because btrfs chooses their place and their time".to_owned());
        }
        WorkloadKind::Fio(load) if !load.is_direct() => {
            return Some("reads through the page cache (only reads with direct = true)".to_owned());
        }
        WorkloadKind::Fio(load) if load.jobs.iter().any(|job| !job.bs.0.is_multiple_of(4096)) => {
            return Some("reads whose size is not a multiple of 4 KiB".to_owned());
        }
        WorkloadKind::Fio(_) => {}
    }
    let scheduler = trial.scheduler.scheduler;
    if !matches!(scheduler, Scheduler::None | Scheduler::MqDeadline)
        || !trial.scheduler.tunables.is_empty()
    {
        return Some(format!(
            "scheduler {} (only none and mq-deadline, without tunables)",
            trial.scheduler
        ));
    }
    if chooser(trial).is_none() {
        let name =
            trial.policy.as_ref().map_or_else(String::new, disklab_config::PolicyChoice::setting);
        return Some(format!(
            "read policy {name} (only those of read-policies/ that this program was built with)"
        ));
    }
    None
}

/// The code that chooses mirrors.
#[derive(Debug, Clone, Copy)]
enum Chooser {
    /// A policy's C code with the values that the trial has for it.
    Policy(Choice),
    Oracle(Oracle),
}

fn chooser(trial: &Trial) -> Option<Chooser> {
    if let Some(policy) = trial.policy.as_ref().filter(|policy| policy.policy == policy::ORACLE) {
        let own = policy.values.iter().all(|value| value.value == "own");
        return Some(Chooser::Oracle(if own { Oracle::Own } else { Oracle::All }));
    }

    let text = trial
        .policy
        .as_ref()
        .map_or_else(|| "pid".to_owned(), disklab_config::PolicyChoice::setting);
    let text = text.strip_prefix(policy::PREFIX).unwrap_or(&text);
    // `devid` alone means the device that was mounted last, which is the first.
    let text = if text == "devid" { "devid:1" } else { text };
    Choice::parse(text, BLOCK_BITS).map(Chooser::Policy)
}

fn mapping(trial: &Trial) -> Option<Mapping> {
    let Layout::Btrfs(profiles) = trial.array.layout else { return None };
    let disks: Vec<Bytes> = disks(trial).iter().map(|disk| disk.used).collect();
    Mapping::new(profiles.data, &disks, trial.workload.fio()?.all_files())
}

/// Returns the disks of the filesystem, without spares and those of a replica.
fn disks(trial: &Trial) -> &[disklab_config::Device] {
    &trial.devices[..trial.array.devices.len().min(trial.devices.len())]
}

/// Runs a trial. Calls `begin` when fio starts, with the time and the disks, and `ended` with each
/// read. Returns the time at the end and the disks, or `None` for a trial that has an [`obstacle`].
pub fn run<O: Observer>(
    trial: &Trial,
    begin: impl FnOnce(Nanos, &Bank) -> O,
    mut ended: impl FnMut(EndedRead),
) -> Option<(Nanos, Bank, O)> {
    let (mapping, load) = (mapping(trial)?, trial.workload.fio()?);
    let disks = disks(trial);
    let host = trial.array.host;
    let model = |(number, disk): (usize, &disklab_config::Device)| {
        let model = host.map_or_else(|| disk.model.clone(), |host| disk.model.connected_to(&host));
        disklab_disks::build(&model, disk.bytes, trial.seed.derive(&format!("disk {number}")))
    };
    let models = disks.iter().enumerate().map(model).collect();
    let controller = trial.array.controller.map(|controller| (controller, disks.len()));
    let queue = |disk: &disklab_config::Device| {
        let (sectors, segments) = disk.model.largest_request();
        let (depth, tags) = (disk.model.queue_depth(), disk.model.tags());
        DiskQueue::new(trial.scheduler.scheduler, depth, tags, sectors, segments)
    };
    let rotational: Vec<bool> = disks.iter().map(|disk| disk.model.rotational()).collect();
    let mirrors = MirrorStates::new(Choice::parse("pid", BLOCK_BITS)?, &rotational);
    let queues = disks.iter().map(queue).collect();
    let bank = Bank::new(models, controller, host);
    let mut simulation = Simulation::new(&mapping, mirrors, BlockLayer::new(queues, bank));
    let offset = trial.seed_index.saturating_sub(1) % PIDS;
    simulation.read_alone(mounted(&mapping), MOUNTING);
    simulation.set_chooser(chooser(trial)?);
    if trial.metadata == Metadata::Warm {
        simulation.read_alone(warmed(load, &mapping), offset + 1);
    }
    let (now, bank) = simulation.state();
    let mut observer = begin(now, bank);
    let jobs = ReadingJob::all(load, offset + FIRST_JOB, trial.seed.derive("fio"));
    simulation.run(jobs, trial.metadata, trial.ramp + trial.runtime, &mut observer, &mut ended);
    let (now, bank) = simulation.into_parts();
    Some((now, bank, observer))
}

/// Returns the places that a mount reads, and their lengths in bytes.
fn mounted(mapping: &Mapping) -> impl Iterator<Item = (u64, u64)> + use<> {
    let metadata = mapping.metadata();
    let roots = (0..ROOTS).map(|n| n * NODE);
    let nodes = (0..mapping.data_chunks()).map(|n| CHUNK_NODES + n * CHUNK_NODE_EVERY);
    roots.chain(nodes).map(move |offset| (metadata + offset, NODE))
}

/// Returns the places that a trial's warm-up reads, and their lengths in bytes: a leaf of checksums
/// before the first block that needs it.
fn warmed<'a>(load: &FioLoad, mapping: &'a Mapping) -> impl Iterator<Item = (u64, u64)> + use<'a> {
    let size = load.file_size.0;
    let places = (0..u64::from(load.files())).flat_map(move |file| {
        (0..size.div_ceil(WARM_EVERY)).map(move |n| file * size + n * WARM_EVERY)
    });
    let mut known = None;
    places.flat_map(move |place| {
        let leaf = mapping.checksums(place);
        let unknown = (known != Some(leaf)).then_some((leaf, NODE));
        known = Some(leaf);
        unknown.into_iter().chain([(place, 1 << BLOCK_BITS)])
    })
}
