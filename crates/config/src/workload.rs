//! `lab/workloads/*.toml`: the measured load, in fio's words.
//!
//! ```toml
//! summary = "4 KiB random reads, one at a time"
//! rw = "randread"          # read, write, randread, randwrite, rw or randrw
//! bs = "4k"
//! filesize = "50 GiB"      # one file, laid out before anything is measured
//! ioengine = "libaio"      # psync, libaio or io_uring
//! iodepth = 1              # from here on: may be left out, the defaults are fio's
//! numjobs = 1              # jobs on the same file, reported together
//! direct = true            # default false
//! norandommap = true       # default false
//! refill_buffers = true    # default false
//! # default false: writes are of zeroes, which take no room on the host
//! zero_buffers = false
//! rwmixread = 50           # per cent; only with rw and randrw, default 50
//! ```
//!
//! A workload can also be several of them at once, each in a `[[job]]` of its own with the keys
//! from `rw` on:
//!
//! ```toml
//! summary = "five readers and five writers, each of a file of its own"
//! filesize = "2 GiB"       # each
//! own_files = true         # default false: all jobs on one file
//! sync_every = "2s"        # interval between calls of sync(2); may be left out
//!
//! [[job]]
//! rw = "read"
//! bs = "64k"
//! ioengine = "psync"
//! numjobs = 5
//!
//! [[job]]
//! rw = "write"
//! bs = "64k"
//! ioengine = "psync"
//! numjobs = 5
//! rate = "4 MB/s"          # of each of them, at most; may be left out
//! ```
//!
//! fio's own job file can say all that instead, on one file: see job_file/mod.rs.
//!
//! ```toml
//! summary = "readers beside a writer of 200 IOPS"
//! fio = "mine.fio"         # beside this file, or in a folder below
//! filesize = "2 GiB"       # may be left out: the size that its sections need
//! ```
//!
//! With `raw = true` the jobs read the device below the filesystem directly. This needs jobs that
//! only read, and one such device. `ioprio` and `weight` apply to all jobs: see priority.rs.
//!
//! The suite says how long a workload runs. Instead of fio jobs, a workload can be the start of a
//! program (startup.rs) or a program that needs data by deadlines (player.rs). It can also be
//! several phases one after the other (phases.rs), or threads that work on many files (fsload).

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::fsload::Fsload;
use crate::job::{FILES, JOB_KEYS};
pub use crate::job::{Ioengine, Job, Rw};
use crate::job_file::{self, JobFile, JobSection};
use crate::phases::Phases;
use crate::player::Player;
use crate::priority::Priority;
use crate::read::TomlTable;
use crate::startup::{Startup, Way};

/// A workload: the measured load, or a load beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Name of the workload's file, without `.toml`.
    pub name: String,
    /// Summary of one line for people.
    pub summary: String,
    #[serde(flatten)]
    pub kind: WorkloadKind,
    pub priority: Priority,
}

/// The kind of a workload, with its settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WorkloadKind {
    /// A program that starts, once.
    Startup(Startup),
    /// Phases: several actions, one after the other.
    Phases(Phases),
    /// Threads that work on many files.
    #[serde(rename = "fsload")]
    FileLoad(Fsload),
    /// A program that needs the data of one file by deadlines.
    #[serde(untagged)]
    Player { file_size: Bytes, player: Player },
    #[serde(untagged)]
    Fio(FioLoad),
}

/// fio jobs that run together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FioLoad {
    /// Size of each file, or of the range that stands for a file on a bare device.
    pub file_size: Bytes,
    /// Whether each job of each definition has a file of its own.
    pub own_files: bool,
    /// Interval between calls of sync(2).
    pub sync_every: Option<Nanos>,
    /// The job definitions, at least one.
    pub jobs: Vec<Job>,
    /// Whether the jobs read the device that the filesystem is on.
    pub raw: bool,
    /// The sections of fio's own job file, if the load is one. `jobs` are then a rough form of
    /// them, for estimates and lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<JobSection>,
}

