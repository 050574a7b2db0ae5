//! A temporary folder that is removed at the end of its use. If its process is killed, the next
//! sweep removes it.

use crate::error::{Error, Result};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
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

/// Removes a folder that may be absent. Programs of a guest may have made its content: folders that
/// are nested deeper than calls and descriptors reach, and folders that nobody may write to.
pub fn remove_folder(path: &Path) -> Result<()> {
    match disklab_files::type_at(path).map_err(Error::io("look at", path))? {
        Some(kind) if kind.is_dir() => {}
        // A link's target is somebody else's.
        _ => return remove_file(path),
    }
    let mut names = (0_u32..).map(|number| path.join(format!("removed-{number}")));
    let mut rest = empty(path)?;
    while let Some(folder) = rest.pop() {
        for below in empty(&folder)? {
            let mut to = below.clone();
            while disklab_files::type_at(&to).map_err(Error::io("look at", &to))?.is_some() {
                to = names.next().unwrap_or_else(|| path.to_owned());
            }
            // A folder that moves gets another `..`, which needs leave to write to it.
            make_usable(&below)?;
            fs::rename(&below, &to).map_err(Error::io("move", &below))?;
            rest.push(to);
        }
        fs::remove_dir(&folder).map_err(Error::io("remove", &folder))?;
    }
    fs::remove_dir(path).map_err(Error::io("remove", path))
}

/// Removes the files of a folder, and returns the folders in it.
fn empty(folder: &Path) -> Result<Vec<PathBuf>> {
    make_usable(folder)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        let kind = disklab_files::type_at(&path).map_err(Error::io("look at", &path))?;
        if kind.is_some_and(|kind| kind.is_dir()) {
            folders.push(path);
        } else {
            remove_file(&path)?;
        }
    }
    Ok(folders)
}

/// Lets this process read one of its own files, or use one of its folders.
pub fn make_usable(path: &Path) -> Result<()> {
    let meta = path.symlink_metadata().map_err(Error::io("look at", path))?;
    let (wanted, mut permissions) = (if meta.is_dir() { 0o700 } else { 0o600 }, meta.permissions());
    if permissions.mode() & wanted == wanted {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() | wanted);
    fs::set_permissions(path, permissions).map_err(Error::io("change the mode of", path))
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
    fn deep_and_closed_folders_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let (deep, outer) = (parent.path().join("deep"), parent.path().join("outer"));
        // The folders are made from the inside, since their whole path is too long for a call.
        fs::create_dir(&deep).unwrap();
        for _ in 0..1500 {
            fs::create_dir(&outer).unwrap();
            fs::rename(&deep, outer.join("deep")).unwrap();
            fs::rename(&outer, &deep).unwrap();
        }
        fs::create_dir_all(deep.join("closed/below")).unwrap();
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(deep.join("closed/below"), closed.clone()).unwrap();
        fs::set_permissions(deep.join("closed"), closed).unwrap();
        remove_folder(&deep).unwrap();
        remove_folder(&deep).unwrap();
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_link_is_removed_and_its_target_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let (link, target) = (parent.path().join("link"), parent.path().join("target"));
        fs::create_dir(&target).unwrap();
        fs::write(target.join("file"), "whole").unwrap();
        for place in [&target, &parent.path().join("nowhere")] {
            std::os::unix::fs::symlink(place, &link).unwrap();
            remove_folder(&link).unwrap();
            assert!(!link.is_symlink());
        }
        fs::create_dir(&link).unwrap();
        std::os::unix::fs::symlink(&target, link.join("below")).unwrap();
        remove_folder(&link).unwrap();
        assert_eq!(fs::read(target.join("file")).unwrap(), b"whole");
    }

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
