//! The `[[phase]]`s of a workload: actions that run one after the other, each with its own time.
//!
//! ```toml
//! summary = "a file of 4 GB is written, then read; a tree is searched"
//! # virtual time of each system call while a phase is measured; may be left out: none
//! system_call = "5us"
//! numjobs = 8               # `{jobs}` in commands; may be left out: 1
//! room = "1 GiB"            # the most that programs write; may be left out: nothing
//! needs = ["tar"]           # programs that scripts among the commands start; may be left out
//! # time of all phases together, for `plan`; may be left out: it is guessed
//! expected = { rotational = "2min", solid_state = "10s" }
//!
//! [[prepare]]               # any number, in order, run once when the disks are prepared
//! command = ["cp", "-r", "/usr/share/doc", "{pool}/tree"]
//!
//! [[phase]]
//! name = "create"
//! # fio, with the keys of a job: until its bytes are done and its writes are on the disks
//! filesize = "4 GB"
//! file = "a"
//! rw = "write"
//! bs = "1M"
//! ioengine = "psync"
//!
//! [[phase]]
//! name = "both"
//! filesize = "4 GB"
//! [[phase.job]]             # or several jobs at once, each with its file
//! file = "a"
//! stonewall = true          # begins after the jobs before it have ended; default: with them
//! rw = "read"
//! # ...
//!
//! [[phase]]
//! name = "find"
//! command = ["find", "{pool}/tree", "-name", "x"]   # or a program
//! # or "cold", with nothing of the disks in memory; may be left out: cold
//! caches = "warm"
//! limit = "10min"           # the phase is timed out then, a result; may be left out: an hour
//! # the parser for the numbers that the program prints; may be left out: none
//! numbers = "dbench"
//!
//! # fio beside it, from its begin to its end, on a file of its own; may be left out
//! [phase.reader]
//! filesize = "1 GiB"
//! rw = "randread"
//! # ...
//!
//! [[phase]]
//! name = "mount"
//! remount = true            # or a remount: the mount is timed, the unmount before it is not
//! ```
//!
//! If a phase writes a file from beginning to end (`rw = "write"`), that phase makes the file. A
//! file that is first read, or written in places, is laid out when the disks are prepared. In
//! commands, `{pool}` is the mount point of the filesystem and `{device}` the device that the
//! filesystem is on (its first disk, or md's). `{last}` is the array's last disk, and `{spare}` the
//! first of its spares.

mod numbers;

pub use numbers::PrintedNumbers;

use std::collections::BTreeMap;

use disklab_units::{Bytes, Nanos};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::command::read_command;
use crate::disk_times::DiskTimes;
use crate::job::{FILES, JOBS, Job};
use crate::metric_names as metric;
use crate::read::{TomlTable, choices, from_table, given, read_named, values};

/// Name of the file of readers.
pub const READER_FILE: &str = "reader";

from_table! {
    /// A workload of several phases, one after the other.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Phases {
        /// Virtual time that each system call takes while a phase is measured.
        pub system_call: Nanos = within_or(SYSTEM_CALLS, Nanos::ZERO),
        /// Number of jobs, for the word `{jobs}` in commands.
        pub numjobs: u32 = within_or(JOBS, 1),
        /// Largest number of bytes that programs write.
        pub room: Bytes = within_or(ROOM, Bytes::ZERO),
        /// Programs that scripts start.
        pub needs: Vec<String> = with(|table, key| Some(values(table.list(key)))),
        /// Approximate time of all phases together.
        pub expected: Option<DiskTimes> =
            optional_table(|expected| DiskTimes::from_table(expected, &LIMITS)),
        /// Commands that run one after the other when the disks are prepared.
        pub prepare: Vec<Vec<String>> = read_tables(|prepare| read_command(prepare, false)),
        /// The phases: at least one, each with a name of its own.
        pub all["phase"]: Vec<WorkloadPhase> = with(read_phases),
    }
}

