//! The `[fsload]` of a workload: threads that create, append to, read, list and delete many files,
//! as a mail or file server does. Our own engine (crates/fsload) carries it out.
//!
//! ```toml
//! summary = "a web proxy's cache, as filebench has it"
//!
//! [fsload] operation = "50us"        # of processor time, for each operation in a guest: may be
//! left out scale = 10                # per cent of each `count`: may be left out, 100. `NAME:full`
//! is all of them
//!
//! [[fsload.files]]
//! name = "proxy"
//! count = 10000             # names
//! there = 80                # per cent of them exist at the beginning: may be left out, 100
//! width = 20                # files in a folder, on average: may be left out, all in one
//! size = "gamma 1.5, mean 16 KiB"
//!
//! [[fsload.threads]] name = "proxy" count = 100               # may be left out, 1; the suite's
//! `jobs` where there is one kind of threads pick = "rotation"         # see pick.rs: may be left
//! out, rotation io = "1 MiB"              # whole files are read and written so much at a time:
//! may be left out, 1 MiB idle = "10ms"             # waits so long where there is nothing to do:
//! may be left out, 10 ms loop = ["delete", "create", "append 0 B to 16 KiB", "close", "open",
//! "read whole", "close"]
//! ```
//!
//! A set with `per_folder = 100` instead of `count` begins empty: threads make folders, and fill
//! them with up to so many files of the set each. Instead of a `loop`, threads may have several, of
//! which one is drawn each time:
//!
//! ```toml
//! [[fsload.threads.either]]
//! weight = 3
//! loop = ["open", "read whole", "close"]
//! ```
//!
//! What steps there are: see step.rs; how sizes are written: size.rs.

mod operation;
mod pick;
mod size;
mod step;

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::job::JOBS;
use crate::read::{Located, TomlTable, read_named};
pub use operation::Operation;
pub use pick::Pick;
pub use size::Size;
pub use step::{FileAction, FileStep};

/// Files, and what is done with them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fsload {
    /// What each operation takes of a guest's only processor.
    pub operation: Nanos,
    /// Per cent of the `count` of each set.
    pub scale: u32,
    pub files: Vec<FileSet>,
    pub threads: Vec<FileThreads>,
}

/// Files of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSet {
    /// Of its folder, too; files of folders that are made are named by it.
    pub name: String,
    pub size: Size,
    pub place: FilePlace,
}

/// Where the files of a set are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilePlace {
    /// In a tree of folders: so many names, of which some are there at the beginning (per cent),
    /// and so many to a folder.
    Tree { count: u32, there: u32, width: u32 },
    /// In folders that threads make: up to so many in each.
    Folders { most: u32 },
}

/// Threads that do the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileThreads {
    pub name: String,
    pub count: u32,
    pub pick: Pick,
    /// Whole files are read and written so much at a time.
    pub io: Bytes,
    /// After a loop that found nothing to work on.
    pub idle: Nanos,
    /// One of them is drawn each time.
    pub loops: Vec<ThreadLoop>,
}

/// Steps that a thread repeats, and how often they are drawn among its others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLoop {
    pub weight: u32,
    pub steps: Vec<FileStep>,
}

/// Of one set; a guest keeps an account of each.
const COUNTS: std::ops::RangeInclusive<u32> = 1..=5_000_000;
const OPERATION: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_secs(1);
const IDLE: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(100)..=Nanos::from_secs(60);

impl Fsload {
    pub(crate) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let operation = table.within_or("operation", OPERATION, Nanos::from_micros(50));
        let scale = table.within_or("scale", 1..=10_000, 100);
        let tables = table.tables("files");
        if tables.is_empty() {
            table.wrong("files", "there are none: a set of files is a `[[fsload.files]]`");
        }
        let twice = |_: &str| "another set has it".to_owned();
        let files = read_named(&tables, "name", FileSet::read, |set| &set.name, twice);
        let tables = table.tables("threads");
        if tables.is_empty() {
            table.wrong("threads", "there are none: threads are a `[[fsload.threads]]`");
        }
        let in_folders =
            |set: &FileSet| (set.name.clone(), matches!(set.place, FilePlace::Folders { .. }));
        // What steps say of sets with mistakes would only bring more of them.
        let sets: Option<Vec<(String, bool)>> =
            files.as_ref().map(|files| files.iter().map(in_folders).collect());
        let read = |table: &TomlTable<'_, '_>| FileThreads::read(table, sets.as_deref());
        let twice = |_: &str| "other threads have it: their results would be one".to_owned();
        let threads = read_named(&tables, "name", read, |threads| &threads.name, twice)?;
        Some(Self {
            operation: operation?,
            scale: scale?,
            files: files.filter(|files| !files.is_empty())?,
            threads: Some(threads).filter(|threads| !threads.is_empty())?,
        })
    }

    /// Without the threads: what is laid out does not depend on them.
    #[must_use]
    pub fn files_only(&self) -> Self {
        Self { operation: Nanos::ZERO, threads: Vec::new(), ..self.clone() }
    }

    /// How many names a set has.
    pub fn count(&self, set: &FileSet) -> u32 {
        match set.place {
            FilePlace::Tree { count, .. } => {
                let scaled = u64::from(count) * u64::from(self.scale) / 100;
                u32::try_from(scaled).unwrap_or(u32::MAX).clamp(1, *COUNTS.end())
            }
            FilePlace::Folders { .. } => 0,
        }
    }

    /// What is laid out before anything runs, about: sizes are drawn.
    pub fn bytes(&self) -> Bytes {
        let laid_out = |set: &FileSet| match set.place {
            FilePlace::Tree { there, .. } => {
                let files = u64::from(self.count(set)) * u64::from(there) / 100;
                set.size.mean().saturating_mul(files)
            }
            FilePlace::Folders { .. } => Bytes(0),
        };
        self.files.iter().map(laid_out).fold(Bytes::ZERO, Bytes::saturating_add)
    }

    /// How many threads it has.
    pub fn thread_count(&self) -> u32 {
        self.threads.iter().map(|threads| threads.count).sum()
    }
}

