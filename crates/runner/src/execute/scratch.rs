//! A folder that is gone when it is done with, or, if its process was killed, when the next one
//! comes.

use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

const LOCK: &str = "lock";

/// A temporary folder; its `lock` is held as long as its process lives.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// A new folder in `parent`, named by this process and a number.
    pub fn create(parent: &Path) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("{}-{number}", std::process::id()));
            match fs::create_dir(&path) {
                // Left by a process of the same number, here or in a container that shares the
                // cache.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
                other => other.map_err(Error::io("create", &path))?,
            }
            // Locked before it has its name, so that no sweep finds it unlocked.
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
        // What stays behind is swept by the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes a folder that may be absent.
pub fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes a file that may be absent.
pub fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(Error::io("remove", path)(error)),
        _ => Ok(()),
    }
}

/// Removes the folders in `parent` whose processes are gone; returns how many.
pub fn sweep(parent: &Path) -> Result<usize> {
    let entries = match fs::read_dir(parent) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        Err(error) => return Err(Error::io("read", parent)(error)),
    };
    let mut swept = 0;
    for entry in entries.flatten() {
        let lock = File::open(entry.path().join(LOCK));
        // Held until the folder is gone: another sweep may be at it.
        let free = if let Ok(lock) = &lock {
            flock(lock, FlockOperation::NonBlockingLockExclusive).is_ok()
        } else {
            // Killed before it had made its lock; or it is about to: leave what is younger than a
            // minute.
            let made = entry.metadata().and_then(|meta| meta.modified());
            made.is_ok_and(|made| made.elapsed().is_ok_and(|age| age.as_secs() > 60))
        };
        if free {
            remove_folder(&entry.path())?;
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
