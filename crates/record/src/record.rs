//! Reads records.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use disklab_units::prose::{count, in_shell};

use crate::chain::{Chain, LastLine};
use crate::error::RecordError;
use crate::manifest::Manifest;
use crate::name;
use crate::outcome::{self, BadLine, Lines, Outcome};

/// The folder below the current one in which runs put their records.
pub const FOLDER: &str = "records";

/// Returns the name of a record for a later command, short if the command finds that.
pub fn name_of(folder: &Path) -> String {
    let short = folder.strip_prefix(FOLDER).ok().and_then(Path::to_str);
    short.map_or_else(|| folder.display().to_string(), str::to_owned)
}

/// Returns the same name for a shell, quoted if necessary.
pub fn name_in_shell(folder: &Path) -> String {
    in_shell(&name_of(folder))
}

/// Returns the name of a record's copy of its suite in messages.
pub fn suite_file(folder: &Path) -> String {
    format!("{} (its copy of the suite)", folder.join(name::MANIFEST).display())
}

/// A record as it was when it was opened. Reading takes no lock, so a run may go on meanwhile.
#[derive(Debug, Clone, PartialEq)]
pub struct Record {
    folder: PathBuf,
    manifest: Manifest,
    lines: Lines,
}

/// Largest number of damaged lines that are listed one by one.
const MOST_TOLD: usize = 20;

impl Record {
    pub fn open(folder: &Path) -> Result<Self, RecordError> {
        let manifest = read_manifest(folder)?;
        let lines = read_lines(folder, &manifest)?;
        Ok(Self { folder: folder.to_owned(), manifest, lines })
    }

    /// Reads the rest of a damaged record, and returns a sentence about each lost part. Without a
    /// manifest its trials are those that have a line. Fails if it has neither manifest nor lines.
    pub fn open_damaged(folder: &Path) -> Result<(Self, Vec<String>), RecordError> {
        let mut lost = Vec::new();
        let manifest = read_manifest(folder);
        let path = folder.join(name::TRIALS);
        let counted = manifest.as_ref().ok().map(|manifest| read_last(folder, manifest));
        let counted = counted.transpose().unwrap_or_else(|error| {
            lost.push(error.to_string());
            None
        });
        let lines = match read_own(&path) {
            Ok(bytes) => {
                // Without a manifest, the lines show whether they have digests; all have them or
                // none.
                let has_digests = || bytes.windows(9).any(|bytes| bytes == b"\"chain\":\"");
                let chain =
                    manifest.as_ref().map_or_else(|_| Chain::new(has_digests()), Manifest::chain);
                let (mut lines, bad) =
                    outcome::parse_what_can_be(&bytes, chain, counted.flatten().as_ref());
                let path = path.display();
                let (told, untold) = bad.split_at(bad.len().min(MOST_TOLD));
                let sentence =
                    |BadLine { line, message }: &BadLine| format!("{path}, line {line}: {message}");
                lost.extend(told.iter().map(sentence));
                if !untold.is_empty() {
                    lost.push(format!("{path}: {} like these", count(untold.len(), "more line")));
                }
                if let Ok(manifest) = &manifest
                    && let Err(error) = check_keys(folder, manifest, &lines, &bad)
                {
                    lost.push(error.to_string());
                    let keys = manifest.keys_of_trials();
                    lines.outcomes.retain(|outcome| other_key(&keys, outcome).is_none());
                }
                lines
            }
            Err(error) if manifest.is_ok() => {
                lost.push(error.to_string());
                Lines::default()
            }
            Err(error) => return Err(manifest.err().unwrap_or(error)),
        };
        let manifest = match manifest {
            Ok(manifest) => manifest,
            Err(error) if lines.outcomes.is_empty() => return Err(error),
            Err(error) => {
                lost.push(error.to_string());
                Manifest::of_lines(&lines.outcomes)
            }
        };
        lost.extend(unlisted(folder, &manifest, &lines));
        Ok((Self { folder: folder.to_owned(), manifest, lines }, lost))
    }

