//! The `[[phase]]`s of a workload: what it does one after the other, each with its own time.
//!
//! ```toml
//! summary = "a file of 4 GB is written, then read; a tree is searched" system_call = "5us"       #
//! virtual time that each system call takes while it is measured; may be left out: none numjobs = 8
//! # `{jobs}` in commands; may be left out: 1 room = "1 GiB"            # what programs write at
//! most; may be left out: nothing needs = ["tar"]           # programs that scripts among the
//! commands start; may be left out expected = { rotational = "2min", solid_state = "10s" }   # how
//! long all takes, for `plan`; may be left out: it is guessed
//!
//! [[prepare]]               # any number, in order, run once when the disks are prepared
//! command = ["cp", "-r", "/usr/share/doc", "{pool}/tree"]
//!
//! [[phase]] name = "create" filesize = "4 GB"         # fio, with the keys of a job: until its
//! bytes are done, and what it wrote is on the disks file = "a" rw = "write" bs = "1M" ioengine =
//! "psync"
//!
//! [[phase]]
//! name = "both"
//! filesize = "4 GB"
//! [[phase.job]]             # or several jobs at once, each with its file
//! file = "a"
//! stonewall = true          # when those before it have ended; may be left out: with them
//! rw = "read"
//! # ...
//!
//! [[phase]] name = "find" command = ["find", "{pool}/tree", "-name", "x"]   # or a program caches
//! = "warm"           # or "cold", with nothing of the disks in memory; may be left out: cold limit
//! = "10min"           # it is given up then, which is a result; may be left out: an hour numbers =
//! "dbench"        # what reads numbers from what it prints; may be left out: nothing does
//!
//! [phase.reader]            # fio beside it, from its begin to its end, on a file of its own; may
//! be left out filesize = "1 GiB" rw = "randread"
//! # ...
//!
//! [[phase]]
//! name = "mount"
//! remount = true            # or the filesystem is unmounted, and mounting it is the phase
//! ```
//!
//! A file that a phase writes from its begin to its end (`rw = "write"`) is made by it; one that is
//! first read, or written in places, is laid out when the disks are prepared. In commands, `{pool}`
//! is where the filesystem is mounted, `{device}` the device that it is on (its first disk, or
//! md's), `{last}` the array's last disk, and `{spare}` the first of its spares.

mod numbers;

pub use numbers::PrintedNumbers;

use std::collections::BTreeMap;

use disklab_units::{Bytes, Nanos};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::command::{read_command, read_commands};
use crate::disk_times::DiskTimes;
use crate::job::{FILES, JOBS, Job};
use crate::metric_names as metric;
use crate::read::{TomlTable, choices, given, read_named, values};

/// The file of readers.
pub const READER_FILE: &str = "reader";

/// A workload that does one thing after the other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phases {
    /// Virtual time that each system call takes while a phase is measured.
    pub system_call: Nanos,
    /// For commands.
    pub numjobs: u32,
    /// What programs write at most.
    pub room: Bytes,
    /// Programs that scripts start.
    pub needs: Vec<String>,
    /// All phases together take about so long.
    pub expected: Option<DiskTimes>,
    /// Run one after the other when the disks are prepared.
    pub prepare: Vec<Vec<String>>,
    /// At least one, each with a name of its own.
    pub all: Vec<WorkloadPhase>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadPhase {
    pub name: String,
    pub caches: Caches,
    /// It is given up then.
    pub limit: Nanos,
    pub what: PhaseAction,
    /// Beside it.
    pub reader: Option<FileJob>,
}

choices! {
    /// What of the disks is in memory when a phase begins.
    #[derive(Default)]
    pub enum Caches: "state of caches" {
        #[default]
        Cold = "cold",
        /// What the phase before left.
        Warm = "warm",
    }
}

/// What a phase does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PhaseAction {
    /// fio, until all bytes are done.
    Fio(Vec<FileJob>),
    /// A program, until it has ended.
    Program { command: Vec<String>, numbers: Option<PrintedNumbers> },
    /// A mount.
    Remount,
}

/// A job of fio on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileJob {
    pub file: String,
    pub file_size: Bytes,
    pub job: Job,
    /// It begins when all jobs before it have ended.
    pub stonewall: bool,
}

