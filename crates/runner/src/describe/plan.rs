//! The plans of a trial: lists of actions for the first process.

use super::fio::{Load, TEST_FILE, is_accompanied, is_gated, loads};
use super::machine::preparing_machine;
use super::scheduler::device_settings;
use super::{fsload, phases, power_cut, stack, startup};
use disklab_config::priority::Priority;
use disklab_config::suite::Metadata;
use disklab_config::workload::WorkloadKind;
use disklab_config::{Filesystem, Layout, Trial};
use disklab_protocol::action::{
    Action, FirstSnapshot, KeepFiles, PIDS, Pids, Plan, RepeatedProgram, ReportSpace,
    SetPriorities, SpaceOf, StartBackground, StartWitness, StopBackground, StopWitness,
    WarmMetadata, When, WriteFiles,
};
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_protocol::measure::{Gate, Measure, Measured, WarmUp};
use disklab_protocol::places::{POOL, Side};
use disklab_protocol::setup::ZeroFile;
use disklab_protocol::snapshots::{SnapshotSchedule, Tool};
use disklab_units::{Bytes, Seed};

/// A leaf of btrfs's checksum tree (16 KiB, 4 bytes for each 4 KiB) covers nearly 16 MiB of a file.
const CHECKSUM_LEAF: Bytes = Bytes::mib(12);

/// Returns the plan that prepares the trial's disks, or None for bare disks, which begin as zeroes.
pub fn preparing_plan(trial: &Trial) -> Option<Plan> {
    (trial.array.layout != Layout::SINGLE).then(|| {
        let start = stack::start(trial, true).into_iter();
        Plan::new(start.chain(contents(trial, None)).chain(stack::stop(trial)))
    })
}

/// Returns actions that put the trial's files on its mounted filesystem. Test files hold data drawn
/// from `contents`, or zeroes without it.
pub fn contents(trial: &Trial, contents: Option<Seed>) -> Vec<Action> {
    let files = loads(trial).into_iter().flat_map(|load| {
        let bytes = load.fio.file_size;
        load.files().into_iter().map(move |name| ZeroFile { name, bytes })
    });
    let film = match trial.workload.kind {
        WorkloadKind::Player { file_size, .. } => {
            Some(ZeroFile { name: TEST_FILE.to_owned(), bytes: file_size })
        }
        _ => None,
    };
    let of_phases = trial.workload.phases();
    let files = film.into_iter().chain(files).chain(of_phases.into_iter().flat_map(phases::files));
    let is_mounted = trial.array.layout.filesystem().is_some();
    let write = WriteFiles {
        files: files.filter(|_| is_mounted).collect(),
        trees: trial.background.as_ref().and_then(|background| background.trees),
        contents,
    };
    let writes = !write.files.is_empty() || write.trees.is_some();
    let mut actions: Vec<Action> =
        writes.then_some(Action::WriteFiles(write)).into_iter().collect();
    actions.extend(fsload::laid_out(trial).map(Action::LayOutFsload));
    actions.extend(startup::entries(trial, contents).map(Action::MakeEntries));
    actions.extend(prepare(trial).into_iter().map(|command| stack::run("prepare", command)));
    actions.extend(snapshots(trial).map(|later| {
        let replicated = later.replicate_every_ns.is_some();
        Action::FirstSnapshot(FirstSnapshot { tool: later.tool, replicated })
    }));
    actions
}

/// Returns the programs that make the files of the workload and the background.
fn prepare(trial: &Trial) -> Vec<Vec<String>> {
    let own = trial.workload.phases().into_iter().flat_map(|phases| &phases.prepare);
    let beside = trial.background.iter().flat_map(|background| &background.prepare);
    own.map(|words| phases::command(trial, words))
        .chain(beside.map(|words| on_pool(words)))
        .collect()
}

/// Returns a background's command, as the guest runs it.
fn on_pool(command: &[String]) -> Vec<String> {
    command.iter().map(|word| word.replace(disklab_config::command::POOL, POOL)).collect()
}

