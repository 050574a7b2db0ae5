//! `lab/backgrounds/*.toml`: the load that runs beside the measured workload.
//!
//! ```toml
//! summary = "a defragmentation, on trees of its own"
//! # time from the start of the background to the start of the workload
//! lead = { rotational = "5s", solid_state = "75ms" }
//!
//! # folders of fragmented files, made with the filesystem; may be left out
//! [trees]
//! count = 16
//! files = 16                # in each
//! filesize = "2 MiB"
//! fragment = "4 KiB"        # the files are written in pieces of this size, in random order
//!
//! [[prepare]]               # any number, in order, run once when the disks are prepared
//! command = ["git", "init", "{pool}/repository"]
//!
//! # programs that scripts among the commands start; may be left out
//! needs = ["awk"]
//!
//! [[process]]               # any number, all started at once
//! command = ["btrfs", "filesystem", "defragment", "-r", "{tree}"]
//! pause = "4s"              # before it is started again; may be left out
//! ```
//!
//! A process that ends well is started again until the measurement of the workload is over. If its
//! command has `{tree}`, it is started on the next tree each time, until none is left. If a process
//! fails, or has no tree left, before the measurement is over, the trial fails. `{pool}` is the
//! mount point of the filesystem. `room = "1 GiB"` beside the summary is the most that all programs
//! write together. `none` is the background of a suite that runs nothing beside its workload.
//!
//! Any workload of fio's or of many files is a background too, by its name: its jobs or threads run
//! from the suite's `ramp` before the measured workload until after it, on files of their own.
//! `workload = "10r-seq"` in a background runs the jobs of that workload beside the programs. A
//! table `[snapshots]` takes and replicates snapshots: see snapshots.rs. `ioprio` and `weight`
//! apply to everything that a background runs: see priority.rs.

use std::collections::BTreeMap;

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::command::{TREE, read_command};
use crate::disk_times::{DiskTimes, TIMES_BEFORE};
use crate::fsload::Fsload;
use crate::priority::Priority;
use crate::read::{TomlTable, from_table, given, unknown, values};
use crate::snapshots::Snapshots;
use crate::workload::{FioLoad, Workload};

/// The suite's word for no background.
pub const NONE: &str = "none";
/// The workloads of the lab by name. None stands for a workload whose file has mistakes.
pub type Workloads = BTreeMap<String, Option<Workload>>;

/// Programs that run beside the measured workload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Background {
    /// Name of the background's file, without `.toml`.
    pub name: String,
    /// Summary of one line for people.
    pub summary: String,
    /// Time from the start of the programs to the start of the workload.
    pub lead: DiskTimes,
    pub trees: Option<Trees>,
    /// Commands that run one after the other when the disks are prepared.
    pub prepare: Vec<Vec<String>>,
    /// Largest number of bytes that the programs write together.
    pub room: Bytes,
    pub processes: Vec<Process>,
    /// Programs that scripts among the commands start.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
    /// The workload that runs all the time beside the programs.
    pub workload: Option<Workload>,
    /// Snapshots that are taken at regular intervals.
    pub snapshots: Option<Snapshots>,
    pub priority: Priority,
}

from_table! {
    /// Folders of fragmented files.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Trees {
        pub count: u32 = within(1..=256),
        /// Number of files in each tree.
        pub files: u32 = within(1..=256),
        /// Size of each file.
        pub file_size["filesize"]: Bytes = within(Bytes::kib(64)..=Bytes::gib(1)),
        /// Size of the pieces in which the files are written, in random order over all files.
        pub fragment: Bytes = within(BLOCK..=Bytes::mib(1)),
    }
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub command: Vec<String>,
    /// Pause before the program is started again.
    pub pause: Nanos,
}

/// Largest number of files in all trees together. All are open while they are written, and a
/// process may have 1024 files open unless it asks for more.
const FILES_MAX: u64 = 512;
/// Smallest number of pieces with which a file counts as fragmented.
const FRAGMENTS_MIN: u64 = 16;
/// Largest number of pieces of all files together: writing more takes minutes.
const FRAGMENTS_MAX: u64 = 1 << 20;
const ROOM_MAX: Bytes = Bytes(100_000_000_000_000);
/// Block size of direct writes and of btrfs's allocations.
const BLOCK: Bytes = Bytes::kib(4);

