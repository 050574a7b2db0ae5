//! `lab/workloads/*.toml`: what is measured, in fio's words.
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
//! zero_buffers = false     # default false: what is written is zeroes, which take no room on the host
//! rwmixread = 50           # per cent; only with rw and randrw, default 50
//! ```
//!
//! Or several of them at once, each in a `[[job]]` of its own with the keys from `rw` on:
//!
//! ```toml
//! summary = "five readers and five writers, each of a file of its own"
//! filesize = "2 GiB"       # each
//! own_files = true         # default false: all jobs on one file
//! sync_every = "2s"        # sync(2) so often; may be left out
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
//! `raw = true` has them read the device below the filesystem, past it: readers only, and only
//! where one device is there. `ioprio` and `weight` are for all jobs: see priority.rs.
//!
//! How long it runs is the suite's to say. A workload can be the start of a program instead, one
//! that needs data by deadlines, or several phases one after the other, or threads that work on
//! many files: see startup.rs, player.rs, phases.rs and fsload.

use disklab_units::{Bytes, Nanos, Rate};
use serde::{Deserialize, Serialize};

use crate::fsload::Fsload;
use crate::phases::Phases;
use crate::player::Player;
use crate::priority::Priority;
use crate::read::{Table, choices};
use crate::startup::{Startup, Way};
use crate::suite::JOBS;

/// What fio does: jobs that run together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Workload {
    /// Its file's name.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// Of each file; on a bare device, of the part of it that stands for one.
    pub file_size: Bytes,
    /// Each job of each definition has a file of its own.
    pub own_files: bool,
    /// All that is dirty is written so often.
    pub sync_every: Option<Nanos>,
    /// fio's, unless it is one of the others.
    pub jobs: Vec<Job>,
    /// A program that starts, once.
    pub startup: Option<Startup>,
    /// One that needs data by deadlines.
    pub player: Option<Player>,
    /// What it does one after the other.
    pub phases: Option<Phases>,
    /// Threads that work on many files.
    pub fsload: Option<Fsload>,
    /// The jobs read the device that the filesystem is on.
    pub raw: bool,
    pub priority: Priority,
}

/// One fio job definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "fio's flags, each for itself")]
pub struct Job {
    pub rw: Rw,
    pub bs: Bytes,
    pub iodepth: u32,
    pub ioengine: Ioengine,
    pub numjobs: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// Random offsets may come twice before all have come once.
    pub norandommap: bool,
    /// New contents for every write.
    pub refill_buffers: bool,
    /// Zeroes are written.
    pub zero_buffers: bool,
    /// Of a load that reads and writes: how many per cent of its requests are reads.
    pub rwmixread: u32,
    /// Of each of its jobs at most, bytes a second.
    pub rate: Option<Rate>,
}

choices! {
    /// fio's `rw`.
    pub enum Rw: "rw" {
        Read = "read",
        Write = "write",
        Randread = "randread",
        Randwrite = "randwrite",
        /// Sequential reads and writes.
        Rw = "rw",
        /// Random reads and writes.
        Randrw = "randrw",
    }
}

choices! {
    /// fio's `ioengine`: those that say something about a kernel.
    pub enum Ioengine: "ioengine" {
        Psync = "psync",
        Libaio = "libaio",
        IoUring = "io_uring",
    }
}

impl Rw {
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::Randwrite)
    }

    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread)
    }
}

pub(crate) const FILES: std::ops::RangeInclusive<Bytes> =
    Bytes::kib(64)..=Bytes(100_000_000_000_000);
const SYNC_EVERY: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(10)..=Nanos::from_secs(3600);
pub(crate) const RATES: std::ops::RangeInclusive<Rate> = Rate(1000)..=Rate(256_000_000_000);
/// Which of the keys are a job's.
const OF_A_JOB: [&str; 11] = [
    "rw",
    "bs",
    "iodepth",
    "ioengine",
    "numjobs",
    "direct",
    "norandommap",
    "refill_buffers",
    "zero_buffers",
    "rwmixread",
    "rate",
];