const SYNC_EVERY: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(10)..=Nanos::from_secs(3600);

impl Workload {
    /// Reads the top table of a workload's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>) -> Option<Self> {
        let nowhere = |_: &str| Err("a job file is read beside a file of a lab only".to_owned());
        Self::read_with(name, table, &nowhere)
    }

    /// Reads like [`Self::read`]; `open` returns the text of a job file by its path.
    pub fn read_with(
        name: &str,
        table: &TomlTable<'_, '_>,
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Option<Self> {
        let summary = table.required("summary");
        let priority = Priority::from_table(table);
        let kind = WorkloadKind::read(table, open)?;
        Some(Self { name: name.to_owned(), summary: summary?, kind, priority: priority? })
    }

    /// Parses fio's own job file as a workload. An error holds all mistakes.
    pub fn of_job_file(name: &str, text: &str) -> Result<Self, String> {
        let file = JobFile::parse(text, None).map_err(|mistakes| mistakes.join("; "))?;
        Ok(Self {
            name: name.to_owned(),
            summary: "fio's own job file".to_owned(),
            kind: WorkloadKind::Fio(FioLoad::of_job_file(file)),
            priority: Priority::default(),
        })
    }

    /// Returns the sections of fio's own job file. The list is empty for other workloads.
    pub fn sections(&self) -> &[JobSection] {
        self.fio().map_or(&[], |fio| &fio.sections)
    }

    pub fn fio(&self) -> Option<&FioLoad> {
        if let WorkloadKind::Fio(fio) = &self.kind { Some(fio) } else { None }
    }

    pub fn fio_mut(&mut self) -> Option<&mut FioLoad> {
        if let WorkloadKind::Fio(fio) = &mut self.kind { Some(fio) } else { None }
    }

    pub fn startup(&self) -> Option<&Startup> {
        if let WorkloadKind::Startup(startup) = &self.kind { Some(startup) } else { None }
    }

    pub fn phases(&self) -> Option<&Phases> {
        if let WorkloadKind::Phases(phases) = &self.kind { Some(phases) } else { None }
    }

    pub fn file_load(&self) -> Option<&Fsload> {
        if let WorkloadKind::FileLoad(load) = &self.kind { Some(load) } else { None }
    }

    /// Returns the definitions of fio jobs. The list is empty for other workloads.
    pub fn jobs(&self) -> &[Job] {
        self.fio().map_or(&[], |fio| &fio.jobs)
    }

    /// Returns whether the workload runs for as long as it is given, so that it can run beside
    /// another.
    pub fn is_endless(&self) -> bool {
        // A job file may end by itself, and its sections say which jobs run together.
        let is_load = matches!(self.kind, WorkloadKind::Fio(_) | WorkloadKind::FileLoad(_));
        is_load && self.sections().is_empty()
    }

    /// Returns whether the workload ends by itself and needs no run time.
    pub fn ends(&self) -> bool {
        matches!(self.kind, WorkloadKind::Startup(_) | WorkloadKind::Phases(_))
    }

    /// Returns the workload with another number of jobs. The workload must have one definition
    /// only.
    #[must_use]
    pub fn with_numjobs(&self, numjobs: u32) -> Self {
        let mut workload = self.clone();
        match &mut workload.kind {
            WorkloadKind::Fio(fio) => fio.jobs.iter_mut().for_each(|job| job.numjobs = numjobs),
            WorkloadKind::Phases(phases) => phases.numjobs = numjobs,
            WorkloadKind::FileLoad(load) => {
                load.threads.iter_mut().for_each(|threads| threads.count = numjobs);
            }
            WorkloadKind::Startup(_) | WorkloadKind::Player { .. } => {}
        }
        workload
    }

    /// Returns the number of definitions of jobs or threads, each with a count of its own.
    pub fn definitions(&self) -> usize {
        self.jobs().len() + self.file_load().map_or(0, |load| load.threads.len())
    }

    /// Returns the workload with all of its files, whatever its scale. Returns None unless it has
    /// an `[fsload]`.
    #[must_use]
    pub fn full(&self) -> Option<Self> {
        let load = self.file_load()?;
        let kind = WorkloadKind::FileLoad(Fsload { scale: load.scale.max(100), ..load.clone() });
        Some(Self { kind, ..self.clone() })
    }

    /// Returns the workload with its program started in another way. Returns None unless a program
    /// starts.
    #[must_use]
    pub fn started(&self, way: Way) -> Option<Self> {
        let startup = Startup { way, ..self.startup()?.clone() };
        Some(Self { kind: WorkloadKind::Startup(startup), ..self.clone() })
    }

    /// Returns the size of all files together.
    pub fn bytes(&self) -> Bytes {
        match &self.kind {
            WorkloadKind::Fio(fio) if fio.raw => Bytes::ZERO,
            WorkloadKind::Fio(fio) => fio.all_files(),
            WorkloadKind::Startup(startup) => startup.bytes(),
            WorkloadKind::Player { file_size, .. } => *file_size,
            WorkloadKind::Phases(phases) => phases.bytes(),
            WorkloadKind::FileLoad(load) => load.bytes(),
        }
    }

    /// Returns the size of one of fio's files, or of all files together for other workloads.
    pub fn file_size(&self) -> Bytes {
        self.fio().map_or_else(|| self.bytes(), |fio| fio.file_size)
    }

    /// Returns the requests that all jobs or threads keep in flight together.
    pub fn depth(&self) -> u32 {
        let threads = self.file_load().map_or(0, Fsload::thread_count);
        self.fio().map_or(threads, FioLoad::depth)
    }
}

