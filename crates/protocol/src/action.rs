//! A plan: the actions of a first process, in order. The program writes it as
//! [`crate::names::PLAN`]; `disklab_guest::init` runs it, and prints it as commands.
//!
//! The file is the JSON of [`Plan`]. An action is an object with one key, its kind in snake case;
//! the value has the fields of the action's type. All fields are written, and one that does not
//! apply is null. An unknown kind or field is an error. Times are in virtual ns, sizes in bytes,
//! rates in bytes a second. The loads of files, start-ups and players are those of
//! `disklab_config`, as they were read.

use crate::measure::{Measure, WarmUp};
use crate::places::Side;
use crate::setup::{Mount, Setting, ZeroFile};
use crate::snapshots::{SnapshotSchedule, Tool};
use disklab_config::background::Trees;
use disklab_config::fsload::Fsload;
use disklab_config::priority::Priority;
use disklab_config::startup::StartupEntry;
use disklab_fsload::promises::Promise;
use disklab_units::{Bytes, Seed};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Policies that choose by process id repeat after so many: divisible by 2, 3 and 4 copies.
pub const PIDS: i32 = 12;

/// All actions of a first process. The default is to do nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    pub actions: Vec<Action>,
}

impl Plan {
    pub fn new(actions: impl IntoIterator<Item = Action>) -> Self {
        Self { actions: actions.into_iter().collect() }
    }
}

/// A kind of action with its data.
///
/// The first action that fails ends the plan. Of the rest, only those run that end what an earlier
/// action started ([`Self::StopBackground`], [`Self::StopWitness`]). The rest of the plan is left
/// out in the same way if a part of the background ends before the measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Action {
    Pids(Pids),
    Set(Setting),
    Bcache(Bcache),
    Release(Release),
    Run(Program),
    StartRaid(StartRaid),
    StartPool(StartPool),
    Mount(Mount),
    Unmount(Unmount),
    WriteFiles(WriteFiles),
    LayOutFsload(LayOutFsload),
    MakeEntries(MakeEntries),
    FirstSnapshot(FirstSnapshot),
    DropCaches(DropCaches),
    WarmMetadata(WarmMetadata),
    CheckSurvival(CheckSurvival),
    StartWitness(StartWitness),
    SetPriorities(SetPriorities),
    StartBackground(StartBackground),
    WarmUp(WarmUp),
    KeepFiles(KeepFiles),
    ReportSpace(ReportSpace),
    Measure(Measure),
    StopBackground(StopBackground),
    StopWitness(StopWitness),
    CheckSettings(CheckSettings),
}

/// Uses process ids up, so that policies that choose by process id choose the same each time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pids {
    /// Uses ids up until the next one is a multiple of [`PIDS`]. Kernels differ in how many
    /// threads they have started by then.
    Align,
    /// Uses so many ids up.
    Consume(u32),
}

/// bcache in front of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Bcache {
    /// Puts `cache` in front of `disks`: `/dev/bcache0` and so on are then in their place.
    Start {
        /// The command that makes both; without it they are found as they were left.
        make: Option<Vec<String>>,
        disks: Vec<String>,
        cache: String,
    },
    /// Ends all of it, so that it is found clean the next time.
    Stop,
}

/// Lets other programs have the disks, which were held until now (on a real machine).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {}

/// A program that is run to its end, which has to be a good one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of its step: `mkfs`, `prepare`, `witness`, `look`, `fsck`, `md`, `zpool` or `wipe`.
    pub step: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Makes software RAID of empty disks, or of disks where it was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRaid {
    pub command: Vec<String>,
}

/// Makes a pool of OpenZFS of empty disks, or finds it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPool {
    /// Disks by their names in `/dev`, which get second nodes in `nodes`.
    pub disks: Vec<String>,
    /// On a real machine a folder of the run's own: ZFS's threads look for nodes where all do.
    pub nodes: PathBuf,
    pub command: Vec<String>,
}

/// Unmounts filesystems, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmount {
    pub all: Vec<Side>,
}

