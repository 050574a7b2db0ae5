//! The `[fsload]` of a workload: threads that create, append to, read, list and delete many files,
//! as a mail or file server does. Our own engine (crates/fsload) runs it.
//!
//! ```toml
//! summary = "a web proxy's cache, as filebench has it"
//!
//! [fsload]
//! operation = "50us"        # of processor time, for each operation in a guest: may be left out
//! # per cent of each `count`: may be left out, 100. `NAME:full` is all of them
//! scale = 10
//!
//! [[fsload.files]]
//! name = "proxy"
//! count = 10000             # names
//! there = 80                # per cent of them exist at the beginning: may be left out, 100
//! width = 20                # files in a folder, on average: may be left out, all in one
//! size = "gamma 1.5, mean 16 KiB"
//!
//! [[fsload.threads]]
//! name = "proxy"
//! # may be left out, 1; the suite's `jobs` where there is one kind of threads
//! count = 100
//! pick = "rotation"         # see pick.rs: may be left out, rotation
//! # size of the reads and writes of whole files: may be left out, 1 MiB
//! io = "1 MiB"
//! idle = "10ms"             # pause after a loop that found no file: may be left out, 10 ms
//! loop = ["delete", "create", "append 0 B to 16 KiB", "close", "open", "read whole", "close"]
//! ```
//!
//! A set with `per_folder = 100` instead of `count` begins empty. Threads make folders for it, and
//! put up to that many files of the set into each. Instead of one `loop`, threads may have several
//! loops. Each turn then draws one of them:
//!
//! ```toml
//! [[fsload.threads.either]]
//! weight = 3
//! loop = ["open", "read whole", "close"]
//! ```
//!
//! See step.rs for the steps, and size.rs for the notation of sizes.

mod operation;
mod pick;
mod size;
mod step;

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::job::JOBS;
use crate::read::{TomlTable, from_table, read_named};
pub use operation::Operation;
pub use pick::Pick;
pub use size::Size;
pub use step::{FileAction, FileStep};

from_table! {
    /// Sets of files, and the threads that work on them.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Fsload {
        /// The time that each operation takes on a guest's only processor.
        pub operation: Nanos = within_or(OPERATION, Nanos::from_micros(50)),
        /// Size of each set, in per cent of its `count`.
        pub scale: u32 = within_or(1..=10_000, 100),
        /// The sets of files, at least one.
        pub files: Vec<FileSet> = with(read_sets),
        /// The kinds of threads, at least one.
        pub threads: Vec<FileThreads> =
            with(|table, key| read_threads(table, key, files.as_deref())),
    }
}

from_table! {
    /// A set of files of one kind.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FileSet {
        /// Name of the set and of its folder. Files in folders that threads make have it in their
        /// names.
        pub name: String =
            with(|table, key| plain_name(table, key, "of the set, for the steps of threads")),
        /// Sizes of the files.
        pub size: Size = required(),
        /// Place of the files.
        pub place: FilePlace = with(|table, _| FilePlace::read(table)),
    }
}

/// The place of the files of a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FilePlace {
    /// A tree of folders: the number of names, how many per cent of them exist at the beginning,
    /// and files per folder.
    Tree { count: u32, there: u32, width: u32 },
    /// Folders that threads make, each with at most this many files of the set.
    Folders { most: u32 },
}

from_table! {
    /// A kind of threads: all of them run the same loops.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct FileThreads(sets: Option<&[(String, bool)]>) {
        /// Name of the threads, part of the names of their results.
        pub name: String =
            with(|table, key| plain_name(table, key, "of the threads, for the results")),
        /// Number of threads of this kind.
        pub count: u32 = within_or(JOBS, 1),
        /// The way in which a thread chooses a file.
        pub pick: Pick = with_default(Pick::default()),
        /// Size of the reads and writes of whole files.
        pub io: Bytes = within_or(Bytes(512)..=Bytes::mib(1), Bytes::mib(1)),
        /// Pause after a loop that found no file to work on.
        pub idle: Nanos = within_or(IDLE, Nanos::from_millis(10)),
        /// The loops, one of which each turn draws.
        pub loops["either"]: Vec<ThreadLoop> = with(|table, key| read_loops(table, key, sets)),
    }
}

/// Steps that a thread repeats, and the weight with which a turn draws this loop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadLoop {
    pub weight: u32,
    pub steps: Vec<FileStep>,
}

