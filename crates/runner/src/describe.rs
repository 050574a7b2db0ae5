//! A trial as a machine and actions: what its kernel gets, and what its first process does.

use crate::{fio, fsload, phases, power_cut, stack, startup};
use disklab_config::device::{Constant, Model};
use disklab_config::priority::Priority;
use disklab_config::scheduler::QUEUE;
use disklab_config::suite::Metadata;
use disklab_config::workload::{FioLoad, Job, WorkloadKind};
use disklab_config::{Filesystem, Layout, SchedulerChoice, Trial};
use disklab_protocol::action::{
    Action, FirstSnapshot, KeepFiles, PIDS, Pids, Plan, RepeatedProgram, ReportSpace,
    SetPriorities, SpaceOf, StartBackground, StartWitness, StopBackground, StopWitness,
    WarmMetadata, When, WriteFiles,
};
use disklab_protocol::machine::{GuestMachine, MachineDisk};
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_protocol::measure::{Gate, Measure, Measured, WarmUp};
use disklab_protocol::places::{POOL, Side, TRIAL};
use disklab_protocol::setup::{Setting, ZeroFile};
use disklab_protocol::snapshots::{SnapshotSchedule, Tool};
use disklab_units::{Bytes, Nanos, Seed};

/// The test file of a filesystem; where each job has its own, their numbers follow.
const TEST_FILE: &str = "test";
/// That of a workload that runs beside the measured one.
const BACKGROUND_FILE: &str = "background";
/// The folder of the disks' data, in a trial's folder.
pub const DISKS: &str = "disks";
/// A leaf of btrfs's checksum tree (16 KiB, 4 bytes for each 4 KiB) covers nearly 16 MiB of a file.
const CHECKSUM_LEAF: Bytes = Bytes::mib(12);
/// What fio opens where it has no file of its own to open.
const GATE: &str = "/tmp/gate";

/// The disks of a trial, whose data is in [`DISKS`]; with or without a trace of their requests.
pub fn machine(trial: &Trial, trace: bool) -> GuestMachine {
    let disks = trial.devices.iter().enumerate();
    let disks = disks.map(|(i, d)| MachineDisk {
        device: d.name.clone(),
        bytes: whole_blocks(d.used),
        size: d.bytes,
        model: d.model.clone(),
        image: image(i),
    });
    GuestMachine {
        build: disklab_guest::BUILD.to_owned(),
        seed: trial.seed,
        disks: disks.collect(),
        controller: trial
            .array
            .controller
            .map(|controller| (controller, trial.array.devices.len())),
        trace,
        power_cuts: trial.power_cut.map(|cut| power_cut::wanted(trial, cut)),
    }
}

/// The same disks, as fast as can be: to prepare them takes the kernel's work and no virtual time
/// to speak of.
pub fn preparing_machine(trial: &Trial) -> GuestMachine {
    let mut machine = machine(trial, false);
    machine.seed = Seed(0).derive("prepare");
    machine.controller = None;
    machine.power_cuts = None;
    for disk in &mut machine.disks {
        disk.model = Model::Constant(Constant {
            latency: Nanos(1000),
            servers: 32,
            rotational: disk.model.rotational(),
            queue_depth: 32,
        });
    }
    machine
}

fn image(index: usize) -> String {
    format!("{DISKS}/{index}.img")
}

fn whole_blocks(bytes: Bytes) -> Bytes {
    Bytes(bytes.0 / 4096 * 4096)
}

/// The plan that prepares the trial's disks; None for bare disks, which are zeroes to begin with.
pub fn preparing_plan(trial: &Trial) -> Option<Plan> {
    (trial.array.layout != Layout::SINGLE).then(|| {
        let start = stack::start(trial, true).into_iter();
        Plan::new(start.chain(contents(trial, None)).chain(stack::stop(trial)))
    })
}

/// Actions that put the trial's files on its mounted filesystem. Test files are filled with what
/// `contents` draws, and else with zeroes.
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

/// Programs that make what the workload and the background need.
fn prepare(trial: &Trial) -> Vec<Vec<String>> {
    let own = trial.workload.phases().into_iter().flat_map(|phases| &phases.prepare);
    let beside = trial.background.iter().flat_map(|background| &background.prepare);
    own.map(|words| phases::command(trial, words))
        .chain(beside.map(|words| on_pool(words)))
        .collect()
}

/// A background's command, in the guest.
fn on_pool(command: &[String]) -> Vec<String> {
    command.iter().map(|word| word.replace(disklab_config::command::POOL, POOL)).collect()
}

/// All fios of a trial, the measured one first.
fn loads(trial: &Trial) -> Vec<Load<'_>> {
    Load::measured(trial).into_iter().chain(Load::beside(trial)).collect()
}

