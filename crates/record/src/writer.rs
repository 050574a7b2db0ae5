//! Writes records: begins, continues and extends them, and adds trials one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};

use disklab_files::remove_folder;

use crate::chain::{Chain, LastLine};
use crate::error::RecordError;
use crate::fingerprint;
use crate::lock::Lock;
use crate::manifest::{Extension, Manifest};
use crate::name::{self, UnfitName};
use crate::outcome::{Cell, Fault, Lines, Outcome, Status};
use crate::raw::copy_contents;
use crate::record::{self, Record};
use crate::sync::{self, write_whole};
use crate::tidy::{Tidied, tidy};
use crate::whole::{self, write_last};

/// The only writer of a record while it lives. Several threads can add trials.
#[derive(Debug)]
pub struct RecordWriter {
    folder: PathBuf,
    manifest: Manifest,
    /// Keys of the trials.
    keys: BTreeMap<String, String>,
    log: Mutex<Log>,
    _lock: Lock,
}

/// Chooses which trials of a continued record run again, in addition to those that never ran, those
/// that were interrupted, and those that failed by a fault of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    Nothing,
    /// Trials that failed or were skipped run again too.
    Failed,
}

impl Retry {
    /// Returns whether a trial with this recorded outcome, or without one, is to be run.
    pub fn wants(self, recorded: Option<&Outcome>) -> bool {
        let Some(recorded) = recorded else { return true };
        match recorded.status {
            Status::Interrupted => true,
            Status::Ok => false,
            Status::Failed if recorded.fault == Some(Fault::Machine) => true,
            // A failed trial that gets a result may need trials that were not needed before.
            Status::Failed | Status::Skipped | Status::NotNeeded => self == Self::Failed,
        }
    }
}

#[derive(Debug)]
struct Log {
    file: File,
    path: PathBuf,
    /// Bytes of whole lines. An incomplete line that could not be written follows them.
    whole: u64,
    /// The chain after the last whole line.
    chain: Chain,
    /// The status of each trial so far.
    recorded: BTreeMap<String, Status>,
    /// Trials to be run.
    remaining: BTreeSet<String>,
}

/// The folder of a trial's raw output while the trial runs. Unless it is handed to
/// [`RecordWriter::finish`], it is removed with its contents.
#[derive(Debug)]
pub struct RawFolder {
    trial: String,
    part: PathBuf,
}

impl RawFolder {
    pub fn path(&self) -> &Path {
        &self.part
    }
}

impl Drop for RawFolder {
    fn drop(&mut self) {
        // A finished folder is gone already. If removing fails, the next resume tries again.
        let _ = remove_folder(&self.part);
    }
}

impl Record {
    /// Begins a record in a new folder `name` below `records`, or `name-2`, `name-3`, ... if that
    /// exists already.
    pub fn create(
        records: &Path,
        name: &str,
        manifest: &Manifest,
    ) -> Result<RecordWriter, RecordError> {
        if !name::is_fit(name) {
            return Err(UnfitName(name.to_owned()).into());
        }
        let mut next = 2_u32;
        let mut folder = records.join(name);
        loop {
            match Self::create_at(&folder, manifest) {
                Err(RecordError::Exists { .. }) => folder = records.join(format!("{name}-{next}")),
                other => return other,
            }
            next += 1;
        }
    }

    /// Begins a record in exactly this folder, which must not exist.
    pub fn create_at(folder: &Path, manifest: &Manifest) -> Result<RecordWriter, RecordError> {
        let (text, parent) = whole::prepare(folder, manifest)?;
        fs::create_dir(folder).map_err(|source| match source.kind() {
            io::ErrorKind::AlreadyExists => RecordError::Exists { folder: folder.to_owned() },
            _ => RecordError::Io { doing: "create", path: folder.to_owned(), source },
        })?;
        let begun = begin(folder, parent, manifest, &text);
        if begun.is_err() {
            // The folder is empty, and no run could continue it.
            let _ = fs::remove_dir_all(folder);
        }
        let lock = begun?;
        let lines = Lines { chain: manifest.chain(), ..Lines::default() };
        RecordWriter::new(folder, manifest.clone(), lines, Retry::Nothing, lock)
    }