from_table! {
    /// A phase of a workload.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct WorkloadPhase {
        /// Name of the phase, which begins the names of its results.
        pub name: String = with(read_name),
        /// Whether the page cache is dropped before the phase.
        pub caches: Caches = with_default(Caches::default()),
        /// The time after which the phase is timed out.
        pub limit: Nanos = within_or(LIMITS, LIMIT),
        /// The action that is measured.
        pub what: PhaseAction = with(|table, _| PhaseAction::read(table)),
        /// The job that reads beside the action, if there is one.
        pub reader: Option<FileJob> = with(|table, key| given(read_reader(table, key))),
    }
}

choices! {
    /// The state of the page cache when a phase begins.
    #[derive(Default)]
    pub enum Caches: "state of caches" {
        #[default]
        Cold = "cold",
        /// The page cache holds the data that the phase before left in it.
        Warm = "warm",
    }
}

/// The action of a phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseAction {
    /// fio, which runs until all bytes are done.
    Fio(Vec<FileJob>),
    /// A program, which runs until it has ended.
    Program { command: Vec<String>, numbers: Option<PrintedNumbers> },
    /// A remount of the filesystem, of which the mount is timed.
    Remount,
}

from_table! {
    /// A job of fio on one file.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FileJob(common_size: Option<Bytes>) {
        /// Name of the file.
        pub file: String = with(read_file_name),
        /// Size of the file.
        pub file_size["filesize"]: Bytes = with(|table, key| match common_size {
            Some(size) if !table.has(key) => Some(size),
            _ => table.within(key, FILES),
        }),
        /// The job as fio's options.
        pub job: Job = with(|table, _| Job::read(table, file_size)),
        /// Whether the job begins only when all jobs before it have ended.
        pub stonewall: bool = with_default(false),
    }
}

const SYSTEM_CALLS: std::ops::RangeInclusive<Nanos> = Nanos::ZERO..=Nanos::from_millis(1);
const LIMITS: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(24 * 3600);
const LIMIT: Nanos = Nanos::from_secs(3600);
const ROOM: std::ops::RangeInclusive<Bytes> = Bytes::ZERO..=Bytes(100_000_000_000_000);
/// Largest number of phases. The trace of all phases is drawn as one picture.
const MOST: usize = 32;
/// A reserved name: the phase of workloads that have no phases of their own.
const RESERVED: &str = "measure";

impl Phases {
    /// Returns the files that exist when the first phase begins, with their sizes.
    pub fn laid_out(&self) -> Vec<(String, Bytes)> {
        laid_out(&self.all)
    }

    /// Returns the bytes of all files, plus the largest number of bytes that programs write.
    pub fn bytes(&self) -> Bytes {
        let mut largest: BTreeMap<&str, Bytes> = BTreeMap::new();
        for load in self.all.iter().flat_map(|phase| phase.jobs().iter().chain(&phase.reader)) {
            let bytes = largest.entry(&load.file).or_default();
            *bytes = (*bytes).max(load.file_size);
        }
        largest.values().fold(self.room, |all, bytes| all + *bytes)
    }

    /// Returns the time after which all phases are timed out.
    pub fn limit(&self) -> Nanos {
        self.all.iter().fold(Nanos::ZERO, |all, phase| all.saturating_add(phase.limit))
    }

    /// Returns whether the filesystem is mounted again between phases.
    pub fn mounts(&self) -> bool {
        self.all.iter().any(|phase| matches!(phase.what, PhaseAction::Remount))
    }

    /// Returns whether a command has this word.
    pub fn uses(&self, word: &str) -> bool {
        self.commands().flatten().any(|known| known.contains(word))
    }

    /// Returns the names of the programs that commands start.
    pub fn programs(&self) -> impl Iterator<Item = &String> {
        let first = self.commands().filter_map(|command| command.first());
        first.filter(|name| !name.contains('{')).chain(&self.needs)
    }