/// Returns the plan that measures. It mounts the prepared filesystem afresh, so that its caches are
/// cold.
pub fn plan(trial: &Trial) -> Plan {
    let pids = [Pids::Align, Pids::Consume(pid_offsets(trial).0)];
    let actions = pids.into_iter().map(Action::Pids);
    let actions = actions.chain(device_settings(trial).into_iter().map(Action::Set));
    let actions = actions.chain(stack::start(trial, false));
    Plan::new(actions.chain(measurement(trial, None)))
}

/// Additions to a measurement on a real machine, where other programs use up process ids too.
pub struct HostAdditions {
    pub warm_up: Option<WarmUp>,
    /// Patterns of further files to keep.
    pub keep: Vec<String>,
}

/// Returns actions from the mounted filesystem to the end of the measurement; `on_host` is None for
/// a guest.
pub fn measurement(trial: &Trial, on_host: Option<HostAdditions>) -> Vec<Action> {
    let is_btrfs = trial.array.layout.filesystem() == Some(Filesystem::Btrfs);
    let is_guest = on_host.is_none();
    let HostAdditions { warm_up, keep } =
        on_host.unwrap_or(HostAdditions { warm_up: None, keep: Vec::new() });
    // btrfs's statistics of each device's reads, if the kernel has them. With two filesystems they
    // would be ambiguous.
    let read_stats = (is_btrfs && trial.array.replica.is_none())
        .then(|| format!("{}/devinfo/*/read_stats", stack::sysfs_of_btrfs(trial)));
    let patterns: Vec<String> = read_stats.into_iter().chain(keep).collect();
    let keep = |when| {
        let patterns = patterns.clone();
        (!patterns.is_empty()).then_some(Action::KeepFiles(KeepFiles { when, patterns }))
    };
    let background = background(trial);
    let priorities = SetPriorities {
        measured: trial.workload.priority,
        background: trial.background.as_ref().map(|beside| beside.priority).unwrap_or_default(),
    };
    let has_priorities = [priorities.measured, priorities.background] != [Priority::default(); 2];

    let mut actions: Vec<Action> =
        warm_metadata(trial).into_iter().map(Action::WarmMetadata).collect();
    if trial.power_cut.is_some() {
        actions.push(stack::run("witness", power_cut::lay_out()));
        actions.push(Action::StartWitness(StartWitness {}));
    }
    actions.extend(has_priorities.then_some(Action::SetPriorities(priorities)));
    if let Some(background) = background.clone() {
        actions.push(Action::StartBackground(background));
        let pids = Pids::Consume(pid_offsets(trial).1);
        actions.extend(is_guest.then_some(Action::Pids(pids)));
    }
    actions.extend(warm_up.map(Action::WarmUp));
    actions.extend(keep(When::Before));
    actions.extend(report_space(trial, When::Before));
    actions.push(Action::Measure(Measure {
        what: measured(trial),
        phase: MEASURED_PHASE.to_owned(),
        ramp_ns: trial.ramp.0,
        sync_every_ns: trial.workload.fio().and_then(|fio| fio.sync_every).map(|every| every.0),
    }));
    actions.extend(keep(When::After));
    actions.extend(background.map(|_| Action::StopBackground(StopBackground {})));
    actions.extend(report_space(trial, When::After));
    actions.extend(trial.power_cut.map(|_| Action::StopWitness(StopWitness {})));
    actions
}

/// Reports how full the filesystems are, if snapshots or a replica fill them.
fn report_space(trial: &Trial, when: When) -> Option<Action> {
    let of = |side: Side| match stack::snapshot_tool(trial) {
        Tool::Btrfs => SpaceOf::Folder(side.folder().to_owned()),
        Tool::Zfs { .. } => SpaceOf::Dataset(stack::dataset_of(side, trial)),
    };
    let replica = trial.array.replica.as_ref().map(|_| of(Side::Replica));
    let is_reported = replica.is_some() || snapshots(trial).is_some();
    is_reported.then(|| Action::ReportSpace(ReportSpace { when, pool: of(Side::Pool), replica }))
}

