//! Finding records: in `./records`, or wherever a path says.

use std::fs;
use std::path::{Path, PathBuf};

use disklab_spec::read::nearest;
use disklab_store::{Record, Status};
use serde::Serialize;

use crate::exit::Failure;

/// Where runs put their records, from the current folder.
pub const FOLDER: &str = "records";

/// How many of the latest runs are named where one is not found.
const NAMED: usize = 5;

/// The folder of a record, by its name in `./records` or by its path.
pub fn find(run: &str) -> Result<PathBuf, Failure> {
    let path = Path::new(run);
    if path.is_dir() && (run.contains('/') || is_record(path)) {
        return Ok(path.to_owned());
    }
    // Shells complete names to this.
    let run = run.strip_prefix("./").unwrap_or(run);
    let run = run.strip_prefix(FOLDER).map_or(run, |name| name.trim_matches('/'));
    if run.contains('/') {
        return Err(Failure::mistaken(format!("there is no folder {}", path.display())));
    }
    let path = Path::new(FOLDER).join(run);
    if !run.is_empty() && path.is_dir() {
        return Ok(path);
    }
    let names = names();
    let hint = match nearest(run, names.iter().map(String::as_str)) {
        Some(near) => format!("; did you mean `{near}`?"),
        None if names.is_empty() => " (there is none at all); `disklab run` makes one".to_owned(),
        None => {
            let latest: Vec<_> = names.iter().rev().take(NAMED).cloned().collect();
            format!("; the latest: {}", latest.join(", "))
        }
    };
    Err(Failure::mistaken(format!("there is no run `{}` in ./{FOLDER}{hint}", run.escape_debug())))
}

/// How to name a record to a later command: short where that finds it.
pub fn name_of(folder: &Path) -> String {
    let short = folder.strip_prefix(FOLDER).ok().and_then(Path::to_str);
    short.map_or_else(|| folder.display().to_string(), str::to_owned)
}

fn is_record(folder: &Path) -> bool {
    folder.join("manifest.toml").is_file()
}

/// What `./records` holds, the oldest first: names end in when they were begun.
fn names() -> Vec<String> {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let records = entries.filter(|entry| is_record(&entry.path()));
    let mut names: Vec<_> = records
        .filter_map(|entry| Some((begun(&entry.path())?, entry.file_name().into_string().ok()?)))
        .collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

fn begun(folder: &Path) -> Option<std::time::SystemTime> {
    folder.join("manifest.toml").metadata().ok()?.modified().ok()
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    pub interrupted: usize,
    /// Not needed for any verdict.
    pub spared: usize,
    /// Never begun.
    pub not_run: usize,
}

impl Tally {
    pub fn of(record: &Record) -> Self {
        let mut tally = Self::default();
        for (_, outcome) in record.outcomes() {
            *match outcome.map(|outcome| outcome.status) {
                Some(Status::Ok) => &mut tally.ok,
                Some(Status::Failed) => &mut tally.failed,
                Some(Status::Skipped) => &mut tally.skipped,
                Some(Status::Interrupted) => &mut tally.interrupted,
                Some(Status::Spared) => &mut tally.spared,
                None => &mut tally.not_run,
            } += 1;
        }
        tally
    }

    pub fn all(self) -> usize {
        self.ok + self.failed + self.skipped + self.interrupted + self.spared + self.not_run
    }

    /// Whether nothing went wrong, and nothing is missing.
    pub fn is_whole(self) -> bool {
        self.ok + self.spared == self.all()
    }

    /// Trials that a resume would run.
    pub fn missing(self) -> usize {
        self.interrupted + self.not_run
    }
}

/// `106 of 108 trials ok, 2 failed`.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {} trials ok", self.ok, self.all())?;
        let others = [
            (self.failed, "failed"),
            (self.skipped, "skipped"),
            (self.interrupted, "interrupted"),
            (self.spared, "not needed"),
            (self.not_run, "not run"),
        ];
        others
            .iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}

/// A record in `./records`, for a list.
#[derive(Debug, Serialize)]
pub struct Listed {
    pub name: String,
    pub suite: Option<String>,
    pub created: Option<String>,
    pub trials: Option<Tally>,
    /// Why it cannot be read.
    pub error: Option<String>,
}

/// All of them, the oldest first.
pub fn list() -> Vec<Listed> {
    let listed = |name: String| match Record::open(&Path::new(FOLDER).join(&name)) {
        Ok(record) => Listed {
            name,
            suite: Some(record.manifest().suite.name.clone()),
            created: Some(record.manifest().created.clone()),
            trials: Some(Tally::of(&record)),
            error: None,
        },
        Err(error) => {
            Listed { name, suite: None, created: None, trials: None, error: Some(error.to_string()) }
        }
    };
    names().into_iter().map(listed).collect()
}