/// Range of the number of files in a set; the guest keeps an entry for each file.
const COUNTS: std::ops::RangeInclusive<u32> = 1..=5_000_000;
const OPERATION: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(1)..=Nanos::from_secs(1);
const IDLE: std::ops::RangeInclusive<Nanos> = Nanos::from_micros(100)..=Nanos::from_secs(60);

impl Fsload {
    /// Returns the load without its threads, on which the files at the beginning do not depend.
    #[must_use]
    pub fn files_only(&self) -> Self {
        Self { operation: Nanos::ZERO, threads: Vec::new(), ..self.clone() }
    }

    /// Returns the number of names of a set.
    pub fn count(&self, set: &FileSet) -> u32 {
        match set.place {
            FilePlace::Tree { count, .. } => {
                let scaled = u64::from(count) * u64::from(self.scale) / 100;
                u32::try_from(scaled).unwrap_or(u32::MAX).clamp(1, *COUNTS.end())
            }
            FilePlace::Folders { .. } => 0,
        }
    }

    /// Returns the approximate bytes of all files at the beginning. The sizes are drawn at random.
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

    /// Returns the number of threads of all kinds.
    pub fn thread_count(&self) -> u32 {
        self.threads.iter().map(|threads| threads.count).sum()
    }
}

fn read_sets(table: &TomlTable<'_, '_>, key: &str) -> Option<Vec<FileSet>> {
    let tables = table.tables(key);
    if tables.is_empty() {
        table.wrong(key, "is empty: write each set of files as `[[fsload.files]]`");
    }
    let twice = |_: &str| "another set has it".to_owned();
    read_named(&tables, "name", FileSet::from_table, |set| &set.name, twice)
}

fn read_threads(
    table: &TomlTable<'_, '_>,
    key: &str,
    files: Option<&[FileSet]>,
) -> Option<Vec<FileThreads>> {
    let tables = table.tables(key);
    if tables.is_empty() {
        table.wrong(key, "is empty: write each kind of thread as `[[fsload.threads]]`");
    }
    let in_folders =
        |set: &FileSet| (set.name.clone(), matches!(set.place, FilePlace::Folders { .. }));
    // Steps that name a set with mistakes would only report those mistakes again.
    let sets: Option<Vec<_>> = files.map(|files| files.iter().map(in_folders).collect());
    let read = |table: &TomlTable<'_, '_>| FileThreads::from_table(table, sets.as_deref());
    let twice = |_: &str| "other threads have it: their results would be one".to_owned();
    read_named(&tables, "name", read, |threads| &threads.name, twice)
}

impl FilePlace {
    fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        if table.has("per_folder") {
            let most = table.within("per_folder", 1..=1_000_000);
            for key in ["count", "there", "width"].into_iter().filter(|key| table.has(key)) {
                let sets = "a set that is laid out, and `per_folder` of one that threads make";
                table.wrong(key, format!("is of {sets}"));
            }
            return most.map(|most| Self::Folders { most });
        }
        let count = table.within("count", COUNTS);
        let there = table.within_or("there", 0..=100, 100);
        let width = table.within_or("width", 1..=u32::MAX, u32::MAX);
        Some(Self::Tree { count: count?, there: there?, width: width? })
    }
}

/// Reads a name that can be a folder's name too, and cannot be mistaken for a part of a step.
fn plain_name(table: &TomlTable<'_, '_>, key: &str, whose: &str) -> Option<String> {
    if !table.has(key) {
        table.wrong(key, format!("is missing: {whose}"));
    }
    let name: String = table.optional(key)?;
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase());
    let is_plain = begins && name.chars().all(fits) && name.len() <= 60;
    table.refuse_if(!is_plain, key, || {
        format!("`{}` is not a name: small letters, digits and `-`", name.escape_debug())
    });
    is_plain.then_some(name)
}

fn read_loops(
    table: &TomlTable<'_, '_>,
    key: &str,
    sets: Option<&[(String, bool)]>,
) -> Option<Vec<ThreadLoop>> {
    let either = table.read_tables(key, |either| {
        ThreadLoop::read(either, either.within_or("weight", 1..=1_000_000, 1)?, sets)
    });
    if either.as_ref().is_some_and(Vec::is_empty) {
        return ThreadLoop::read(table, 1, sets).map(|only| vec![only]);
    }
    if table.has("loop") {
        let message = "and `[[fsload.threads.either]]` contradict each other: one of them";
        table.wrong("loop", message);
    }
    either
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