/// The plan that measures: the prepared filesystem is mounted afresh, so its caches are cold.
pub fn plan(trial: &Trial) -> Plan {
    let pids = [Pids::Align, Pids::Consume(pid_offsets(trial).0)];
    let actions = pids.into_iter().map(Action::Pids);
    let actions = actions.chain(device_settings(trial).into_iter().map(Action::Set));
    let actions = actions.chain(stack::start(trial, false));
    Plan::new(actions.chain(measurement(trial, None)))
}

/// What a measurement has besides on a real machine, where process ids are used up by others too.
pub struct Besides {
    pub warm_up: Option<WarmUp>,
    /// Patterns of more files that are kept.
    pub keep: Vec<String>,
}

/// Actions from the mounted filesystem to the end of what is measured.
pub fn measurement(trial: &Trial, besides: Option<Besides>) -> Vec<Action> {
    let is_btrfs = trial.array.layout.filesystem() == Some(Filesystem::Btrfs);
    let is_guest = besides.is_none();
    let Besides { warm_up, keep } = besides.unwrap_or(Besides { warm_up: None, keep: Vec::new() });
    // btrfs's statistics of each device's reads, where the kernel has them. Of two filesystems it
    // could not be told which one's they are.
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

/// Reports how full the filesystems are, where snapshots or a replica fill them.
fn report_space(trial: &Trial, when: When) -> Option<Action> {
    let of = |side: Side| match stack::snapshot_tool(trial) {
        Tool::Btrfs => SpaceOf::Folder(side.folder().to_owned()),
        Tool::Zfs { .. } => SpaceOf::Dataset(stack::dataset_of(side, trial)),
    };
    let replica = trial.array.replica.as_ref().map(|_| of(Side::Replica));
    let is_reported = replica.is_some() || snapshots(trial).is_some();
    is_reported.then(|| Action::ReportSpace(ReportSpace { when, pool: of(Side::Pool), replica }))
}

/// The snapshots that its background takes.
fn snapshots(trial: &Trial) -> Option<SnapshotSchedule> {
    let snapshots = trial.background.as_ref()?.snapshots?;
    Some(SnapshotSchedule {
        tool: stack::snapshot_tool(trial),
        every_ns: snapshots.every.0,
        keep: snapshots.keep,
        replicate_every_ns: snapshots.replicate_every.map(|every| every.0),
    })
}

/// Whether the workload's requests are not the only ones.
pub fn is_accompanied(trial: &Trial) -> bool {
    trial.background.is_some() || trial.power_cut.is_some()
}

/// Whether the disks' phase is a window of its own, the same for all jobs. fio ends each job's ramp
/// with the first request that the job finishes after it: where a scheduler has jobs wait for
/// seconds, they measure at different times, and their sum is more than the disks ever moved.
pub fn has_one_window(trial: &Trial) -> bool {
    trial.workload.fio().is_some_and(|fio| fio.own_files)
}

/// Whether fio is waited for, to see when it begins.
fn is_gated(trial: &Trial) -> bool {
    is_accompanied(trial) || has_one_window(trial)
}

/// How long fio measures: where the window is the disks', from its start on.
pub fn fio_runtime(trial: &Trial) -> Nanos {
    if has_one_window(trial) { trial.ramp + trial.runtime } else { trial.runtime }
}

/// Of the disks themselves, whatever is above them: of several parts of one disk once.
pub fn device_settings(trial: &Trial) -> Vec<Setting> {
    let mut wholes: Vec<&String> = Vec::new();
    for whole in &trial.places.wholes {
        if !wholes.contains(&whole) {
            wholes.push(whole);
        }
    }
    wholes.into_iter().flat_map(|whole| scheduler(trial, whole)).collect()
}

/// How many process ids are used up before anything starts, and between a background and fio: by
/// them a policy that chooses by pid decides which mirrors the background gets, and whether fio
/// gets the same. The seeds take each of the few cases in turn, instead of drawing one: two copies
/// are four cases, and four seeds meet them all.
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
    // fio opens its file when it begins.
    let gate = is_gated(trial).then(|| Gate {
        file: if load.is_bare(trial) {
            GATE.to_owned()
        } else {
            format!("{POOL}/{}", load.files()[0])
        },
        length_ns: (trial.ramp + trial.runtime).0,
    });
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

/// What brings the filesystem's metadata into memory, if that is wanted.
pub fn warm_metadata(trial: &Trial) -> Vec<WarmMetadata> {
    let wanted = trial.array.layout.filesystem().is_some() && trial.metadata == Metadata::Warm;
    let warm = |name| WarmMetadata { name, every: CHECKSUM_LEAF };
    let files = loads(trial).into_iter().flat_map(|load| load.files());
    let of_phases = trial.workload.phases().into_iter();
    let of_phases = of_phases.flat_map(phases::files).map(|file| file.name);
    if wanted { files.chain(of_phases).map(warm).collect() } else { Vec::new() }
}

/// A disk's scheduler, and then its tunables, whose files are there only once it is.
fn scheduler(trial: &Trial, whole: &str) -> Vec<Setting> {
    let queue = format!("/sys/block/{whole}/queue");
    let SchedulerChoice { scheduler, tunables } = &trial.scheduler;
    let chosen =
        Setting { path: format!("{queue}/scheduler"), value: scheduler.to_string(), choice: true };
    let tuned = tunables.iter().map(|(name, value)| Setting {
        path: if QUEUE.contains(&name.as_str()) {
            format!("{queue}/{name}")
        } else {
            format!("{queue}/iosched/{name}")
        },
        value: value.to_string(),
        choice: false,
    });
    [chosen].into_iter().chain(tuned).collect()
}

/// What one fio is to do.
struct Load<'a> {
    /// The workload's name.
    name: &'a str,
    fio: &'a FioLoad,
    /// Its file; where each job has its own, their numbers follow.
    file: &'static str,
    output: String,
    /// What its seed is derived by.
    seed: &'static str,
    ramp: Nanos,
    runtime: Nanos,
    /// It is waited for, to see when it begins.
    gated: bool,
}