    /// Continues a record with its missing trials. `now` is the manifest of a new run. It is an
    /// error if that run would make other trials than those recorded.
    pub fn resume(
        folder: &Path,
        now: &Manifest,
        retry: Retry,
    ) -> Result<(RecordWriter, Tidied), RecordError> {
        let (manifest, lock) = locked(folder)?;
        let differences = manifest.mismatches(now);
        if !differences.is_empty() {
            return Err(RecordError::Mismatch { folder: folder.to_owned(), differences });
        }
        continued(folder, manifest, retry, lock)
    }

    /// Adds seeds to a record, and continues it. `now` is the manifest of a new run with all of the
    /// seeds. The record's manifest is replaced as a whole, so a crash leaves the record unchanged,
    /// or extended.
    pub fn extend(
        folder: &Path,
        now: &Manifest,
        extension: Extension,
        retry: Retry,
    ) -> Result<(RecordWriter, Tidied), RecordError> {
        let (recorded, lock) = locked(folder)?;
        let differs =
            |differences| RecordError::Mismatch { folder: folder.to_owned(), differences };
        let manifest = recorded.extended_to(now, extension).map_err(differs)?;
        let path = folder.join(name::MANIFEST);
        let refused = |message| RecordError::Manifest { path: path.clone(), message };
        manifest.check_trials().map_err(refused)?;
        let text = manifest.to_toml().map_err(refused)?;
        write_whole(&path, &text)
            .and_then(|()| sync::folder(folder))
            .map_err(RecordError::io("write", &path))?;
        continued(folder, manifest, retry, lock)
    }
}

/// Takes the lock of a record, and reads the manifest, which nobody else changes then.
pub(crate) fn locked(folder: &Path) -> Result<(Manifest, Lock), RecordError> {
    // A folder that is not a record gets no lock.
    record::read_manifest(folder)?;
    let lock = Lock::take(folder)?;
    Ok((record::read_manifest(folder)?, lock))
}

fn continued(
    folder: &Path,
    manifest: Manifest,
    retry: Retry,
    lock: Lock,
) -> Result<(RecordWriter, Tidied), RecordError> {
    let lines = record::read_lines(folder, &manifest)?;
    let tidied = tidy(folder, &lines)?;
    // A killed run may have left lines after those that were counted.
    write_last(folder, &lines.chain)?;
    let writer = RecordWriter::new(folder, manifest, lines, retry, lock)?;
    Ok((writer, tidied))
}

impl RecordWriter {
    fn new(
        folder: &Path,
        manifest: Manifest,
        lines: Lines,
        retry: Retry,
        lock: Lock,
    ) -> Result<Self, RecordError> {
        let path = folder.join(name::TRIALS);
        let file =
            OpenOptions::new().append(true).open(&path).map_err(RecordError::io("open", &path))?;
        let last = record::last_outcomes(&lines.outcomes);
        let recorded: BTreeMap<String, Status> =
            last.iter().map(|(trial, outcome)| ((*trial).to_owned(), outcome.status)).collect();
        // Added seeds change which verdicts are given, so trials that were not needed may be needed
        // now.
        let is_open = manifest.until_decided.is_some() && !manifest.extended.is_empty();
        let wants = |outcome: Option<&Outcome>| {
            let is_not_needed = outcome.is_some_and(|last| last.status == Status::NotNeeded);
            retry.wants(outcome) || (is_open && is_not_needed)
        };
        let remaining = manifest
            .all_trials()
            .filter(|trial| wants(last.get(trial.as_str()).copied()))
            .cloned()
            .collect();
        let Lines { whole, chain, .. } = lines;
        let whole = whole as u64;
        let log = Mutex::new(Log { file, path, whole, chain, recorded, remaining });
        let keys = manifest.trials.iter().cloned().zip(manifest.keys.iter().cloned()).collect();
        Ok(Self { folder: folder.to_owned(), manifest, keys, log, _lock: lock })
    }

