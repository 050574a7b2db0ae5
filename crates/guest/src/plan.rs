//! What the guest's first process is to do: written by the one who starts the guest, as
//! [`disklab_protocol::names::PLAN`].

use disklab_block_devices::Disk;
use disklab_config::background::Trees;
use disklab_config::fsload::Fsload;
use disklab_config::player::Player;
use disklab_config::priority::Priority;
use disklab_config::startup::{StartupEntry, StartupThreads};
use disklab_fsload::promises::Promise;
use disklab_units::{Bytes, Nanos, Seed};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Where the plan's filesystem is mounted in the guest.
pub const POOL: &str = "/mnt/pool";
/// Where its replica is.
pub const REPLICA: &str = "/mnt/replica";
/// Where the guest sees the trial's folder.
pub const TRIAL: &str = "/mnt/trial";
/// Where the files of a program that starts are, as its root.
pub const ROOT: &str = "/mnt/pool/root";
/// Where our own workload engine has its files.
pub const FSLOAD: &str = "/mnt/pool/fsload";
/// Where a background's trees are.
pub const TREES: &str = "/mnt/pool/trees";

/// What mount(2) calls OpenZFS.
pub const ZFS: &str = "zfs";
/// Its pool, and that of the replica.
pub const ZFS_POOL: &str = "disklab";
pub const ZFS_REPLICA: &str = "disklab-replica";
/// The dataset of a pool that is mounted.
pub fn zfs_data(pool: &str) -> String {
    format!("{pool}/data")
}

/// What is made of what is sent to the dataset of a replica.
pub fn zfs_copy(replica: &str) -> String {
    format!("{replica}/copy")
}

/// Where it finds the disks in a guest.
pub const ZFS_NODES: &str = "/dev/pool";

/// The luck of a policy that chooses by pid repeats after so many: divisible by 2, 3 and 4 copies.
pub const PIDS: i32 = 12;

/// A background's tree, from 0.
pub fn tree(number: u32) -> String {
    format!("{TREES}/{number}")
}

/// The steps, in the order of the fields. The default is to do nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// So many process ids are used up first, from a multiple of [`PIDS`] on: the luck of policies
    /// that choose by pid.
    pub burn_pids: u32,
    /// Settings of block devices, before anything touches them.
    pub device_settings: Vec<Setting>,
    /// Puts bcache in front of disks.
    pub cache: Option<Cache>,
    /// Settings of what that makes.
    pub cache_settings: Vec<Setting>,
    /// Joins disks to one device.
    pub raid: Option<Raid>,
    /// Pools of OpenZFS, of which the filesystem and its replica are parts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<Pool>,
    /// Makes the filesystem: a program and its arguments.
    pub mkfs: Option<Vec<String>>,
    /// Mounts it on [`POOL`].
    pub mount: Option<Mount>,
    /// Settings of the mounted filesystem.
    pub mount_settings: Vec<Setting>,
    /// A second filesystem, on other disks.
    pub replica: Option<Replica>,
    /// Files of zeroes to write into [`POOL`] (direct, 1 MiB at a time).
    pub files: Vec<ZeroFile>,
    /// Lays out its files below [`FSLOAD`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsload: Option<Fsload>,
    /// What a program's start needs, below [`ROOT`].
    pub entries: Option<Entries>,
    /// Programs that make what a background needs, one after the other.
    pub prepare: Vec<Vec<String>>,
    /// Fragmented files, whose pieces are written in turn with those.
    pub trees: Option<Trees>,
    /// The first of the snapshots that a background takes.
    pub first_snapshot: Option<FirstSnapshot>,
    /// Files of which a block is read every so often, so that the filesystem's metadata for them is
    /// in memory.
    pub touch: Vec<Touch>,
    /// What was promised before a power cut: looked for once the filesystem is mounted.
    pub look: Option<Look>,
    /// Prepares what a power cut is to be seen by: a program and its arguments. The witness runs
    /// beside what is measured.
    pub witness: Option<Vec<String>>,
    /// What runs beside what is measured.
    pub background: Option<Background>,
    /// Files of sysfs that are read just before what is measured starts and just after it has
    /// ended, where the kernel has them. A `*` stands for the names of any folders.
    pub keep: Vec<String>,
    /// Say how full the filesystems are before what is measured and after it.
    pub space: bool,
    /// What is measured.
    pub measure: Option<Measure>,
    /// Unmount in the end, and end what is below: the disks are to be used again.
    pub unmount: bool,
    /// Looks at the filesystem once it is unmounted: a program and its arguments.
    pub fsck: Option<Vec<String>>,
    /// It is carried out on a real machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<Host>,
}

