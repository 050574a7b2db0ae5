//! The `[startup]` of a workload: the disk accesses of a program until it is ready, as recorded by
//! `disklab record-startup`.
//!
//! ```toml
//! summary = "git status"
//!
//! [startup]
//! command = ["git", "status"]     # the recorded command
//! limit = "60s"                   # the start is timed out then, a result; may be left out: 60 s
//! environment = ["DISPLAY=:9"]    # beside PATH, HOME, LC_ALL and TERM; may be left out
//! # a server that must run before, from the host's files, not the disks; may be left out
//! server = ["Xvfb", ":9"]
//! # bytes and path; a path that ends in / is a folder, one with -> a symbolic link
//! files = [
//!     "5368 /usr/bin/git",
//!     "0 /lib64 -> usr/lib64",
//! ]
//! steps = """                     # one a line, in order
//! 120 read 0 0 8192
//! 15 map 0 4096 65536
//! 3 look 1
//! """
//! ```
//!
//! A step begins with the time that the program computed before it, in us. `read` is a read(2) and
//! `map` an access to a file mapped into memory. Both have the number of the file, from 0, the
//! first byte, and the number of bytes. `look` is a stat(2), `miss` looks for a name that is not in
//! the folder, and `list` reads the folder. Programs of several threads or processes have further
//! lines, see [`StartupThreads`].
//!
//! `NAME` replays the steps on files of these sizes. `NAME:program` puts this machine's files of
//! these names on the modelled disk and runs the command from there.

use std::collections::BTreeMap;

use disklab_units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use crate::read::{Located, TomlTable, choices, values};
use entry::LONGEST;

mod entry;
mod threads;

pub use entry::{EntryKind, StartupAction, StartupEntry};
pub use threads::{MOST_THREADS, StartupStep, StartupThreads};

/// A program's start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Startup {
    pub way: Way,
    pub command: Vec<String>,
    pub limit: Nanos,
    /// Environment variables, each as `NAME=value`.
    pub environment: Vec<String>,
    /// The server that the program needs: a program and its arguments. It is empty if it needs
    /// none.
    pub server: Vec<String>,
    pub files: Vec<StartupEntry>,
    pub threads: StartupThreads,
}

choices! {
    /// Whether the program itself runs, or its recorded steps are replayed.
    #[derive(Default)]
    pub enum Way: "way to start" {
        #[default]
        Replay = "replay",
        Program = "program",
    }
}

const LIMITS: std::ops::RangeInclusive<Nanos> = Nanos::from_millis(1)..=LONGEST;
const LIMIT: Nanos = Nanos::from_secs(60);
/// Largest number of files: more than any program's start needs. A guest has to make them all.
const MOST_FILES: usize = 200_000;

impl Startup {
    pub(crate) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let command = table.required_list::<String>("command");
        let (environment, server) =
            (table.list::<String>("environment"), table.list::<String>("server"));
        let words = command.iter().chain(&environment).chain(&server);
        for word in words.filter(|word| word.value.contains('\0')) {
            table.wrong_at(&word.place, "what a program is given cannot have a NUL");
        }
        for Located { value, place } in &environment {
            if value.split_once('=').is_none_or(|(name, _)| name.is_empty()) {
                table.wrong_at(place, format!("`{}` is not NAME=value", value.escape_debug()));
            }
        }
        let [command, environment, server] = [command, environment, server].map(values);
        let limit = table.within_or("limit", LIMITS, LIMIT);
        let named = table.required_list::<String>("files");
        let mut seen = BTreeMap::new();
        let read = |Located { value, place }: Located<String>| {
            let entry = StartupEntry::parse(&value).and_then(|found| found.among(&mut seen));
            entry.map_err(|message| table.wrong_at(&place, message)).ok()
        };
        let files: Vec<_> = named.into_iter().map(read).collect();
        // If one file is wrong, the steps cannot be read, because they use the numbers of all
        // files.
        let files: Vec<_> = files.into_iter().collect::<Option<_>>()?;
        table.refuse_if(files.len() > MOST_FILES, "files", || {
            format!("{} are too many: at most {MOST_FILES}", files.len())
        });
        let text: String = table.required("steps")?;
        let threads = table.accept("steps", StartupThreads::read(&text, &files))?;
        let way = Way::Replay;
        let startup = Self { way, command, limit: limit?, environment, server, files, threads };
        Some(startup).filter(|startup| !startup.command.is_empty() && !startup.files.is_empty())
    }

    /// Returns the bytes of all files.
    pub fn bytes(&self) -> Bytes {
        let size = |entry: &StartupEntry| match entry.kind {
            EntryKind::File(bytes) => bytes.0,
            EntryKind::Folder | EntryKind::Link(_) => 0,
        };
        Bytes(self.files.iter().map(size).fold(0, u64::saturating_add))
    }
}