    /// Returns the commands of phases, then those that prepare disks.
    fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        let commands = self.all.iter().filter_map(|phase| match &phase.what {
            PhaseAction::Program { command, .. } => Some(command),
            PhaseAction::Fio(_) | PhaseAction::Remount => None,
        });
        commands.chain(&self.prepare)
    }

    /// Returns the names of all results of the workload.
    pub fn metrics(&self) -> impl Iterator<Item = String> {
        self.all.iter().flat_map(WorkloadPhase::metrics)
    }
}

impl WorkloadPhase {
    /// Returns the jobs of fio in the phase. The list is empty if the phase runs no fio.
    pub fn jobs(&self) -> &[FileJob] {
        match &self.what {
            PhaseAction::Fio(jobs) => jobs,
            PhaseAction::Program { .. } | PhaseAction::Remount => &[],
        }
    }

    /// Returns the names of the phase's results.
    fn metrics(&self) -> Vec<String> {
        let (mut names, mut printed) = (vec![metric::TIME], Vec::new());
        match &self.what {
            PhaseAction::Fio(jobs) => {
                names.push(metric::BANDWIDTH);
                names.extend(jobs.iter().any(|load| load.job.rw.reads()).then_some(metric::READ));
                names.extend(self.writes().then_some(metric::WRITTEN));
            }
            PhaseAction::Program { numbers, .. } => {
                names.extend([metric::READ, metric::WRITTEN]);
                printed.extend(numbers.iter().flat_map(|numbers| numbers.metrics()));
            }
            PhaseAction::Remount => {}
        }
        let reader = metric::OF_A_READER.map(|name| format!("{} {name}", metric::READER));
        let reader = reader.into_iter().filter(|_| self.reader.is_some());
        let names = names.into_iter().map(str::to_owned).chain(printed).chain(reader);
        names.map(|name| self.metric(&name)).collect()
    }

    /// Returns the name of one result of the phase.
    pub fn metric(&self, what: &str) -> String {
        format!("{} {what}", self.name)
    }

    /// Returns whether fio writes in the phase.
    pub fn writes(&self) -> bool {
        self.jobs().iter().any(|load| load.job.rw.writes())
    }
}

fn read_phases(table: &TomlTable<'_, '_>, key: &str) -> Option<Vec<WorkloadPhase>> {
    let tables = table.tables(key);
    let twice = |name: &str| format!("`{name}` is given twice");
    let phases = read_named(&tables, "name", WorkloadPhase::from_table, |phase| &phase.name, twice);
    table.refuse_if(tables.is_empty() || tables.len() > MOST, key, || {
        format!("{} phases are out of range (1 to {MOST})", tables.len())
    });
    check_files(phases.as_deref()?, &tables);
    phases
}

/// Checks that no job reads beyond the end of a file. A file has its size from the phase that makes
/// it.
fn check_files(phases: &[WorkloadPhase], tables: &[TomlTable<'_, '_>]) {
    let mut sizes: BTreeMap<String, Bytes> = laid_out(phases).into_iter().collect();
    for (phase, table) in phases.iter().zip(tables) {
        for FileJob { file, file_size, job, stonewall: _ } in phase.jobs() {
            let bytes = sizes.entry(file.clone()).or_insert(*file_size);
            if job.makes() {
                *bytes = (*bytes).max(*file_size);
            } else if *bytes < *file_size {
                let now = format!("which has {bytes} when this phase begins");
                table.wrong("filesize", format!("{file_size} of `{file}`, {now}"));
            }
        }
    }
}