/// The measured fio's command, to run before it for no longer than this; None where something else
/// is measured, or is to begin with cold caches.
pub fn warming(trial: &Trial, runtime: Nanos) -> Option<Vec<String>> {
    let fio = trial.workload.fio().filter(|fio| fio.is_direct())?;
    let load = Load {
        output: "/tmp/warm-up.json".to_owned(),
        // Not the requests that are measured.
        seed: "warm-up",
        ramp: Nanos::ZERO,
        runtime,
        gated: false,
        ..Load::of_measured(trial, fio)
    };
    Some(load.command(trial))
}

impl<'a> Load<'a> {
    fn measured(trial: &'a Trial) -> Option<Self> {
        trial.workload.fio().map(|fio| Self::of_measured(trial, fio))
    }

    fn of_measured(trial: &'a Trial, fio: &'a FioLoad) -> Self {
        Self {
            name: &trial.workload.name,
            fio,
            file: TEST_FILE,
            output: format!("{TRIAL}/{}", disklab_protocol::names::FIO),
            seed: "fio",
            ramp: if has_one_window(trial) { Nanos::ZERO } else { trial.ramp },
            runtime: fio_runtime(trial),
            gated: is_gated(trial),
        }
    }

    /// It runs until it is ended.
    fn beside(trial: &'a Trial) -> Option<Self> {
        let workload = trial.background.as_ref()?.workload.as_ref()?;
        Some(Self {
            name: &workload.name,
            fio: workload.fio()?,
            file: BACKGROUND_FILE,
            output: "/tmp/background.json".to_owned(),
            seed: "background",
            ramp: Nanos::ZERO,
            runtime: Nanos::from_secs(7 * 24 * 3600),
            gated: false,
        })
    }

    /// The names of its files in [`POOL`]; none where it reads the device itself.
    fn files(&self) -> Vec<String> {
        if self.fio.raw {
            Vec::new()
        } else if self.fio.own_files {
            (0..self.fio.files()).map(|number| format!("{}.{number}", self.file)).collect()
        } else {
            vec![self.file.to_owned()]
        }
    }

    /// Whether it reads a device itself.
    fn is_bare(&self, trial: &Trial) -> bool {
        self.fio.raw || trial.array.layout.filesystem().is_none()
    }

    /// fio's command line.
    fn command(&self, trial: &Trial) -> Vec<String> {
        let w = self.fio;
        let mut arguments = fio::program(&self.output, trial.seed.derive(self.seed));
        if w.own_files {
            // A definition for each job: fio has no other way to tell jobs their files.
            let each = w.jobs.iter().flat_map(|job| (0..job.numjobs).map(move |_| job));
            for (number, job) in each.enumerate() {
                arguments.extend(self.job(trial, &Job { numjobs: 1, ..job.clone() }, number));
            }
        } else {
            arguments.extend(w.jobs.iter().flat_map(|job| self.job(trial, job, 0)));
        }
        arguments
    }

    /// The options of one definition, on the file of this number.
    fn job(&self, trial: &Trial, job: &Job, number: usize) -> Vec<String> {
        let w = self.fio;
        let bare = self.is_bare(trial);
        let file = if bare {
            stack::device(trial)
        } else {
            format!("{POOL}/{}", self.files().swap_remove(number))
        };
        let mut options = fio::job(self.name, &file, w.file_size, job);
        options.extend([
            "--time_based".to_owned(),
            format!("--runtime={}us", self.runtime.0.div_ceil(1000)),
        ]);
        if self.ramp.0 > 0 {
            options.push(format!("--ramp_time={}us", self.ramp.0.div_ceil(1000)));
        }
        if bare && w.own_files {
            // On a bare device, a part of its own.
            options.push(format!("--offset={}", w.file_size.0 * number as u64));
        }
        if bare && number == 0 && self.gated {
            // Just before its first request; what fio appends to write to a file is never come to.
            options.push(format!("--exec_prerun=exec 3<{GATE}; exit 0;"));
        }
        options
    }
}