/// Returns the schedule of the snapshots that the background takes.
fn snapshots(trial: &Trial) -> Option<SnapshotSchedule> {
    let snapshots = trial.background.as_ref()?.snapshots?;
    Some(SnapshotSchedule {
        tool: stack::snapshot_tool(trial),
        every_ns: snapshots.every.0,
        keep: snapshots.keep,
        replicate_every_ns: snapshots.replicate_every.map(|every| every.0),
    })
}

/// Returns the numbers of process ids to use up before anything starts, and between a background
/// and fio. With a policy that chooses by pid, they decide which mirror the background gets, and if
/// fio gets the same. The seeds take the few cases in turn, without a draw: two copies make four
/// cases, which four seeds cover.
fn pid_offsets(trial: &Trial) -> (u32, u32) {
    let index = trial.seed_index.saturating_sub(1);
    let round = PIDS.cast_unsigned();
    (index % round, index / 2 % round)
}

fn measured(trial: &Trial) -> Measured {
    let load = match &trial.workload.kind {
        WorkloadKind::Startup(startup) => return startup::measured(startup),
        WorkloadKind::Phases(phases) => return phases::measured(trial, phases),
        WorkloadKind::FileLoad(load) => return fsload::measured(trial, load),
        WorkloadKind::Player { player, .. } => {
            return Measured::Player {
                player: *player,
                file: format!("{POOL}/{TEST_FILE}"),
                length: trial.runtime,
                seed: trial.seed.derive("player"),
            };
        }
        WorkloadKind::Fio(fio) => Load::of_measured(trial, fio),
    };
    let length = (trial.ramp + trial.runtime).saturating_mul(u64::from(load.fio.groups()));
    let gate = is_gated(trial).then(|| Gate { file: load.gate(trial), length_ns: length.0 });
    Measured::Program { command: load.command(trial), gate }
}

fn background(trial: &Trial) -> Option<StartBackground> {
    let beside = trial.background.as_ref();
    let trees = beside.and_then(|background| background.trees).map(|trees| trees.count);
    let process = |process: &disklab_config::background::Process| RepeatedProgram {
        command: on_pool(&process.command),
        trees: trees.filter(|_| process.uses_trees()),
        pause_ns: process.pause.0,
    };
    let endless = |command| RepeatedProgram { command, trees: None, pause_ns: 0 };
    let processes = beside.iter().flat_map(|background| &background.processes).map(process);
    let witness = trial.power_cut.map(|_| endless(power_cut::rewrite(trial)));
    let load = Load::beside(trial);
    let fio = load.as_ref().map(|load| endless(load.command(trial)));
    is_accompanied(trial).then(|| StartBackground {
        lead_ns: trial.lead().0,
        processes: processes.chain(witness).chain(fio).collect(),
        snapshots: snapshots(trial),
        fsload: fsload::beside(trial),
        sync_every_ns: load.and_then(|load| load.fio.sync_every).map(|every| every.0),
    })
}

/// Returns actions that bring the filesystem's metadata into memory, if the trial wants it warm.
pub fn warm_metadata(trial: &Trial) -> Vec<WarmMetadata> {
    let wanted = trial.array.layout.filesystem().is_some() && trial.metadata == Metadata::Warm;
    let warm = |name| WarmMetadata { name, every: CHECKSUM_LEAF };
    let files = loads(trial).into_iter().flat_map(|load| load.files());
    let of_phases = trial.workload.phases().into_iter();
    let of_phases = of_phases.flat_map(phases::files).map(|file| file.name);
    if wanted { files.chain(of_phases).map(warm).collect() } else { Vec::new() }
}

/// Returns a digest of everything in a trial that decides the initial contents of its disks, except
/// for the kernel and the programs. Returns None for bare disks.
pub fn content(trial: &Trial) -> Option<String> {
    let plan = preparing_plan(trial)?;
    let text = serde_json::to_vec(&(preparing_machine(trial).disks, plan)).ok()?;
    Some(disklab_protocol::digest::sha256_hex(&text))
}