    /// Returns a sentence with the number of trials whose lines were made again without a proof, or
    /// None if there are none.
    pub fn made_again(&self) -> Option<String> {
        let all = self.outcomes().into_iter().chain(self.again());
        let made = all.filter(|(_, outcome)| outcome.is_some_and(Outcome::is_made_again));
        let lines = Some(made.count()).filter(|lines| *lines > 0)?;
        Some(format!(
            "{}: {} made again from raw files by `disklab repair`, and no digest proves that they \
             are what was written",
            self.folder.display(),
            count_were(lines)
        ))
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns every line, including those of earlier attempts, in the order of writing.
    pub fn lines(&self) -> &[Outcome] {
        &self.lines.outcomes
    }

    /// Returns the bytes of an incomplete last line, which a run is writing, or a crash cut off. It
    /// does not count.
    pub fn torn_bytes(&self) -> usize {
        self.lines.torn
    }

    /// Says that the last line is incomplete, if it is.
    pub fn torn(&self) -> Option<String> {
        (self.torn_bytes() > 0).then(|| {
            format!(
                "{}: the last line of trials.jsonl is incomplete; a run is writing it, or a crash \
                 cut it off",
                self.folder.display()
            )
        })
    }

    /// Returns every trial of the manifest, in its order, with the outcome that counts, or `None`
    /// if it has not run.
    pub fn outcomes(&self) -> Vec<(&str, Option<&Outcome>)> {
        self.last_of(&self.manifest.trials)
    }

    /// Returns the same for second measurements, which count for no result.
    pub fn again(&self) -> Vec<(&str, Option<&Outcome>)> {
        self.last_of(&self.manifest.again)
    }

    /// Returns the trials that have two results: the first and the second.
    pub fn pairs(&self) -> Vec<(&Outcome, &Outcome)> {
        let pair = |(id, second): (&str, Option<&'_ Outcome>)| {
            let second = self.outcome(second?.trial.as_str())?;
            Some((self.outcome(&outcome::first_of(id)?)?, second))
        };
        self.again().into_iter().filter_map(pair).collect()
    }

    fn last_of<'a>(&'a self, trials: &'a [String]) -> Vec<(&'a str, Option<&'a Outcome>)> {
        let last = last_outcomes(&self.lines.outcomes);
        trials.iter().map(|trial| (trial.as_str(), last.get(trial.as_str()).copied())).collect()
    }

    /// Returns the outcome of `trial` that counts.
    pub fn outcome(&self, trial: &str) -> Option<&Outcome> {
        self.lines.outcomes.iter().rev().find(|outcome| outcome.trial == trial)
    }

    /// Returns the trials with incomplete raw output: they run now, or ran when their run was
    /// killed.
    pub fn under_way(&self) -> BTreeSet<String> {
        let folders = fs::read_dir(self.folder.join(name::RAW)).into_iter().flatten().flatten();
        let parts: BTreeSet<String> =
            folders.filter_map(|folder| folder.file_name().into_string().ok()).collect();
        let trials = self.manifest.trials.iter();
        trials.filter(|trial| parts.contains(&name::part(trial))).cloned().collect()
    }

    /// Returns the number of complete folders of raw output that no line names, of trials of the
    /// manifest. A run that is writing the record has such a folder for a moment.
    pub fn unnamed_results(&self) -> Result<usize, RecordError> {
        let named: BTreeSet<&str> =
            self.lines().iter().filter_map(|outcome| outcome.raw.as_deref()).collect();
        let trials: BTreeSet<&str> = self.manifest.all_trials().map(String::as_str).collect();
        let is_unnamed = |folder: &String| {
            let trial = folder.split('~').next().unwrap_or_default();
            name::is_attempt(folder)
                && trials.contains(trial)
                && !named.contains(format!("raw/{folder}").as_str())
        };
        let raw = self.folder.join(name::RAW);
        let folders = match fs::read_dir(&raw) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
            folders => folders.map_err(RecordError::io("read", &raw))?,
        };
        let mut unnamed = 0;
        for folder in folders {
            let folder = folder.map_err(RecordError::io("read", &raw))?.file_name();
            let Some(folder) = folder.into_string().ok().filter(is_unnamed) else { continue };
            let closing = raw.join(folder).join(name::CLOSING);
            let kind = disklab_files::type_at(&closing);
            let kind = kind.map_err(RecordError::io("look for", &closing))?;
            unnamed += usize::from(kind.is_some_and(|kind| kind.is_file()));
        }
        Ok(unnamed)
    }

    /// Returns the folder of an outcome's raw output.
    pub fn raw(&self, outcome: &Outcome) -> Option<PathBuf> {
        outcome.raw.as_ref().map(|raw| self.folder.join(raw))
    }
}

fn count_were(lines: usize) -> String {
    if lines == 1 { "1 line was".to_owned() } else { format!("{lines} lines were") }
}