    pub fn folder(&self) -> &Path {
        &self.folder
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Returns a trial's key, or None if the record has no keys.
    pub fn key(&self, trial: &str) -> Option<&str> {
        self.keys.get(trial).map(String::as_str)
    }

    /// Trials still to be run, in the manifest's order.
    pub fn remaining(&self) -> Vec<String> {
        let log = self.log();
        self.manifest.all_trials().filter(|trial| log.remaining.contains(*trial)).cloned().collect()
    }

    /// Returns whether a trial is still to be run.
    pub(crate) fn remains(&self, trial: &str) -> bool {
        self.log().remaining.contains(trial)
    }

    /// Makes a new, empty folder for the raw output of a trial that remains.
    pub fn begin(&self, trial: &str) -> Result<RawFolder, RecordError> {
        self.expect(&self.log(), trial)?;
        let part = self.folder.join(name::RAW).join(name::part(trial));
        remove_folder(&part).map_err(RecordError::io("remove", &part))?;
        fs::create_dir(&part).map_err(RecordError::io("create", &part))?;
        Ok(RawFolder { trial: trial.to_owned(), part })
    }

    /// Keeps a trial's raw output and records its outcome, which is returned as recorded. When this
    /// returns, both are safely on disk.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "nothing may be put into a folder that is kept"
    )]
    pub fn finish(&self, raw: RawFolder, mut outcome: Outcome) -> Result<Outcome, RecordError> {
        outcome.trial.clone_from(&raw.trial);
        outcome.key = self.keys.get(&raw.trial).cloned();
        // Outside the lock, because this can take long, and concerns nobody else.
        let synced = sync::tree(&raw.part);
        outcome.files = fingerprint::digests(&raw.part)?;
        outcome.other_files = fingerprint::other_digests(&raw.part)?;
        let mut log = self.log();
        self.expect(&log, &outcome.trial)?;
        synced.map_err(self.not_recorded(&log, &outcome, "sync", &raw.part))?;
        self.keep(&log, &raw, &mut outcome)?;
        let folder = self.folder.join(name::RAW);
        sync::folder(&folder).map_err(self.not_recorded(&log, &outcome, "sync", &folder))?;
        self.append(&mut log, slice::from_ref(&outcome))?;
        Ok(outcome)
    }

    /// Finishes many trials, with or without raw output; their outcomes have the digests already.
    /// Each sync of the disk is done once for all. When this returns, all are safely on disk. After
    /// an error or a crash, each is whole or does not count.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "nothing may be put into folders that are kept"
    )]
    pub(crate) fn finish_all(
        &self,
        ended: Vec<(Option<RawFolder>, Outcome)>,
    ) -> Result<(), RecordError> {
        let Some((_, first)) = ended.first() else { return Ok(()) };
        let mut log = self.log();
        for (_, outcome) in &ended {
            self.expect(&log, &outcome.trial)?;
        }
        let folder = self.folder.join(name::RAW);
        sync::filesystem(&folder).map_err(self.not_recorded(&log, first, "sync", &folder))?;
        let mut outcomes = Vec::with_capacity(ended.len());
        for (raw, outcome) in &ended {
            let mut outcome = outcome.clone();
            outcome.raw = None;
            if let Some(raw) = raw {
                self.keep(&log, raw, &mut outcome)?;
            }
            outcomes.push(outcome);
        }
        sync::folder(&folder).map_err(self.not_recorded(&log, first, "sync", &folder))?;
        self.append(&mut log, &outcomes)
    }

    /// Gives a trial's raw output its final name.
    fn keep(&self, log: &Log, raw: &RawFolder, outcome: &mut Outcome) -> Result<(), RecordError> {
        let folder = self.folder.join(name::RAW);
        let mut attempts = (1..).map(|attempt| name::attempt(&raw.trial, attempt));
        let kept = attempts.find(|kept| !folder.join(kept).exists()).unwrap_or_default();
        fs::rename(&raw.part, folder.join(&kept))
            .map_err(self.not_recorded(log, outcome, "rename", &raw.part))?;
        outcome.raw = Some(format!("raw/{kept}"));
        Ok(())
    }

    /// Records the outcome of a trial for another one with the same key, with a copy of the raw
    /// output.
    pub fn finish_as(
        &self,
        trial: &str,
        cell: Cell,
        first: &Outcome,
    ) -> Result<Outcome, RecordError> {
        let raw = self.begin(trial)?;
        if let Some(from) = &first.raw {
            copy_contents(&self.folder.join(from), raw.path())?;
        }
        self.finish(raw, Outcome { cell, ..first.clone() })
    }

    /// Records the outcome of a trial without raw output.
    pub fn note(&self, mut outcome: Outcome) -> Result<(), RecordError> {
        outcome.raw = None;
        outcome.files.clear();
        outcome.other_files.clear();
        outcome.key = self.keys.get(&outcome.trial).cloned();
        let mut log = self.log();
        self.expect(&log, &outcome.trial)?;
        if outcome.status == Status::NotNeeded
            && log.recorded.get(&outcome.trial) == Some(&Status::NotNeeded)
        {
            log.remaining.remove(&outcome.trial);
            return Ok(());
        }
        self.append(&mut log, slice::from_ref(&outcome))
    }

    fn append(&self, log: &mut Log, outcomes: &[Outcome]) -> Result<(), RecordError> {
        let Some(first) = outcomes.first() else { return Ok(()) };
        log.append(outcomes).map_err(self.not_recorded(log, first, "append to", &log.path))?;
        for outcome in outcomes {
            log.recorded.insert(outcome.trial.clone(), outcome.status);
            log.remaining.remove(&outcome.trial);
        }
        Ok(())
    }

    fn expect(&self, log: &Log, trial: &str) -> Result<(), RecordError> {
        if log.remaining.contains(trial) {
            return Ok(());
        }
        Err(RecordError::Unexpected { trial: trial.to_owned(), folder: self.folder.clone() })
    }

    fn not_recorded(
        &self,
        log: &Log,
        outcome: &Outcome,
        doing: &'static str,
        path: &Path,
    ) -> impl FnOnce(io::Error) -> RecordError {
        let (trial, path, folder) = (outcome.trial.clone(), path.to_owned(), self.folder.clone());
        let kept = log.recorded.len();
        move |source| RecordError::NotRecorded { trial, doing, path, folder, kept, source }
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // Nothing panics while it holds the lock, and the log is valid after each step anyway.
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Log {
    /// Adds lines and syncs them. If they cannot be written in full, they are removed, now or
    /// before the next ones.
    fn append(&mut self, outcomes: &[Outcome]) -> io::Result<()> {
        let mut chain = self.chain.clone();
        let lines = outcomes.iter().map(|outcome| outcome.to_line(&mut chain));
        let line = lines.collect::<Result<String, _>>()?;
        // Appending to half a line would lose both.
        if self.file.metadata()?.len() != self.whole {
            self.file.set_len(self.whole)?;
        }
        // The count comes last: until then the lines can be removed again.
        let count = |last: Option<LastLine>| {
            last.map_or(Ok(()), |last| last.write(&self.path.with_file_name(name::LAST)))
        };
        let added = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_all());
        if let Err(error) = added.and_then(|()| count(chain.last())) {
            let _ = self.file.set_len(self.whole);
            return Err(error);
        }
        self.whole += line.len() as u64;
        self.chain = chain;
        Ok(())
    }
}

/// Makes the parts of a new record.
fn begin(
    folder: &Path,
    parent: &Path,
    manifest: &Manifest,
    text: &str,
) -> Result<Lock, RecordError> {
    let lock = Lock::take(folder)?;
    let raw = folder.join(name::RAW);
    fs::create_dir(&raw).map_err(RecordError::io("create", &raw))?;
    let trials = folder.join(name::TRIALS);
    File::create_new(&trials).map_err(RecordError::io("create", &trials))?;
    write_last(folder, &manifest.chain())?;
    let path = folder.join(name::MANIFEST);
    write_whole(&path, text).map_err(RecordError::io("write", &path))?;
    sync::folder(folder)
        .and_then(|()| sync::folder(parent))
        .map_err(RecordError::io("sync", folder))?;
    Ok(lock)
}