const SYSTEM_CALLS: std::ops::RangeInclusive<Nanos> = Nanos::ZERO..=Nanos::from_millis(1);
const LIMITS: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(1)..=Nanos::from_secs(24 * 3600);
const LIMIT: Nanos = Nanos::from_secs(3600);
const ROOM: std::ops::RangeInclusive<Bytes> = Bytes::ZERO..=Bytes(100_000_000_000_000);
/// Its disks' trace is drawn as one picture.
const MOST: usize = 32;
/// The name of what other workloads measure.
const RESERVED: &str = "measure";

impl Phases {
    /// Reads what is beside the summary in a workload's file.
    pub(crate) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let system_call = table.within_or("system_call", SYSTEM_CALLS, Nanos::ZERO);
        let numjobs = table.within_or("numjobs", JOBS, 1);
        let room = table.within_or("room", ROOM, Bytes::ZERO);
        let needs = values(table.list("needs"));
        let expected =
            table.optional_table("expected", |expected| DiskTimes::read(expected, &LIMITS));
        let prepare = read_commands(table, false);
        let tables = table.tables("phase");
        let twice = |name: &str| format!("`{name}` is there twice");
        let all = read_named(&tables, "name", WorkloadPhase::read, |phase| &phase.name, twice);
        if tables.is_empty() || tables.len() > MOST {
            table.wrong("phase", format!("{} phases: from 1 to {MOST} are sensible", tables.len()));
        }
        let phases = Self {
            system_call: system_call?,
            numjobs: numjobs?,
            room: room?,
            needs,
            expected: expected?,
            prepare: prepare?,
            all: all?,
        };
        phases.check_files(&tables);
        Some(phases)
    }

    /// A file has its size from where it is made; nobody reads beyond that.
    fn check_files(&self, tables: &[TomlTable<'_, '_>]) {
        let mut sizes: BTreeMap<String, Bytes> = self.laid_out().into_iter().collect();
        for (phase, table) in self.all.iter().zip(tables) {
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

    /// Files that are there when the first phase begins, with their sizes: those of readers, and
    /// those that no phase makes before they are used.
    pub fn laid_out(&self) -> Vec<(String, Bytes)> {
        let mut found: IndexMap<String, Bytes> = IndexMap::new();
        let mut made: Vec<&str> = Vec::new();
        for phase in &self.all {
            let (makers, users): (Vec<_>, Vec<_>) =
                phase.jobs().iter().partition(|load| load.job.makes());
            // Of those that begin together, the one that reads needs it to be there.
            for load in users.iter().filter(|load| !made.contains(&load.file.as_str())) {
                let bytes = found.entry(load.file.clone()).or_default();
                *bytes = (*bytes).max(load.file_size);
            }
            made.extend(makers.iter().map(|load| load.file.as_str()));
        }
        let readers = self.all.iter().filter_map(|phase| phase.reader.as_ref());
        let largest = readers.map(|reader| reader.file_size).max();
        found.extend(largest.map(|bytes| (READER_FILE.to_owned(), bytes)));
        found.into_iter().collect()
    }

    /// Of all files, and what programs write.
    pub fn bytes(&self) -> Bytes {
        let mut largest: BTreeMap<&str, Bytes> = BTreeMap::new();
        for load in self.all.iter().flat_map(|phase| phase.jobs().iter().chain(&phase.reader)) {
            let bytes = largest.entry(&load.file).or_default();
            *bytes = (*bytes).max(load.file_size);
        }
        largest.values().fold(self.room, |all, bytes| all + *bytes)
    }

    /// After which all are given up.
    pub fn limit(&self) -> Nanos {
        self.all.iter().fold(Nanos::ZERO, |all, phase| all.saturating_add(phase.limit))
    }

    /// Whether its filesystem is mounted anew between phases.
    pub fn mounts(&self) -> bool {
        self.all.iter().any(|phase| matches!(phase.what, PhaseAction::Remount))
    }

    /// Whether a command has this word.
    pub fn uses(&self, word: &str) -> bool {
        self.commands().flatten().any(|known| known.contains(word))
    }

    /// Programs that commands start, by name.
    pub fn programs(&self) -> impl Iterator<Item = &String> {
        let first = self.commands().filter_map(|command| command.first());
        first.filter(|name| !name.contains('{')).chain(&self.needs)
    }

    /// The commands of phases, then those that prepare disks.
    fn commands(&self) -> impl Iterator<Item = &Vec<String>> {
        let commands = self.all.iter().filter_map(|phase| match &phase.what {
            PhaseAction::Program { command, .. } => Some(command),
            PhaseAction::Fio(_) | PhaseAction::Remount => None,
        });
        commands.chain(&self.prepare)
    }

    /// The names of all its results.
    pub fn metrics(&self) -> impl Iterator<Item = String> {
        self.all.iter().flat_map(WorkloadPhase::metrics)
    }
}

impl WorkloadPhase {
    /// fio's, if it is fio.
    pub fn jobs(&self) -> &[FileJob] {
        match &self.what {
            PhaseAction::Fio(jobs) => jobs,
            PhaseAction::Program { .. } | PhaseAction::Remount => &[],
        }
    }

    /// The names of its results.
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

    /// The name of one of its results.
    pub fn metric(&self, what: &str) -> String {
        format!("{} {what}", self.name)
    }

    /// Whether fio writes in it.
    pub fn writes(&self) -> bool {
        self.jobs().iter().any(|load| load.job.rw.writes())
    }

    fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let name = table.required::<String>("name");
        if let Some(name) = name.as_ref().filter(|name| !is_name(name)) {
            let rule = "no phase's name: lower-case letters, digits and `-`";
            table.wrong("name", format!("`{}` is {rule}", name.escape_debug()));
        }
        if name.as_deref() == Some(RESERVED) {
            let message =
                format!("`{RESERVED}` is what other workloads measure: name it otherwise");
            table.wrong("name", message);
        }
        let caches = table.or("caches", Caches::default());
        let limit = table.within_or("limit", LIMITS, LIMIT);
        let what = PhaseAction::read(table);
        let reader = table.table("reader").map(|reader| {
            if table.has("remount") {
                reader.wrong("", "there is no file to read while the filesystem is not mounted");
            }
            read_reader(&reader)
        });
        Some(Self { name: name?, caches, limit: limit?, what: what?, reader: given(reader)? })
    }
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

/// One job with its keys in the phase, or several in tables of their own.
fn read_jobs(table: &TomlTable<'_, '_>) -> Option<Vec<FileJob>> {
    if !table.has("job") {
        return FileJob::read(table, None).map(|job| vec![job]);
    }
    let file_size = table.has("filesize").then(|| table.within("filesize", FILES));
    let jobs = table.read_tables("job", |job| FileJob::read(job, file_size.flatten()));
    jobs.filter(|jobs| !jobs.is_empty())
}

fn read_reader(table: &TomlTable<'_, '_>) -> Option<FileJob> {
    let file_size = table.within("filesize", FILES);
    let job = Job::read(table, file_size);
    if job.as_ref().is_some_and(|job| job.rw.writes()) {
        table.wrong("rw", "a reader reads: read or randread");
    }
    let file = READER_FILE.to_owned();
    Some(FileJob { file, file_size: file_size?, job: job?, stonewall: false })
}

impl FileJob {
    /// `file_size` is its phase's, if that has one for all.
    fn read(table: &TomlTable<'_, '_>, file_size: Option<Bytes>) -> Option<Self> {
        let file = table.required::<String>("file");
        let is_plain = |name: &str| {
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.starts_with('.') && !name.is_empty() && name.bytes().all(fits)
        };
        if let Some(name) = file.as_ref().filter(|name| !is_plain(name)) {
            table.wrong("file", format!("`{}` is no plain name of a file", name.escape_debug()));
        }
        if file.as_deref() == Some(READER_FILE) {
            let message =
                format!("`{READER_FILE}` is the file of [phase.reader]: name it otherwise");
            table.wrong("file", message);
        }
        let file_size = match file_size {
            Some(common) if !table.has("filesize") => Some(common),
            _ => table.within("filesize", FILES),
        };
        let job = Job::read(table, file_size);
        let stonewall = table.or("stonewall", false);
        Some(Self { file: file?, file_size: file_size?, job: job?, stonewall })
    }

    /// What it reads and writes in all.
    pub fn bytes(&self) -> Bytes {
        self.file_size.saturating_mul(u64::from(self.job.numjobs))
    }
}

/// It is a word of a mark, and of the names of results.
fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && name.len() <= 40 && name.bytes().all(fits)
}