impl WorkloadKind {
    fn read(
        table: &TomlTable<'_, '_>,
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Option<Self> {
        if table.has("fio") {
            return FioLoad::read_job_file(table, open).map(Self::Fio);
        }
        if let Some(startup) = table.table("startup") {
            return Startup::read(&startup).map(Self::Startup);
        }
        if table.has("phase") {
            return Phases::from_table(table).map(Self::Phases);
        }
        if let Some(load) = table.table("fsload") {
            return Fsload::from_table(&load).map(Self::FileLoad);
        }
        let file_size = table.within("filesize", FILES);
        match table.table("player") {
            Some(player) => {
                let player = Player::from_table(&player, file_size)?;
                Some(Self::Player { file_size: file_size?, player })
            }
            None => FioLoad::read(table, file_size).map(Self::Fio),
        }
    }
}

impl FioLoad {
    fn read(table: &TomlTable<'_, '_>, file_size: Option<Bytes>) -> Option<Self> {
        let own_files = table.or("own_files", false);
        let raw = table.or("raw", false);
        let sync_every = table.optional_within("sync_every", SYNC_EVERY);
        let jobs = if table.has("job") {
            for key in JOB_KEYS.iter().filter(|key| table.has(key)) {
                table.wrong(key, "belongs to a job: write it in each [[job]]");
            }
            table.read_tables("job", |job| Job::read(job, file_size))
        } else {
            Job::read(table, file_size).map(|job| vec![job])
        };
        let jobs = jobs.filter(|jobs| !jobs.is_empty())?;
        if raw && jobs.iter().any(|job| job.rw.writes()) {
            table.wrong("raw", "is for readers: to write below a filesystem destroys it");
        }
        let (file_size, sync_every, sections) = (file_size?, sync_every?, Vec::new());
        Some(Self { file_size, own_files, sync_every, jobs, raw, sections })
    }

