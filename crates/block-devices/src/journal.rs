//! The journal of a run: its changes of the machine, written to the disk before they are made. If
//! the run is killed, a later disklab undoes them.
//!
//! A journal is a file with one JSON object per line: the boot, then changes, then the numbers of
//! the changes that are undone. The file is removed when all are. Two processes write to it: the
//! run, and the first process of its trial. Both hold a shared lock on it as long as they live, and
//! so do all programs that the first process starts. A process that gets the exclusive lock knows
//! that nothing of the trial still runs.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use serde::{Deserialize, Serialize};

use crate::change::{Change, UndoNews};
use crate::wait::{Obstacle, until_done};

/// The longest time that the first process of another run takes to end after that run is gone.
const MOMENT: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(20);
/// Largest number of bytes of a journal. disklab writes no longer ones.
const LONGEST: u64 = 16 << 20;
/// The extension of journals.
const ENDING: &str = "journal";

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum JournalLine {
    /// The boot of the machine, and the run.
    Begun { boot: String, run: PathBuf },
    /// A change that is about to be made.
    Change(Change),
    /// The change of this number, from 0.
    Undone(usize),
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "cannot note what a run changes on this machine: neither XDG_STATE_HOME nor HOME is set; \
        set one of them"
    )]
    NoState,
    #[error(
        "{}: cannot read what a run changed on this machine ({error}), so that it is not undone; \
        undo by hand what the file names, then remove the file",
        path.display()
    )]
    Unreadable { path: PathBuf, error: String },
    #[error(
        "{}: {why}, and disklab removes and writes what the files in it name; check these files, \
        then chown the folder or chmod go-w it",
        path.display()
    )]
    Untrusted { path: PathBuf, why: String },
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Returns a conversion of an I/O error, for `map_err`.
    fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }

    fn unreadable(path: &Path, error: impl Into<String>) -> Self {
        Self::Unreadable { path: path.to_owned(), error: error.into() }
    }
}

/// The journal of a run that has not ended.
#[derive(Debug)]
pub struct Journal {
    file: File,
    /// The file that has the lock, if it is not `file`.
    _lock: Option<File>,
    path: PathBuf,
}

/// A journal whose run is gone.
#[derive(Debug)]
pub struct LeftJournal {
    file: File,
    /// Bytes of whole lines. An incomplete last line was cut off before its change was made.
    whole: u64,
    path: PathBuf,
    /// The record of the journal's run.
    pub run: PathBuf,
    same_boot: bool,
    /// Errors of the lines that cannot be read.
    unreadable: Vec<String>,
    /// The changes that are not undone, each with its number, in order.
    changes: Vec<(usize, Change)>,
}

/// The folder of root's journals.
const OF_ROOT: &str = "/var/lib/disklab";

/// Returns the number of journals that root's runs left behind, which only root undoes. Returns 0
/// for root itself.
pub fn of_root() -> usize {
    if rustix::process::geteuid().is_root() || std::env::var_os("DISKLAB_STATE").is_some() {
        return 0;
    }
    let entries = fs::read_dir(OF_ROOT).into_iter().flatten().flatten();
    entries.filter(|entry| entry.path().extension().is_some_and(|ending| ending == ENDING)).count()
}

/// Returns the folder of journals: the machine's for root, else the user's.
pub fn folder() -> Result<PathBuf> {
    if let Some(place) = std::env::var_os("DISKLAB_STATE") {
        return Ok(PathBuf::from(place));
    }
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from(OF_ROOT));
    }
    let home =
        |name: &str| std::env::var_os(name).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let state = home("XDG_STATE_HOME").or_else(|| Some(home("HOME")?.join(".local/state")));
    state.map(|state| state.join("disklab")).ok_or(Error::NoState)
}

impl Journal {
    /// Makes a new journal below `folder`, for the run with the record `run`.
    pub fn create(folder: &Path, run: &Path) -> Result<Self> {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
        trusted(folder)?;
        let mut names =
            (0..).map(|number| folder.join(format!("{}-{number}.{ENDING}", std::process::id())));
        let (file, path) = loop {
            let path = names.next().unwrap_or_default();
            let made = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
            let file = match made {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                made => made.map_err(Error::io("create", &path))?,
            };
            // Another disklab may have removed it in the meantime, because it looked abandoned and
            // empty.
            if has_locked(&file, &path, FlockOperation::NonBlockingLockShared)?
                && is_at(&file, &path)
            {
                break (file, path);
            }
        };
        let mut journal = Self { file, _lock: None, path };
        journal.write(&JournalLine::Begun { boot: boot(), run: run.to_owned() })?;
        File::open(folder)
            .and_then(|folder| folder.sync_all())
            .map_err(Error::io("sync", folder))?;
        Ok(journal)
    }