impl FileSet {
    fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let name = table.located::<String>("name");
        if !table.has("name") {
            table.wrong("name", "is missing: of the set, for the steps of threads");
        }
        let size = table.required("size");
        let place = if table.has("per_folder") {
            let most = table.within("per_folder", 1..=1_000_000);
            for key in ["count", "there", "width"].into_iter().filter(|key| table.has(key)) {
                let sets = "a set that is laid out, and `per_folder` of one that threads make";
                table.wrong(key, format!("is of {sets}"));
            }
            most.map(|most| FilePlace::Folders { most })
        } else {
            let count = table.within("count", COUNTS);
            let there = table.within_or("there", 0..=100, 100);
            let width = table.within_or("width", 1..=u32::MAX, u32::MAX);
            let tree = |((count, there), width)| FilePlace::Tree { count, there, width };
            count.zip(there).zip(width).map(tree)
        };
        Some(Self { name: plain_name(table, name)?, size: size?, place: place? })
    }
}

/// A name that is one of a folder too, and no part of a step.
fn plain_name(table: &TomlTable<'_, '_>, name: Option<Located<String>>) -> Option<String> {
    let Located { value, place } = name?;
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if value.starts_with(|c: char| c.is_ascii_lowercase())
        && value.chars().all(is_plain)
        && value.len() <= 60
    {
        return Some(value);
    }
    let message = format!("`{}` is no name: small letters, digits and `-`", value.escape_debug());
    table.wrong_at(&place, message);
    None
}

impl FileThreads {
    fn read(table: &TomlTable<'_, '_>, sets: Option<&[(String, bool)]>) -> Option<Self> {
        let name = table.located::<String>("name");
        if !table.has("name") {
            table.wrong("name", "is missing: of the threads, for the results");
        }
        let count = table.within_or("count", JOBS, 1);
        let pick = table.or("pick", Pick::default());
        let io = table.within_or("io", Bytes(512)..=Bytes::mib(1), Bytes::mib(1));
        let idle = table.within_or("idle", IDLE, Nanos::from_millis(10));
        let weighted = |table: &TomlTable<'_, '_>| {
            ThreadLoop::read(table, table.within_or("weight", 1..=1_000_000, 1)?, sets)
        };
        let either = table.read_tables("either", weighted);
        let loops = if either.as_ref().is_some_and(Vec::is_empty) {
            ThreadLoop::read(table, 1, sets).map(|only| vec![only])
        } else {
            if table.has("loop") {
                let message = "and `[[fsload.threads.either]]` contradict each other: one of them";
                table.wrong("loop", message);
            }
            either
        };
        Some(Self {
            name: plain_name(table, name)?,
            count: count?,
            pick,
            io: io?,
            idle: idle?,
            loops: loops?,
        })
    }
}

impl ThreadLoop {
    fn read(
        table: &TomlTable<'_, '_>,
        weight: u32,
        sets: Option<&[(String, bool)]>,
    ) -> Option<Self> {
        let lines = table.required_list::<String>("loop");
        let sets = sets?;
        let words: Vec<&str> = lines.iter().map(|line| line.value.as_str()).collect();
        match FileStep::parse_all(&words, &step::Sets(sets)) {
            Ok(steps) => Some(Self { weight, steps }),
            Err((number, why)) => {
                match lines.get(number) {
                    Some(line) => table.wrong_at(&line.place, why),
                    None => table.wrong("loop", why),
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