/// Returns a sentence about outcomes that belong to no trial of the manifest, which do not count,
/// or None if there are none.
fn unlisted(folder: &Path, manifest: &Manifest, lines: &Lines) -> Option<String> {
    let listed: BTreeSet<&str> = manifest.all_trials().map(String::as_str).collect();
    let mut others = lines
        .outcomes
        .iter()
        .map(|outcome| outcome.trial.as_str())
        .filter(|trial| !listed.contains(trial));
    let first = others.next()?;
    let more = match others.count() {
        0 => String::new(),
        more => format!(", nor those of {}", count(more, "other line")),
    };
    let folder = folder.display();
    Some(format!(
        "{folder}: the manifest lists no trial {first}, which trials.jsonl has an outcome \
        of{more}: left out"
    ))
}

/// Returns the last outcome of each trial; a later line overrides an earlier one.
pub(crate) fn last_outcomes(lines: &[Outcome]) -> BTreeMap<&str, &Outcome> {
    lines.iter().map(|outcome| (outcome.trial.as_str(), outcome)).collect()
}

/// Reads the manifest of a record.
pub fn read_manifest(folder: &Path) -> Result<Manifest, RecordError> {
    let path = folder.join(name::MANIFEST);
    let bytes =
        disklab_files::read(&path, &disklab_files::MANIFEST).map_err(|source| {
            match source.kind() {
                io::ErrorKind::NotFound if folder.is_dir() => {
                    RecordError::NoManifest { folder: folder.to_owned() }
                }
                _ => RecordError::Io { doing: "read", path: path.clone(), source },
            }
        })?;
    Manifest::parse(&bytes).map_err(|message| RecordError::Manifest { path, message })
}

/// Reads a file that every record has.
pub(crate) fn read_own(path: &Path) -> Result<Vec<u8>, RecordError> {
    disklab_files::read(path, &disklab_files::TRIALS).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => RecordError::Gone { path: path.to_owned() },
        _ => RecordError::Io { doing: "read", path: path.to_owned(), source },
    })
}

/// Reads the count of a record's lines. Returns None if an older program wrote the record.
fn read_last(folder: &Path, manifest: &Manifest) -> Result<Option<LastLine>, RecordError> {
    let path = folder.join(name::LAST);
    if !manifest.has_last_line() && !path.exists() {
        return Ok(None);
    }
    let last = LastLine::parse(&read_own(&path)?);
    last.map(Some).map_err(|message| RecordError::LastLine { path, message })
}

pub(crate) fn read_lines(folder: &Path, manifest: &Manifest) -> Result<Lines, RecordError> {
    // The count is read before the lines, because a run may add lines meanwhile.
    let last = read_last(folder, manifest)?;
    let path = folder.join(name::TRIALS);
    let lines = outcome::parse(&read_own(&path)?, manifest.chain(), last.as_ref())
        .map_err(|BadLine { line, message }| RecordError::Line { path, line, message })?;
    check_keys(folder, manifest, &lines, &[])?;
    Ok(lines)
}

/// Returns the manifest's key of an outcome's trial if the outcome has another key. Second
/// measurements have no keys, and neither have older records.
fn other_key<'a>(keys: &BTreeMap<&str, &'a str>, outcome: &Outcome) -> Option<&'a str> {
    let (line, listed) = (outcome.key.as_ref()?, keys.get(outcome.trial.as_str())?);
    (line != listed).then_some(listed)
}

/// Checks that readable lines have the keys that the manifest has for their trials. All programs
/// write them so: a run with other keys cannot continue or extend a record. `bad` are the lines
/// that cannot be read.
pub(crate) fn check_keys(
    folder: &Path,
    manifest: &Manifest,
    lines: &Lines,
    bad: &[BadLine],
) -> Result<(), RecordError> {
    let keys = manifest.keys_of_trials();
    let bad: BTreeSet<usize> = bad.iter().map(|bad| bad.line).collect();
    let numbers = (1..).filter(|line| !bad.contains(line));
    let mut others = numbers
        .zip(&lines.outcomes)
        .filter_map(|(line, outcome)| Some((line, outcome, other_key(&keys, outcome)?)));
    let Some((line, outcome, listed)) = others.next() else { return Ok(()) };
    let more = match others.count() {
        0 => String::new(),
        more => format!(" ({} like this)", count(more, "more line")),
    };
    let message = format!(
        "the key of trial {} is {}, but {listed} in {}{more}: one of the two files belongs to \
         another record",
        outcome.trial,
        outcome.key.as_deref().unwrap_or_default(),
        folder.join(name::MANIFEST).display(),
    );
    Err(RecordError::OtherRecord { path: folder.join(name::TRIALS), line, message })
}
