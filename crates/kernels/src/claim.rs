//! Locks that give each thing in the cache one maker, and a temporary folder that belongs to the
//! lock's holder.
//!
//! `<name>.lock` is locked while `<name>` is being made in `.tmp-<name>`. The lock ends with its
//! process, however that ends, so a temporary folder whose lock is free was left behind and is
//! removed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use crate::error::{Error, Result};
use crate::file;
use crate::process::Runner;
use crate::step::{BuildStep, Report};

const LOOK: Duration = Duration::from_millis(100);
const TEMPORARY: &str = ".tmp-";

/// The right to make `<name>` in `folder`, until it is dropped.
#[derive(Debug)]
pub struct Claim {
    temporary: PathBuf,
    _lock: File,
}

/// A temporary folder, gone when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Claim {
    /// Waits until no other process holds the claim, with a message. Then removes the remains of
    /// killed makers in `folder`.
    pub fn take(folder: &Path, name: &str, stop: &AtomicBool, report: Report) -> Result<Self> {
        let path = lock_path(folder, name);
        let lock = File::create(&path).map_err(Error::io("create the lock", &path))?;
        if !try_lock(&lock, &path)? {
            report(BuildStep::Waiting { lock: path.clone() });
            while !try_lock(&lock, &path)? {
                Runner { stop }.check()?;
                std::thread::sleep(LOOK);
            }
        }
        let claim = Self { temporary: folder.join(format!("{TEMPORARY}{name}")), _lock: lock };
        remove_folder(&claim.temporary)?;
        sweep(folder)?;
        Ok(claim)
    }

    /// Makes a temporary folder on the same file system as the final place.
    pub fn scratch(&self) -> Result<Scratch> {
        remove_folder(&self.temporary)?;
        file::create_folder(&self.temporary)?;
        Ok(Scratch(self.temporary.clone()))
    }
}

impl Scratch {
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The next claim in this folder removes the remains.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Removes a folder that may be absent.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
            Err(Error::io("remove", path)(cause))
        }
        _ => Ok(()),
    }
}

fn lock_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.lock"))
}

fn try_lock(lock: &File, path: &Path) -> Result<bool> {
    match flock(lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(errno) => Err(Error::io("lock", path)(errno.into())),
    }
}

/// Removes the temporary folders whose makers are gone.
fn sweep(folder: &Path) -> Result<()> {
    for entry in file::names(folder)? {
        let Some(name) = entry.strip_prefix(TEMPORARY) else { continue };
        let path = lock_path(folder, name);
        let lock = File::create(&path).map_err(Error::io("create the lock", &path))?;
        if try_lock(&lock, &path)? {
            remove_folder(&folder.join(&entry))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    static RUN: AtomicBool = AtomicBool::new(false);

    fn take(folder: &Path, name: &str) -> Claim {
        Claim::take(folder, name, &RUN, &mut |step| panic!("{step:?}")).unwrap()
    }

    #[test]
    fn the_second_waits_for_the_first_and_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let first = take(folder.path(), "k");
        let (said, hear) = mpsc::channel();
        std::thread::scope(|scope| {
            let second = scope.spawn(|| {
                let claim =
                    Claim::take(folder.path(), "k", &RUN, &mut |step| said.send(step).unwrap());
                claim.map(drop)
            });
            assert_eq!(
                hear.recv().unwrap(),
                BuildStep::Waiting { lock: folder.path().join("k.lock") }
            );
            assert!(!second.is_finished());
            drop(first);
            second.join().unwrap().unwrap();
        });
    }

    #[test]
    fn who_waits_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let _first = take(folder.path(), "k");
        let stop = AtomicBool::new(false);
        let result = Claim::take(folder.path(), "k", &stop, &mut |_| {
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        assert!(matches!(result, Err(Error::Interrupted)));
    }

    #[test]
    fn leftovers_go_and_folders_in_use_stay() {
        let folder = tempfile::tempdir().unwrap();
        let used = take(folder.path(), "used");
        let scratch = used.scratch().unwrap();
        fs::create_dir_all(folder.path().join(".tmp-left/deep")).unwrap();
        let other = take(folder.path(), "other");
        assert!(scratch.path().is_dir());
        assert!(!folder.path().join(".tmp-left").exists());
        drop(other);
        let path = scratch.path().to_path_buf();
        drop(scratch);
        assert!(!path.exists());
    }
}