impl Background {
    /// Reads the top table of a background's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>, workloads: &Workloads) -> Option<Self> {
        let summary = table.required("summary");
        let lead =
            table.required_table("lead").map(|lead| DiskTimes::from_table(&lead, &TIMES_BEFORE));
        let trees = table.table("trees").map(|trees| Trees::read(&trees));
        let has_trees = trees.is_some();
        let processes = table.read_tables("process", |one| Process::read(one, has_trees));
        let prepare = table.read_tables("prepare", |prepare| read_command(prepare, has_trees));
        let needs = values(table.list("needs"));
        let room = table.within_or("room", Bytes::ZERO..=ROOM_MAX, Bytes::ZERO);
        let priority = Priority::from_table(table);
        let fio_load = table.has("workload").then(|| workload(table, workloads));
        let snapshots = table.optional_table("snapshots", Snapshots::from_table);
        if !table.has("process") && fio_load.is_none() && !table.has("snapshots") {
            let programs = "programs, each under a [[process]] of its own";
            table.wrong("", format!("a background needs a `workload`, [snapshots], or {programs}"));
        }
        table.refuse_if(name == NONE, "", || {
            format!("`{NONE}` stands for no background: give the file another name")
        });
        let is_idle = |processes: &Vec<Process>| {
            !processes.is_empty() && !processes.iter().any(Process::uses_trees)
        };
        table.refuse_if(has_trees && processes.as_ref().is_some_and(is_idle), "trees", || {
            format!("no process has `{TREE}` in its command: nothing uses them")
        });
        Some(Self {
            name: name.to_owned(),
            summary: summary?,
            lead: lead??,
            trees: given(trees)?,
            prepare: prepare?,
            room: room?,
            processes: processes?,
            needs,
            workload: given(fio_load)?,
            snapshots: snapshots?,
            priority: priority?,
        })
    }

    /// Returns a background of one workload, which starts `lead` before the measured workload.
    pub fn of_workload(workload: &Workload, lead: DiskTimes) -> Self {
        Self {
            name: workload.name.clone(),
            summary: workload.summary.clone(),
            lead,
            trees: None,
            prepare: Vec::new(),
            room: Bytes::ZERO,
            processes: Vec::new(),
            needs: Vec::new(),
            workload: Some(workload.clone()),
            snapshots: None,
            priority: workload.priority,
        }
    }

    /// Returns the fio jobs of the background's workload, if it has any.
    pub fn fio(&self) -> Option<&FioLoad> {
        self.workload.as_ref()?.fio()
    }

    /// Returns the background's workload if fio runs it.
    pub fn fio_workload(&self) -> Option<&Workload> {
        self.workload.as_ref().filter(|workload| workload.fio().is_some())
    }

    /// Returns the background's workload if it is threads that work on many files.
    pub fn fsload(&self) -> Option<&Fsload> {
        self.workload.as_ref()?.file_load()
    }

    /// Returns the names of the programs that the background's commands start.
    pub fn programs(&self) -> impl Iterator<Item = &String> {
        let commands = self.processes.iter().map(|process| &process.command).chain(&self.prepare);
        // A word such as `{pool}/tool` is a program that the preparation makes.
        let first = commands.filter_map(|command| command.first());
        first.filter(|name| !name.contains('{')).chain(&self.needs)
    }

    /// Returns the bytes of all files that the background needs. The trees count twice, because a
    /// program that moves a file copies it before it frees the old blocks.
    pub fn bytes(&self) -> Bytes {
        let trees = self.trees.map(|trees| trees.bytes().saturating_mul(2));
        let files = self.workload.as_ref().map(Workload::bytes);
        trees.unwrap_or_default() + files.unwrap_or_default() + self.room
    }
}

impl Trees {
    /// Returns the bytes of all files of all trees together.
    pub fn bytes(&self) -> Bytes {
        self.file_size.saturating_mul(u64::from(self.count) * u64::from(self.files))
    }

    /// Returns the number of pieces in which all files together are written.
    pub fn fragments(&self) -> u64 {
        self.bytes().0 / self.fragment.0
    }

    fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let trees = Self::from_table(table)?;
        trees.check(table).then_some(trees)
    }

    fn check(&self, table: &TomlTable<'_, '_>) -> bool {
        let Self { fragment: Bytes(fragment), file_size, .. } = *self;
        let all = u64::from(self.count) * u64::from(self.files);
        table.refuse_if(all > FILES_MAX, "files", || {
            format!("{all} in all trees are too many: at most {FILES_MAX}")
        });
        let pieces = self.fragments();
        let wrong = if !fragment.is_multiple_of(BLOCK.0) {
            format!("{fragment} bytes are not a whole number of {BLOCK}")
        } else if !file_size.0.is_multiple_of(fragment) {
            format!("{file_size} is not a whole number of fragments")
        } else if file_size.0 / fragment < FRAGMENTS_MIN {
            format!("less than {FRAGMENTS_MIN} fragments are not a fragmented file")
        } else if pieces > FRAGMENTS_MAX {
            format!("{pieces} fragments in all trees are too many: at most {FRAGMENTS_MAX}")
        } else {
            return all <= FILES_MAX;
        };
        let of_fragment = !fragment.is_multiple_of(BLOCK.0);
        table.wrong(if of_fragment { "fragment" } else { "filesize" }, wrong);
        false
    }
}

impl Process {
    /// Returns whether each start of the process is on a tree of its own.
    pub fn uses_trees(&self) -> bool {
        self.command.iter().any(|word| word.contains(TREE))
    }

    fn read(table: &TomlTable<'_, '_>, has_trees: bool) -> Option<Self> {
        let pause = table.within_or("pause", Nanos::ZERO..=*TIMES_BEFORE.end(), Nanos::ZERO);
        Some(Self { command: read_command(table, has_trees)?, pause: pause? })
    }
}

/// Reads the name of the workload that runs as a background.
fn workload(table: &TomlTable<'_, '_>, workloads: &Workloads) -> Option<Workload> {
    let name: String = table.required("workload")?;
    // A workload that has mistakes counts as known: its own file reports them.
    let is_load = |workload: &Option<Workload>| workload.as_ref().is_none_or(Workload::is_endless);
    let loads = || workloads.iter().filter(|(_, workload)| is_load(workload));
    let found = loads().find(|(known, _)| **known == name);
    let known = loads().map(|(known, _)| known.as_str());
    let found = found.ok_or_else(|| {
        if workloads.contains_key(&name) {
            let known: Vec<&str> = known.collect();
            let known = known.join(", ");
            return format!("workload `{name}` ends by itself; a background needs one of: {known}");
        }
        unknown("workload", &name, known)
    });
    table.accept("workload", found).and_then(|(_, workload)| workload.clone())
}