impl Workload {
    /// Reads a file's top table; `name` is the file's.
    pub fn read(name: &str, table: &Table<'_, '_>) -> Option<Self> {
        let summary = table.required("summary");
        let priority = Priority::read(table);
        let blank = |summary: String, priority| Self {
            name: name.to_owned(),
            summary,
            file_size: Bytes(0),
            own_files: false,
            sync_every: None,
            jobs: Vec::new(),
            startup: None,
            player: None,
            phases: None,
            fsload: None,
            raw: false,
            priority,
        };
        if let Some(startup) = table.table("startup") {
            let startup = Startup::read(&startup);
            return Some(Self { startup: Some(startup?), ..blank(summary?, priority?) });
        }
        if table.has("phase") {
            let phases = Phases::read(table);
            return Some(Self { phases: Some(phases?), ..blank(summary?, priority?) });
        }
        if let Some(fsload) = table.table("fsload") {
            let fsload = Fsload::read(&fsload);
            return Some(Self { fsload: Some(fsload?), ..blank(summary?, priority?) });
        }
        let file_size = table.within("filesize", FILES);
        if let Some(player) = table.table("player") {
            let player = Player::read(&player, file_size);
            return Some(Self {
                file_size: file_size?,
                player: Some(player?),
                ..blank(summary?, priority?)
            });
        }
        let own_files = table.or("own_files", false);
        let raw = table.or("raw", false);
        let sync_every = table.has("sync_every").then(|| table.within("sync_every", SYNC_EVERY));
        let jobs: Vec<Option<Job>> = if table.has("job") {
            for key in OF_A_JOB.iter().filter(|key| table.has(key)) {
                table.wrong(key, "is of a job, and there are [[job]]s: write it there");
            }
            table.tables("job").iter().map(|job| Job::read(job, file_size)).collect()
        } else {
            vec![Job::read(table, file_size)]
        };
        let jobs = jobs.into_iter().collect::<Option<Vec<_>>>().filter(|jobs| !jobs.is_empty())?;
        if raw && jobs.iter().any(|job| job.rw.writes()) {
            table.wrong("raw", "is for readers: to write below a filesystem destroys it");
        }
        Some(Self {
            file_size: file_size?,
            own_files,
            sync_every: sync_every.map_or(Some(None), |every| every.map(Some))?,
            jobs,
            raw,
            ..blank(summary?, priority?)
        })
    }

    /// Whether it is fio's.
    pub fn is_fio(&self) -> bool {
        !self.jobs.is_empty()
    }

    /// Whether it goes on for as long as it is given: it can run beside another.
    pub fn is_endless(&self) -> bool {
        self.is_fio() || self.fsload.is_some()
    }

    /// With another number of jobs; one definition only.
    #[must_use]
    pub fn with_numjobs(&self, numjobs: u32) -> Self {
        let jobs = self.jobs.iter().map(|job| Job { numjobs, ..job.clone() }).collect();
        let phases = self.phases.clone().map(|phases| Phases { numjobs, ..phases });
        let fsload = self.fsload.as_ref().map(|fsload| fsload.with_threads(numjobs));
        Self { jobs, phases, fsload, ..self.clone() }
    }

    /// Whether it ends by itself, and needs no time to run for.
    pub fn ends(&self) -> bool {
        self.startup.is_some() || self.phases.is_some()
    }

    /// How many definitions of jobs or threads it has, each with a number of its own.
    pub fn definitions(&self) -> usize {
        self.jobs.len() + self.fsload.as_ref().map_or(0, |fsload| fsload.threads.len())
    }

    /// With all of its files, whatever its scale. None: its files are not many.
    #[must_use]
    pub fn full(&self) -> Option<Self> {
        let fsload = self.fsload.as_ref()?.full();
        Some(Self { fsload: Some(fsload), ..self.clone() })
    }

    /// With a program started in another way. None: nothing starts here.
    #[must_use]
    pub fn started(&self, way: Way) -> Option<Self> {
        let startup = Startup { way, ..self.startup.clone()? };
        Some(Self { startup: Some(startup), ..self.clone() })
    }

    /// Jobs of all definitions.
    pub fn numjobs(&self) -> u32 {
        self.jobs.iter().map(|job| job.numjobs).sum()
    }

    /// How many files they work on.
    pub fn files(&self) -> u32 {
        if self.own_files { self.numjobs() } else { 1 }
    }

    /// All files together.
    pub fn bytes(&self) -> Bytes {
        match (&self.startup, &self.phases) {
            _ if self.raw => Bytes(0),
            (Some(startup), _) => startup.bytes(),
            (None, Some(phases)) => phases.bytes(),
            (None, None) if self.fsload.is_some() => {
                self.fsload.as_ref().map(Fsload::bytes).unwrap_or_default()
            }
            (None, None) => self.file_size.saturating_mul(u64::from(self.files())),
        }
    }