    fn read_job_file(
        table: &TomlTable<'_, '_>,
        open: &dyn Fn(&str) -> Result<String, String>,
    ) -> Option<Self> {
        let file_size = table.optional_within("filesize", FILES)?;
        let path: String = table.required("fio")?;
        let file = open(&path)
            .map_err(|message| vec![message])
            .and_then(|text| JobFile::parse(&text, file_size));
        match file {
            Ok(file) => Some(Self::of_job_file(file)),
            Err(mistakes) => {
                for mistake in mistakes {
                    table.wrong("fio", format!("{}: {mistake}", path.escape_debug()));
                }
                None
            }
        }
    }

    fn of_job_file(file: JobFile) -> Self {
        let JobFile { sections, jobs, file_size } = file;
        Self { file_size, own_files: false, sync_every: None, jobs, raw: false, sections }
    }

    /// Returns the number of groups of jobs that run in turn, each for as long as the suite says.
    pub fn groups(&self) -> u32 {
        job_file::groups(&self.sections)
    }

    /// Returns whether no job writes.
    pub fn only_reads(&self) -> bool {
        self.jobs.iter().all(|job| !job.rw.writes())
    }

    /// Returns whether all jobs bypass the page cache.
    pub fn is_direct(&self) -> bool {
        self.jobs.iter().all(|job| job.direct)
    }

    /// Returns the number of jobs of all definitions.
    pub fn numjobs(&self) -> u32 {
        self.jobs.iter().map(|job| job.numjobs).sum()
    }

    /// Returns the number of files, or of ranges of a bare device, that the jobs work on.
    pub fn files(&self) -> u32 {
        if self.own_files { self.numjobs() } else { 1 }
    }

    /// Returns the size of all files, or ranges of a bare device, together.
    pub fn all_files(&self) -> Bytes {
        self.file_size.saturating_mul(u64::from(self.files()))
    }

    /// Returns the requests that all jobs keep in flight together.
    pub fn depth(&self) -> u32 {
        self.jobs.iter().map(|job| job.depth() * job.numjobs).sum()
    }
}

#[cfg(test)]
mod tests {
    use disklab_units::Rate;

    use super::*;
    use crate::read::TomlReader;

    const PAIR: &str = r#"
summary = "readers and writers"
filesize = "1 GiB"
own_files = true
sync_every = "2s"
[[job]]
rw = "read"
bs = "64k"
ioengine = "psync"
numjobs = 5
[[job]]
rw = "randwrite"
bs = "4k"
ioengine = "libaio"
iodepth = 4
numjobs = 2
rate = "68 kB/s"
"#;

    fn read(text: &str) -> Result<Workload, String> {
        TomlReader::new("w", text)
            .read(|table| Workload::read("w", table))
            .map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn several_jobs_have_files_of_their_own() {
        let workload = read(PAIR).unwrap();
        let fio = workload.fio().unwrap();
        assert_eq!((fio.numjobs(), fio.files(), workload.depth()), (7, 7, 13));
        assert_eq!((workload.bytes(), fio.sync_every), (Bytes::gib(7), Some(Nanos::from_secs(2))));
        assert_eq!(fio.jobs[1].rate, Some(Rate(68_000)));
        let shared = read(&PAIR.replace("own_files = true", "")).unwrap();
        assert_eq!((shared.fio().unwrap().files(), shared.bytes()), (1, Bytes::gib(1)));
    }

    #[test]
    fn what_is_of_a_job_stands_with_it() {
        let above = PAIR.replace("sync_every = \"2s\"", "direct = true");
        let mistake = read(&above).unwrap_err();
        assert!(mistake.contains("direct: belongs to a job"), "{mistake}");
        let mistake = read(&PAIR.replace("iodepth = 4", "iodepth = 0")).unwrap_err();
        assert!(mistake.contains("job"), "{mistake}");
        let mistake = read(&PAIR.replace("bs = \"4k\"", "bs = \"100\"")).unwrap_err();
        assert!(mistake.contains("bs"), "{mistake}");
    }
}