/// What a plan has besides where the first process is not alone on its machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// In the trial's order. They are watched while it is measured.
    pub disks: Vec<Disk>,
    /// What is made in the kernel for this run has this name, or one that begins so: an instance of
    /// tracing, cgroups.
    pub name: String,
    /// Every request of theirs is noted.
    pub trace: bool,
    /// Where each change is noted before it is made.
    pub journal: PathBuf,
    /// Something is made on the disks, which have to be free, and, but for these, empty.
    pub overwrite: Option<Vec<PathBuf>>,
    /// Instead of a filesystem of its own: this folder is at [`POOL`], or this file is the test
    /// file there.
    pub at: Option<PathBuf>,
    /// Test files are filled by this: drives and filesystems that compress make zeroes free.
    pub contents: Seed,
}

impl Host {
    /// Programs that take off the disks what may be lost: mkfs leaves some of another's marks where
    /// they are, and a disk with two kinds of them is nobody's.
    pub fn wipes(&self) -> Vec<Vec<String>> {
        let again = self.overwrite.iter().flatten();
        let disks = again.filter_map(|path| self.disks.iter().find(|disk| disk.named == *path));
        let wipe = |disk: &Disk| {
            ["wipefs", "--all", "--quiet", &format!("/dev/{}", disk.name)]
                .map(str::to_owned)
                .to_vec()
        };
        disks.map(wipe).collect()
    }
}

/// Files, folders and links below [`ROOT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    pub all: Vec<StartupEntry>,
    /// With the contents that this machine's files of these names have, and when each was changed
    /// there, ns since 1970, which programs compare with what they have noted; otherwise with
    /// zeroes.
    pub modified: Option<Vec<i64>>,
}

/// Software RAID.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Raid {
    /// Makes it of empty disks, or of disks where it was: a program and its arguments.
    pub start: Vec<String>,
    pub stop: Vec<String>,
}

/// A pool of OpenZFS.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Disks by their names in `/dev`, which get second nodes in [`ZFS_NODES`].
    pub disks: Vec<String>,
    /// They get them there instead: on a real machine, where ZFS's threads look for them where all
    /// do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<PathBuf>,
    /// Makes it of empty disks, or finds it: a program and its arguments.
    pub start: Vec<String>,
    pub stop: Vec<String>,
}

/// Takes what is sent to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replica {
    /// Makes it: a program and its arguments.
    pub mkfs: Option<Vec<String>>,
    /// Mounts it on [`REPLICA`].
    pub mount: Mount,
}

/// What must be there after a power cut.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Look {
    /// The witness's records, from 1 to this one.
    pub promised: u64,
    /// What our own workload engine had fsynced, below [`FSLOAD`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<Promise>,
    /// Programs that look at the mounted filesystem, each with its arguments.
    pub programs: Vec<Vec<String>>,
}

/// Disks and what caches them; `/dev/bcache0` and so on are then in place of the disks, in their
/// order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Makes both; without it they are found as they were left.
    pub make: Option<Vec<String>>,
    pub disks: Vec<String>,
    pub cache: String,
}

/// A mount(2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mount {
    pub source: String,
    pub filesystem: String,
    /// As in mount(8)'s `-o`, without the options that mount(2) takes as flags.
    pub data: String,
    pub noatime: bool,
}

/// A value to write to a file of sysfs, and how to see that it took effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// A `*` may stand for a folder's name where only one fits (a filesystem's UUID).
    pub path: String,
    pub value: String,
    /// The file lists all choices with the active one in brackets; otherwise it holds just the
    /// value.
    pub choice: bool,
}

/// A file of zeroes: holes on the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ZeroFile {
    pub name: String,
    pub bytes: Bytes,
}

/// Reads of one block every so many bytes of a file in [`POOL`], past the page cache.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Touch {
    pub name: String,
    pub every: Bytes,
}

/// Programs that run beside the measured one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Background {
    /// They run for so long, in virtual ns, before the measured program starts.
    pub lead_ns: u64,
    /// So many process ids are used up then: policies that choose by pid send it where they send
    /// these, or elsewhere.
    pub burn_pids: u32,
    /// All that is dirty is written (sync(2)) so often while they run.
    pub sync_every_ns: Option<u64>,
    pub processes: Vec<Process>,
    pub snapshots: Option<Snapshots>,
    /// Threads that work on many files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fsload: Option<FsloadBeside>,
    pub priority: Priority,
}

/// A load of many files that runs until it is ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FsloadBeside {
    pub load: Fsload,
    pub seed: Seed,
}