/// Returns the files that exist when the first phase begins, with their sizes: the files of
/// readers, and the files that no phase makes before another uses them.
fn laid_out(phases: &[WorkloadPhase]) -> Vec<(String, Bytes)> {
    let mut found: IndexMap<String, Bytes> = IndexMap::new();
    let mut made: Vec<&str> = Vec::new();
    for phase in phases {
        let (makers, users): (Vec<_>, Vec<_>) =
            phase.jobs().iter().partition(|load| load.job.makes());
        // If a reader and a maker of a file begin together, the file must exist before.
        for load in users.iter().filter(|load| !made.contains(&load.file.as_str())) {
            let bytes = found.entry(load.file.clone()).or_default();
            *bytes = (*bytes).max(load.file_size);
        }
        made.extend(makers.iter().map(|load| load.file.as_str()));
    }
    let readers = phases.iter().filter_map(|phase| phase.reader.as_ref());
    let largest = readers.map(|reader| reader.file_size).max();
    found.extend(largest.map(|bytes| (READER_FILE.to_owned(), bytes)));
    found.into_iter().collect()
}

fn read_name(table: &TomlTable<'_, '_>, key: &str) -> Option<String> {
    let name: String = table.required(key)?;
    table.refuse_if(!is_name(&name), key, || {
        let rule = "no phase's name: lower-case letters, digits and `-`";
        format!("`{}` is {rule}", name.escape_debug())
    });
    table.refuse_if(name == RESERVED, key, || {
        format!("`{RESERVED}` is what other workloads measure: give it another name")
    });
    Some(name)
}

impl PhaseAction {
    fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let is_fio = table.has("rw") || table.has("job");
        let kinds = [is_fio, table.has("command"), table.has("remount")];
        if kinds.into_iter().filter(|is_given| *is_given).count() != 1 {
            let kinds = "either fio's (`rw`, or [[phase.job]]s), a `command`, or a `remount`";
            table.wrong("", format!("a phase is {kinds}"));
            return None;
        }
        if is_fio {
            return read_jobs(table).map(Self::Fio);
        }
        if table.has("remount") {
            if table.required::<bool>("remount") == Some(false) {
                table.wrong("remount", "is true, or left out");
            }
            return Some(Self::Remount);
        }
        let numbers = table.given("numbers");
        Some(Self::Program { command: read_command(table, false)?, numbers: numbers? })
    }
}

/// Reads one job with its keys in the phase, or several jobs in tables of their own.
fn read_jobs(table: &TomlTable<'_, '_>) -> Option<Vec<FileJob>> {
    if !table.has("job") {
        return FileJob::from_table(table, None).map(|job| vec![job]);
    }
    let file_size = table.has("filesize").then(|| table.within("filesize", FILES));
    let jobs = table.read_tables("job", |job| FileJob::from_table(job, file_size.flatten()));
    jobs.filter(|jobs| !jobs.is_empty())
}

#[expect(clippy::option_option, reason = "left out and mistaken are two things")]
fn read_reader(phase: &TomlTable<'_, '_>, key: &str) -> Option<Option<FileJob>> {
    let table = phase.table(key)?;
    if phase.has("remount") {
        table.wrong("", "there is no file to read while the filesystem is not mounted");
    }
    let file_size = table.within("filesize", FILES);
    let job = Job::read(&table, file_size);
    if job.as_ref().is_some_and(|job| job.rw.writes()) {
        table.wrong("rw", "a reader reads: read or randread");
    }
    let file = READER_FILE.to_owned();
    let reader = |file_size| Some(FileJob { file, file_size, job: job?, stonewall: false });
    Some(file_size.and_then(reader))
}

fn read_file_name(table: &TomlTable<'_, '_>, key: &str) -> Option<String> {
    let name: String = table.required(key)?;
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let is_plain = !name.starts_with('.') && !name.is_empty() && name.bytes().all(fits);
    table.refuse_if(!is_plain, key, || {
        format!("`{}` is not a plain name of a file", name.escape_debug())
    });
    table.refuse_if(name == READER_FILE, key, || {
        format!("`{READER_FILE}` is the file of [phase.reader]: give it another name")
    });
    Some(name)
}

impl FileJob {
    /// Returns the bytes that the job reads and writes in all.
    pub fn bytes(&self) -> Bytes {
        self.file_size.saturating_mul(u64::from(self.job.numjobs))
    }
}

/// Returns whether a word can be the name of a phase: part of a mark, and of the names of results.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 40 && name.bytes().all(fits)
}