/// Writes test files into [`crate::places::POOL`] (direct, 1 MiB at a time), and fragmented trees
/// in turn with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFiles {
    pub files: Vec<ZeroFile>,
    pub trees: Option<Trees>,
    /// Files are filled with what this draws, and else with zeroes. Drives and filesystems that
    /// compress make zeroes free.
    pub contents: Option<Seed>,
}

/// Lays out the files of the file workload below [`crate::places::FSLOAD`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayOutFsload {
    pub load: Fsload,
}

/// Makes files, folders and links below [`crate::places::ROOT`], which a program's start needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MakeEntries {
    pub all: Vec<StartupEntry>,
    /// When each was changed on this machine, ns since 1970, which programs compare with what they
    /// have noted: files then get the contents that this machine's files of these names have.
    pub modified: Option<Vec<i64>>,
    /// Seed of contents, as in [`WriteFiles::contents`], for files that this machine does not have.
    pub contents: Option<Seed>,
}

/// Takes the first of the snapshots that a background takes; all later ones are differences to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstSnapshot {
    pub tool: Tool,
    /// The replica gets it too.
    pub replicated: bool,
}

/// Writes all that is dirty, and drops what of the disks is in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropCaches {
    /// A command that reads the measuring program again, so that this is not measured.
    pub reread: Option<Vec<String>>,
}

/// Reads one block every so many bytes of a file in [`crate::places::POOL`], past the page cache,
/// so that the filesystem's metadata for it is in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmMetadata {
    pub name: String,
    pub every: Bytes,
}

/// Looks for what was promised before a power cut, once the filesystem is mounted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSurvival {
    /// The witness's records, from 1 to this one.
    pub promised: u64,
    /// Files that the file workload had fsynced, below [`crate::places::FSLOAD`].
    pub files: Vec<Promise>,
}

/// Starts to write records and to fsync each, by which a power cut is seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartWitness {}

/// Ends the witness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopWitness {}

/// I/O priorities and weights of what is measured and of what runs beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPriorities {
    pub measured: Priority,
    pub background: Priority,
}

impl SetPriorities {
    /// Both, by the names of their cgroups.
    pub fn each(&self) -> [(&'static str, &Priority); 2] {
        [("measured", &self.measured), ("background", &self.background)]
    }

    pub fn is_weighted(&self) -> bool {
        self.each().iter().any(|(_, priority)| priority.weight.is_some())
    }
}

/// Starts programs that run beside the measured one.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartBackground {
    /// They run for so long, in virtual ns, before the next action.
    pub lead_ns: u64,
    /// Interval of sync(2), which writes all that is dirty, while they run.
    pub sync_every_ns: Option<u64>,
    pub processes: Vec<RepeatedProgram>,
    pub snapshots: Option<SnapshotSchedule>,
    /// Threads that work on many files.
    pub fsload: Option<BackgroundFsload>,
}

/// Ends the background. An error if a part of it had ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopBackground {}

/// A load of many files that runs until it is ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BackgroundFsload {
    pub load: Fsload,
    pub seed: Seed,
}

/// A program that is started again whenever it has ended well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatedProgram {
    /// The program and its arguments. [`disklab_config::command::TREE`] in them stands for the
    /// next tree each time.
    pub command: Vec<String>,
    /// So many times at most, if it takes a tree each time.
    pub trees: Option<u32>,
    /// Before it is started again, in virtual ns.
    pub pause_ns: u64,
}

/// A moment of a trial, as its steps name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Just before what is measured starts.
    Before,
    /// Just after it has ended.
    After,
}

/// Keeps files of sysfs in the record as they are now, where the kernel has them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepFiles {
    pub when: When,
    /// A `*` stands for the names of any folders.
    pub patterns: Vec<String>,
}

/// Reports how full the filesystems are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReportSpace {
    pub when: When,
    pub pool: SpaceOf,
    pub replica: Option<SpaceOf>,
}

/// The source of a filesystem's used bytes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum SpaceOf {
    /// A mount point, by statvfs(3).
    Folder(String),
    /// A dataset of OpenZFS, with its snapshots, which statvfs leaves out.
    Dataset(String),
}

/// Checks that settings are still what they were set to: on a real machine others may change them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub all: Vec<Setting>,
}
