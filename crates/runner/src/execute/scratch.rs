//! A temporary folder that is removed at the end of its use. If its process is killed, the next
//! sweep removes it.

use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const LOCK: &str = "lock";

/// A temporary folder, whose `lock` is held as long as its process lives.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes a folder in `parent`, named by this process and a number.
    pub fn create(parent: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // A process with the same number left it, here or in a container that shares the
                // cache.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other.map_err(Error::io("create", &path))?,
            }
            // The lock is taken before the file has its name, so that no sweep finds it unlocked.
            let (unnamed, named) = (path.join(".lock"), path.join(LOCK));
            let lock = File::create(&unnamed).map_err(Error::io("create", &unnamed))?;
            let locked = flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(Into::into);
            locked.and_then(|()| fs::rename(&unnamed, &named)).map_err(Error::io("lock", &path))?;
            return Ok(Self { path, _lock: lock });
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next run removes the remains.
        let _ = remove_folder(&self.path);
    }
}

/// Removes a folder that may be absent.
pub fn remove_folder(path: &Path) -> Result<()> {
    disklab_files::remove_folder(path).map_err(Error::io("remove", path))
}

/// Removes a file that may be absent.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes the folders in `parent` whose processes are gone, and returns their number.
pub fn sweep(parent: &Path) -> Result<usize> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("read", parent)(error)),
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let lock = File::open(entry.path().join(LOCK));
        // The lock is held until the folder is gone, since another sweep may have found it too.
        let free = if let Ok(lock) = &lock {
            flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        } else {
            // The process was killed before it made its lock, or is about to make it. Folders
            // younger than a minute are left.
            let made = entry.metadata().and_then(|meta| meta.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age.as_secs() > 60))
        };
        if free {
            let removed = remove_folder(&entry.path());
            // Another sweep may have been faster.
            if !matches!(disklab_files::type_at(&entry.path()), Ok(None)) {
                removed?;
            }
            swept += 1;
        }
    }
    Ok(swept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_abandoned_is_swept() {
        let parent = tempfile::tempdir().unwrap();
        let used = Scratch::create(parent.path()).unwrap();
        let left = parent.path().join("1-left");
        fs::create_dir(&left).unwrap();
        fs::write(left.join(LOCK), "").unwrap();
        assert_eq!(sweep(parent.path()).unwrap(), 1);
        assert!(used.path().exists() && !left.exists());
        let path = used.path().to_owned();
        drop(used);
        assert!(!path.exists());
        assert_eq!(sweep(&parent.path().join("absent")).unwrap(), 0);
    }
}
