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

/// The period, in process ids, of policies that choose by process id; it is divisible by 2, 3 and 4
/// copies.
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
/// The first action that fails ends the plan. Of the remaining actions, only those are run that end
/// what an earlier action started ([`Self::StopBackground`], [`Self::StopWitness`]). The rest of
/// the plan is left out in the same way if a program of the background ends before the measurement.
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
    /// Uses up this many ids.
    Consume(u32),
}

/// Starts or ends bcache in front of disks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Bcache {
    /// Puts `cache` in front of `disks`, which are then replaced by `/dev/bcache0` and so on.
    Start {
        /// The command that makes both. Without it, disks and cache are used as an earlier action
        /// left them.
        make: Option<Vec<String>>,
        disks: Vec<String>,
        cache: String,
    },
    /// Ends bcache on all disks, so that they are clean the next time.
    Stop,
}

/// Lets other programs use the disks, which were reserved until now (on a real machine).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Release {}

/// A program that is run to its end, and that has to succeed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of its step: `mkfs`, `prepare`, `witness`, `look`, `fsck`, `md`, `zpool` or `wipe`.
    pub step: String,
    /// The program and its arguments.
    pub command: Vec<String>,
}

/// Makes software RAID of empty disks, or assembles it from disks that have it already.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartRaid {
    pub command: Vec<String>,
}

/// Makes a pool of OpenZFS of empty disks, or imports the pool that they have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartPool {
    /// Names in `/dev` of the disks, which get second device nodes in `nodes`.
    pub disks: Vec<String>,
    /// The folder of the device nodes. On a real machine it is one of the run's own, because ZFS's
    /// threads look up nodes from the root that all processes share.
    pub nodes: PathBuf,
    pub command: Vec<String>,
}

/// Unmounts filesystems, in this order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unmount {
    pub all: Vec<Side>,
}

/// Writes test files into [`crate::places::POOL`] (with O_DIRECT, 1 MiB at a time), and fragmented
/// trees in turn with them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriteFiles {
    pub files: Vec<ZeroFile>,
    pub trees: Option<Trees>,
    /// Seed of the files' contents; without it, files are zeroes. Drives and filesystems that
    /// compress make zeroes free.
    pub contents: Option<Seed>,
}

/// Lays out the files of the file workload below [`crate::places::FSLOAD`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LayOutFsload {
    pub load: Fsload,
}

/// Makes the files, folders and links below [`crate::places::ROOT`] that a program needs to start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MakeEntries {
    pub all: Vec<StartupEntry>,
    /// Times at which each entry was changed on this machine, in ns since 1970. Programs compare
    /// them with times that they have noted. If given, files get the contents of this machine's
    /// files of the same names.
    pub modified: Option<Vec<i64>>,
    /// Seed of the contents of files that this machine does not have, as in
    /// [`WriteFiles::contents`].
    pub contents: Option<Seed>,
}

/// Takes the first of the snapshots that a background takes; all later ones are differences to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirstSnapshot {
    pub tool: Tool,
    /// Whether the snapshot is sent to the replica too.
    pub replicated: bool,
}

/// Writes all that is dirty, and drops cached data of the disks from memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DropCaches {
    /// A command that reads the measuring program into memory again, so that this is not measured.
    pub reread: Option<Vec<String>>,
}

/// Reads one block at regular intervals of a file in [`crate::places::POOL`], past the page cache,
/// so that the filesystem's metadata of the file is in memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmMetadata {
    pub name: String,
    pub every: Bytes,
}

/// Checks, once the filesystem is mounted, that everything that was promised before a power cut is
/// there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSurvival {
    /// The number of the last record of the witness that has to be there; so have all before it,
    /// from 1.
    pub promised: u64,
    /// Files below [`crate::places::FSLOAD`] that the file workload had fsynced.
    pub files: Vec<Promise>,
}

/// Starts the witness of power cuts, which writes records and fsyncs each.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartWitness {}

/// Ends the witness.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StopWitness {}

/// I/O priorities and weights of the measured program and of the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetPriorities {
    pub measured: Priority,
    pub background: Priority,
}

impl SetPriorities {
    /// Returns both priorities with the names of their cgroups.
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
    /// Time in virtual ns for which the programs run before the next action.
    pub lead_ns: u64,
    /// Interval in virtual ns of sync(2), which writes all that is dirty, while the programs run.
    pub sync_every_ns: Option<u64>,
    pub processes: Vec<RepeatedProgram>,
    pub snapshots: Option<SnapshotSchedule>,
    /// Threads that work on many files.
    pub fsload: Option<BackgroundFsload>,
}

/// Ends the background. Fails if a program of the background had ended by itself.
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

/// A program that is started again each time it has ended with success.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepeatedProgram {
    /// The program and its arguments. At each start, [`disklab_config::command::TREE`] in them is
    /// replaced by the next tree.
    pub command: Vec<String>,
    /// Largest number of starts, for a program that takes a tree at each start.
    pub trees: Option<u32>,
    /// Pause before the program is started again, in virtual ns.
    pub pause_ns: u64,
}

/// A moment of a trial, as its steps name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum When {
    /// Just before the measured program starts.
    Before,
    /// Just after the measured program has ended.
    After,
}

/// Copies files of sysfs, as they are now, into the record. Files that the kernel lacks are left
/// out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeepFiles {
    pub when: When,
    /// Paths of the files. A `*` stands for the name of any folder.
    pub patterns: Vec<String>,
}

/// Reports the used bytes of the filesystems.
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
    /// A mount point; the used bytes are those of statvfs(3).
    Folder(String),
    /// A dataset of OpenZFS; the used bytes include its snapshots, which statvfs leaves out.
    Dataset(String),
}

/// Checks that settings still have their values: on a real machine other programs may change them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CheckSettings {
    pub all: Vec<Setting>,
}