/// Of which all later ones are differences.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FirstSnapshot {
    /// In [`POOL`] alone.
    Alone,
    /// And in [`REPLICA`].
    Replicated,
}

/// Snapshots of [`POOL`], again and again.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshots {
    /// One is due so often.
    pub every_ns: u64,
    /// So many stay.
    pub keep: u32,
    /// All that [`REPLICA`] does not have is sent there so often.
    pub replicate_every_ns: Option<u64>,
}

/// A program that is started again whenever it has ended well.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// The program and its arguments. [`disklab_config::command::TREE`] in them stands for the
    /// next tree each time.
    pub command: Vec<String>,
    /// So many times at most, if it takes a tree each time.
    pub trees: Option<u32>,
    /// Before it is started again, in virtual ns.
    pub pause_ns: u64,
}

/// What is measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub what: Measured,
    /// The same before it, until it is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<WarmUp>,
    /// The phase's name in the records.
    pub phase: String,
    /// Virtual ns after the first request in which nothing is counted.
    pub ramp_ns: u64,
    /// All that is dirty is written (sync(2)) so often while it runs.
    pub sync_every_ns: Option<u64>,
    pub priority: Priority,
}

/// A load that runs until its rate is steady, by fio's criteria for that, or for as long as it may.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WarmUp {
    /// The program and its arguments; it is ended.
    pub command: Vec<String>,
    /// The requests that the disks finish are counted so often.
    pub every_ns: u64,
    pub limit_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Measured {
    /// The program and its arguments; it has to end well.
    Program {
        command: Vec<String>,
        /// Where a background makes requests too. Without it, all requests from the program's start
        /// to its end are its.
        gate: Option<Gate>,
    },
    /// A start-up, of which the time is taken; whatever becomes of it is a result.
    Startup { way: Startup, limit_ns: u64 },
    /// Something that needs data of a file in [`POOL`] by deadlines; whatever becomes of it is a
    /// result.
    Player { player: Player, file: String, length: Nanos, seed: Seed },
    /// One thing after the other, each in a phase of its name.
    Phases(Vec<Phase>),
    /// Our own workload engine, on the files that were laid out below [`FSLOAD`].
    Fsload {
        load: Fsload,
        seed: Seed,
        ramp: Nanos,
        length: Nanos,
        /// What was fsynced is noted, and the disk library told of it.
        notes: bool,
    },
}

/// One of several; when it was over, and how, is a result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    pub name: String,
    /// All that is dirty is written before it, and what of the disks is in memory is dropped.
    pub cold: bool,
    /// It is given up then, and nothing after it is done.
    pub limit_ns: u64,
    /// Virtual time that each system call takes while it is measured.
    pub system_call_ns: u64,
    pub what: Act,
    /// Beside it from its begin to its end.
    pub reader: Option<Fio>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Act {
    Fio(Fio),
    /// A program and its arguments; it has to end well.
    Program(Vec<String>),
    /// The filesystem is unmounted before; then it gets its settings again.
    Remount {
        mount: Mount,
        settings: Vec<Setting>,
    },
}

/// A fio whose jobs say that they are [`ready`] and wait for [`GO`], and say when they are
/// [`over`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fio {
    /// The program and its arguments.
    pub command: Vec<String>,
    pub jobs: u32,
    /// How many of them wait for nobody else.
    pub first: u32,
    /// Where it leaves its report.
    pub report: String,
    /// What has to be there of [`POOL`]'s files, with so many bytes at least: fio makes what is
    /// missing, and says nothing.
    pub files: Vec<ZeroFile>,
}

/// Where jobs of phases say where they are: a pipe.
pub const SAY: &str = "/tmp/phase.say";
/// A pipe that can be opened once a phase begins.
pub const GO: &str = "/tmp/phase.go";

/// What a job of a phase says before its first request.
pub fn ready(phase: &str) -> String {
    format!("ready {phase}")
}

/// What it says when all that it wrote is on the disks.
pub fn over(phase: &str) -> String {
    format!("over {phase}")
}

/// How something starts, from [`ROOT`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub enum Startup {
    /// Its recorded steps, on the plan's entries.
    Replay { entries: Vec<StartupEntry>, threads: StartupThreads },
    /// The program itself, with that as its root.
    Program {
        command: Vec<String>,
        entries: Vec<StartupEntry>,
        /// `NAME=value`, beside what all have.
        environment: Vec<String>,
        /// A program, with the host's files, that runs before it; empty: there is none.
        server: Vec<String>,
    },
}

/// The phase is announced when the program opens a file, and is over so long after that.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    pub file: String,
    pub length_ns: u64,
}
