//! The contents of the cache, and their users.
//!
//! Two rules say which contents are in use. In `kernels`, `sources` and `disks`, `.tmp-<name>`
//! belongs to the process that holds `<name>.lock`. A folder in `trials` belongs to the process
//! that holds the `lock` in it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use disklab_kernels::Cache;
use disklab_units::Bytes;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;

use crate::exit::{Failure, cannot};
use crate::home::paths_in;

const TEMPORARY: &str = ".tmp-";
/// Age below which a folder in `trials` without a lock may be about to get one.
const YOUNG: Duration = Duration::from_secs(60);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CacheKind {
    Leftover,
    Kernel,
    Disks,
    Source,
}

impl CacheKind {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Leftover => "leftover",
            Self::Kernel => "kernel",
            Self::Disks => "prepared disks",
            Self::Source => "source",
        }
    }
}

#[derive(Debug, Serialize)]
pub struct CacheItem {
    pub kind: CacheKind,
    pub path: PathBuf,
    /// The space that the item occupies on its disk.
    pub bytes: Bytes,
    /// The lock that keeps other processes from using the item until it is removed.
    #[serde(skip)]
    _lock: Option<File>,
}

impl CacheItem {
    fn new(kind: CacheKind, path: PathBuf, lock: Option<File>) -> Self {
        let bytes = size(&path);
        Self { kind, path, bytes, _lock: lock }
    }

    pub fn remove(&self) -> Result<(), Failure> {
        disklab_files::remove_folder(&self.path)
            .map_err(|error| cannot!("cannot remove {}: {error}", self.path.display()))
    }
}

#[derive(Debug)]
pub struct CacheContents {
    /// Items of the cache, leftovers first.
    pub items: Vec<CacheItem>,
    /// True while a process prepares disks or runs trials.
    pub in_use: bool,
    /// The lock that keeps runs from beginning while their files are removed.
    _alone: Option<File>,
}

impl CacheContents {
    pub fn look(cache: &Cache) -> Result<Self, Failure> {
        let lock = lock(&cache.in_use())?;
        let in_use = matches!(lock, LockState::Held);
        let mut contents = Self { items: Vec::new(), in_use, _alone: lock.file() };
        for (kind, folder) in [
            (CacheKind::Kernel, cache.kernels()),
            (CacheKind::Disks, cache.disks()),
            (CacheKind::Source, cache.sources()),
        ] {
            contents.add_made(kind, &folder)?;
        }
        contents.add_trials(&cache.root().join("trials"))?;
        contents.items.sort_by(|one, other| (one.kind, &one.path).cmp(&(other.kind, &other.path)));
        Ok(contents)
    }

    fn add_made(&mut self, kind: CacheKind, folder: &Path) -> Result<(), Failure> {
        for path in entries(folder)? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.ends_with(".lock") {
                // Lock files stay: if one were removed, two processes could lock two files of the
                // same name.
                self.in_use |= kind == CacheKind::Disks && matches!(lock(&path)?, LockState::Held);
            } else if let Some(made) = name.strip_prefix(TEMPORARY) {
                match lock(&folder.join(format!("{made}.lock")))? {
                    LockState::Held => {}
                    free => self.items.push(CacheItem::new(CacheKind::Leftover, path, free.file())),
                }
            } else {
                self.items.push(CacheItem::new(kind, path, None));
            }
        }
        Ok(())
    }

    fn add_trials(&mut self, folder: &Path) -> Result<(), Failure> {
        for path in entries(folder)? {
            match lock(&path.join("lock"))? {
                LockState::Held => self.in_use = true,
                LockState::Absent if is_young(&path) => self.in_use = true,
                free => self.items.push(CacheItem::new(CacheKind::Leftover, path, free.file())),
            }
        }
        Ok(())
    }
}

enum LockState {
    /// Another process holds the lock.
    Held,
    /// This process holds the lock now.
    Taken(File),
    Absent,
}

impl LockState {
    /// Returns the lock's file if this process holds it.
    fn file(self) -> Option<File> {
        match self {
            Self::Taken(file) => Some(file),
            Self::Held | Self::Absent => None,
        }
    }
}

fn lock(path: &Path) -> Result<LockState, Failure> {
    let cannot = |error: io::Error| cannot!("cannot open the lock {}: {error}", path.display());
    let file = match disklab_files::open(path, &disklab_files::SMALL) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LockState::Absent),
        Err(error) => return Err(cannot(error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(LockState::Taken(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(LockState::Held),
        Err(error) => Err(cannot(error.into())),
    }
}

fn is_young(path: &Path) -> bool {
    let made = path.metadata().and_then(|meta| meta.modified());
    made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age < YOUNG))
}

/// Lists a folder. A missing folder has no entries.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    match paths_in(folder) {
        Ok(entries) => Ok(entries),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(cannot!("cannot list {}: {error}", folder.display())),
    }
}

/// Returns the space that a file or a folder occupies on its disk, without holes. Files that vanish
/// meanwhile count as 0.
pub fn size(path: &Path) -> Bytes {
    let Ok(meta) = fs::symlink_metadata(path) else { return Bytes(0) };
    let own = Bytes(meta.blocks() * 512);
    if !meta.is_dir() {
        return own;
    }
    own + fs::read_dir(path).into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(cache: &Cache) -> Vec<(CacheKind, String)> {
        let contents = CacheContents::look(cache).unwrap();
        let told = |item: &CacheItem| {
            (item.kind, item.path.strip_prefix(cache.root()).unwrap().display().to_string())
        };
        contents.items.iter().map(told).collect()
    }

    #[test]
    fn only_what_nobody_holds_is_a_leftover() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path()).unwrap();
        for made in [
            "kernels/.tmp-dead",
            "kernels/.tmp-live",
            "kernels/7.3.4-abc",
            "disks/key",
            "trials/1-dead",
        ] {
            fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        for lock in
            ["kernels/dead.lock", "kernels/live.lock", "disks/key.lock", "trials/1-dead/lock"]
        {
            fs::write(folder.path().join(lock), "").unwrap();
        }
        let live = File::open(folder.path().join("kernels/live.lock")).unwrap();
        flock(&live, FlockOperation::LockExclusive).unwrap();
        let expected = [
            (CacheKind::Leftover, "kernels/.tmp-dead"),
            (CacheKind::Leftover, "trials/1-dead"),
            (CacheKind::Kernel, "kernels/7.3.4-abc"),
            (CacheKind::Disks, "disks/key"),
        ];
        assert_eq!(paths(&cache), expected.map(|(kind, path)| (kind, path.to_owned())));
        assert!(!CacheContents::look(&cache).unwrap().in_use, "a kernel's build uses no disks");
    }

    #[test]
    fn a_run_that_goes_on_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::in_folder(folder.path()).unwrap();
        let trial = folder.path().join("trials/7-a");
        fs::create_dir_all(&trial).unwrap();
        assert!(CacheContents::look(&cache).unwrap().in_use, "it has no lock yet");
        let lock = File::create(trial.join("lock")).unwrap();
        flock(&lock, FlockOperation::LockExclusive).unwrap();
        assert!(CacheContents::look(&cache).unwrap().in_use);
        assert_eq!(paths(&cache), []);
        drop(lock);
        assert_eq!(paths(&cache), [(CacheKind::Leftover, "trials/7-a".to_owned())]);
    }

    #[test]
    fn holes_take_no_room() {
        let folder = tempfile::tempdir().unwrap();
        File::create(folder.path().join("disk")).unwrap().set_len(1 << 40).unwrap();
        assert!(size(folder.path()) < Bytes::mib(1));
    }
}