    /// Joins a journal that another process made and still holds. All programs that this process
    /// starts from now on hold it too, and can only read it.
    pub fn join(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().append(true).open(path).map_err(Error::io("open", path))?;
        let lock = File::open(path).map_err(Error::io("open", path))?;
        flock(&lock, FlockOperation::NonBlockingLockShared)
            .and_then(|()| fcntl_setfd(&lock, FdFlags::empty()))
            .map_err(|error| Error::io("lock", path)(error.into()))?;
        Ok(Self { file, _lock: Some(lock), path: path.to_owned() })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a change that is about to be made. When this returns, the change is on the disk.
    pub fn note(&mut self, change: &Change) -> Result<()> {
        self.write(&JournalLine::Change(change.clone()))
    }

    /// Writes a line with a single call, so that the lines of two processes do not mix.
    fn write(&mut self, line: &JournalLine) -> Result<()> {
        let mut text =
            serde_json::to_string(line).map_err(|e| Error::io("write", &self.path)(e.into()))?;
        text.push('\n');
        let written = self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data());
        written.map_err(Error::io("write", &self.path))
    }

    /// Undoes all changes that are not undone, the last first, and passes news of each to `also`.
    pub fn undo(self, also: &mut dyn FnMut(UndoNews)) -> Result<bool> {
        let path = self.path.clone();
        drop(self);
        // The first process and the programs that it started hold the journal too, until they end.
        let still = "programs of the trial that was ended are still at their last requests";
        let waited = until_done(&mut |why| also(UndoNews::Waits(why)), || {
            LeftJournal::take(&path).transpose().ok_or_else(|| Obstacle::Ending(still.to_owned()))
        });
        match waited {
            Err(_) => Ok(false),
            // Another disklab was quicker, and undid the changes.
            Ok(Err(Error::Io { cause, .. })) if cause.kind() == io::ErrorKind::NotFound => Ok(true),
            Ok(left) => left?.undo(also),
        }
    }
}