    /// Requests that all jobs keep in flight together.
    pub fn depth(&self) -> u32 {
        let threads = self.fsload.as_ref().map_or(0, Fsload::thread_count);
        self.jobs.iter().map(|job| job.depth() * job.numjobs).sum::<u32>() + threads
    }
}

impl Job {
    /// Requests that one of its jobs keeps in flight.
    pub fn depth(&self) -> u32 {
        if self.ioengine == Ioengine::Psync { 1 } else { self.iodepth }
    }

    /// Whether it writes its file from its begin to its end, and needs none to be there.
    pub fn makes(&self) -> bool {
        self.rw == Rw::Write
    }

    pub(crate) fn read(table: &Table<'_, '_>, file_size: Option<Bytes>) -> Option<Self> {
        let rw = table.required("rw");
        let bs = table.within("bs", Bytes(512)..=Bytes::mib(64));
        let ioengine = table.required("ioengine");
        let iodepth = table.within_or("iodepth", 1..=4096, 1);
        let numjobs = table.within_or("numjobs", JOBS, 1);
        let [direct, norandommap, refill_buffers, zero_buffers] =
            ["direct", "norandommap", "refill_buffers", "zero_buffers"]
                .map(|key| table.or(key, false));
        let rwmixread = table.within_or("rwmixread", 1..=99, 50);
        let rate = table.has("rate").then(|| table.within("rate", RATES));
        let job = Self {
            rw: rw?,
            bs: bs?,
            iodepth: iodepth?,
            ioengine: ioengine?,
            numjobs: numjobs?,
            direct,
            norandommap,
            refill_buffers,
            zero_buffers,
            rwmixread: rwmixread?,
            rate: rate.map_or(Some(None), |rate| rate.map(Some))?,
        };
        job.check(table, file_size);
        Some(job)
    }

    fn check(&self, table: &Table<'_, '_>, file_size: Option<Bytes>) {
        if !self.bs.0.is_multiple_of(512) {
            table.wrong(
                "bs",
                format!("{} bytes are not a whole number of 512-byte sectors", self.bs.0),
            );
        }
        if let Some(file_size) = file_size.filter(|&file_size| self.bs > file_size) {
            table.wrong("bs", format!("{} is more than filesize, {file_size}", self.bs));
        }
        if self.zero_buffers && self.refill_buffers {
            table.wrong(
                "zero_buffers",
                "contradicts refill_buffers: what is written is zeroes or new each time",
            );
        }
        if table.has("rwmixread") && !matches!(self.rw, Rw::Rw | Rw::Randrw) {
            table.wrong(
                "rwmixread",
                format!("{} does not mix reads and writes: rw and randrw do", self.rw),
            );
        }
        if self.ioengine == Ioengine::Psync && self.iodepth > 1 {
            table.wrong(
                "iodepth",
                "psync waits for each request, so that only 1 makes sense; use numjobs for more",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Reader;

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
        Reader::new("w", text)
            .read(|table| Workload::read("w", table))
            .map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn several_jobs_have_files_of_their_own() {
        let workload = read(PAIR).unwrap();
        assert_eq!((workload.numjobs(), workload.files(), workload.depth()), (7, 7, 13));
        assert_eq!(
            (workload.bytes(), workload.sync_every),
            (Bytes::gib(7), Some(Nanos::from_secs(2)))
        );
        assert_eq!(workload.jobs[1].rate, Some(Rate(68_000)));
        let shared = read(&PAIR.replace("own_files = true", "")).unwrap();
        assert_eq!((shared.files(), shared.bytes()), (1, Bytes::gib(1)));
    }

    #[test]
    fn what_is_of_a_job_stands_with_it() {
        let above = PAIR.replace("sync_every = \"2s\"", "direct = true");
        let mistake = read(&above).unwrap_err();
        assert!(mistake.contains("direct: is of a job, and there are [[job]]s"), "{mistake}");
        let mistake = read(&PAIR.replace("iodepth = 4", "iodepth = 0")).unwrap_err();
        assert!(mistake.contains("job"), "{mistake}");
        let mistake = read(&PAIR.replace("bs = \"4k\"", "bs = \"100\"")).unwrap_err();
        assert!(mistake.contains("bs"), "{mistake}");
    }
}