impl LeftJournal {
    /// Returns the journals below `folder` that nobody holds. If a journal cannot be read, its
    /// entry is an error, and its changes are not undone.
    pub fn all(folder: &Path) -> Result<Vec<Result<Self>>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(Error::io("list", folder))?,
        };
        trusted(folder)?;
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|ending| ending == ENDING));
        // The newest journal is undone first, because its run may have changed a value again.
        paths.sort_by_cached_key(|path| {
            Reverse(path.metadata().and_then(|metadata| metadata.modified()).ok())
        });
        let taken = paths.iter().filter_map(|path| match Self::take_once_free(path) {
            // Its run has ended meanwhile, or another disklab was quicker.
            Err(Error::Io { cause, .. }) if cause.kind() == io::ErrorKind::NotFound => None,
            taken => taken.transpose(),
        });
        Ok(taken.collect())
    }

    /// Takes a journal once it is free: the first process of a killed run may live for a moment
    /// longer. Returns `None` if the run goes on.
    fn take_once_free(path: &Path) -> Result<Option<Self>> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let process = name.split('-').next().unwrap_or_default();
        let begun = Instant::now();
        loop {
            let taken = Self::take(path)?;
            let goes_on = Path::new("/proc").join(process).exists();
            if taken.is_some() || goes_on || begun.elapsed() > MOMENT {
                return Ok(taken);
            }
            sleep(LOOK);
        }
    }

    /// Takes a journal if nobody holds it. Returns `None` if somebody does.
    fn take(path: &Path) -> Result<Option<Self>> {
        // A pipe of this name would block the open, and a link may lead to somebody else's file.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
        let open = OpenOptions::new().read(true).append(true).custom_flags(flags).open(path);
        let file = open.map_err(Error::io("open", path))?;
        if !file.metadata().map_err(Error::io("open", path))?.is_file() {
            return Err(Error::unreadable(path, "it is not a file"));
        }
        if !has_locked(&file, path, FlockOperation::NonBlockingLockExclusive)? {
            return Ok(None);
        }
        // The former holder of the lock may have removed it, and a run may have made another of its
        // name.
        if !is_at(&file, path) {
            return Err(Error::io("open", path)(io::ErrorKind::NotFound.into()));
        }
        let mut bytes = Vec::new();
        let read =
            (&file).take(LONGEST + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
        if read as u64 > LONGEST {
            return Err(Error::unreadable(path, format!("it is longer than {LONGEST} bytes")));
        }
        let (mut begun, mut changes) = (None, Vec::new());
        let mut undone = Vec::new();
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let mut unreadable = Vec::new();
        for (number, line) in bytes[..whole].split(|byte| *byte == b'\n').enumerate() {
            match serde_json::from_slice(line) {
                Ok(JournalLine::Begun { boot, run }) => begun = Some((boot, run)),
                Ok(JournalLine::Change(change)) => changes.push(change),
                Ok(JournalLine::Undone(number)) => undone.push(number),
                Err(_) if line.is_empty() => {}
                // The changes of the other lines are undone all the same.
                Err(error) => unreadable.push(format!("line {}: {error}", number + 1)),
            }
        }
        if begun.is_none() && changes.is_empty() && !unreadable.is_empty() {
            return Err(Error::unreadable(path, unreadable.swap_remove(0)));
        }
        if !unreadable.is_empty() {
            // Changes have numbers by their order, and the unreadable line may have been a change.
            undone.clear();
        }
        let (of, run) = begun.unwrap_or_default();
        let changes = changes
            .into_iter()
            .enumerate()
            .filter(|(number, _)| !undone.contains(number))
            .collect();
        let (path, whole) = (path.to_owned(), whole as u64);
        Ok(Some(Self { file, whole, path, run, same_boot: of == boot(), unreadable, changes }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the changes to undo, the last one first.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().rev().map(|(_, change)| change)
    }

    /// Returns an error if some lines of the journal cannot be read.
    pub fn unreadable(&self) -> Option<Error> {
        let error = self.unreadable.join("; ");
        (!error.is_empty()).then(|| Error::unreadable(&self.path, error))
    }

    /// Undoes all changes, the last first, and goes on if one fails. Returns true if nothing is
    /// left and the journal is removed.
    pub fn undo(mut self, also: &mut dyn FnMut(UndoNews)) -> Result<bool> {
        self.file.set_len(self.whole).map_err(Error::io("mend", &self.path))?;
        let mut whole = true;
        for (number, change) in std::mem::take(&mut self.changes).into_iter().rev() {
            let undone = change.undo(self.same_boot, &mut |what| also(UndoNews::Waits(what)));
            if let Some(undone) = &undone {
                also(UndoNews::Undone(undone));
            }
            if undone.is_some_and(|undone| undone.failed.is_some()) {
                whole = false;
                continue;
            }
            let line = serde_json::to_string(&JournalLine::Undone(number))
                .map_err(|e| Error::io("write", &self.path)(e.into()))?;
            // If the disk is full, the line is lost, and the change is undone again the next time.
            let _ = writeln!(self.file, "{line}");
        }
        if whole && !self.unreadable.is_empty() {
            // The rename prevents that the same changes are undone again the next time.
            let path = self.path.with_extension("unreadable");
            fs::rename(&self.path, &path).map_err(Error::io("rename", &self.path))?;
            let error = self.unreadable.join("; ");
            return Err(Error::unreadable(&path, format!("{error}; all else in it is undone")));
        }
        if whole {
            fs::remove_file(&self.path).map_err(Error::io("remove", &self.path))?;
        }
        Ok(whole)
    }
}

/// Checks that nobody else may have written to the folder, because disklab does what journals say.
fn trusted(folder: &Path) -> Result<()> {
    let metadata = folder.metadata().map_err(Error::io("read the owner of", folder))?;
    let own = rustix::process::geteuid().as_raw();
    let why = if ![0, own].contains(&metadata.uid()) {
        format!("it belongs to user {}", metadata.uid())
    } else if metadata.mode() & 0o022 != 0 {
        format!("others may write it (mode {:o})", metadata.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(Error::Untrusted { path: folder.to_owned(), why })
}

/// Locks a file. Returns false if somebody else holds a lock.
fn has_locked(file: &File, path: &Path, operation: FlockOperation) -> Result<bool> {
    match flock(file, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        locked => locked.map(|()| true).map_err(|errno| Error::io("lock", path)(errno.into())),
    }
}

/// Returns whether a path still leads to the opened file.
fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(own), Ok(there)) = (file.metadata(), path.metadata()) else { return false };
    (own.dev(), own.ino()) == (there.dev(), there.ino())
}

/// Returns the id of the machine's boot.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}
