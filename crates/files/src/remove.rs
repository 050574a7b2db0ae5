//! Removes folders that others may have filled: with folders that are nested deeper than calls,
//! descriptors and stacks reach, and with folders that nobody may write to.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use crate::type_at;

/// Removes a folder that may be absent, or the link in its place.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    match type_at(path)? {
        Some(kind) if kind.is_dir() => {}
        // A link's target is somebody else's.
        _ => return remove_file(path),
    }
    let mut names = (0_u32..).map(|number| path.join(format!("removed-{number}")));
    let mut rest = empty(path)?;
    while let Some(folder) = rest.pop() {
        for below in empty(&folder)? {
            let mut to = below.clone();
            while type_at(&to)?.is_some() {
                to = names.next().ok_or(ErrorKind::StorageFull)?;
            }
            // A folder that moves gets another `..`, which needs leave to write to it.
            make_usable(&below)?;
            fs::rename(&below, &to)?;
            rest.push(to);
        }
        fs::remove_dir(&folder)?;
    }
    fs::remove_dir(path)
}

/// Removes the files of a folder, and returns the folders in it.
fn empty(folder: &Path) -> io::Result<Vec<PathBuf>> {
    make_usable(folder)?;
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if type_at(&path)?.is_some_and(|kind| kind.is_dir()) {
            folders.push(path);
        } else {
            remove_file(&path)?;
        }
    }
    Ok(folders)
}

/// Removes a file that may be absent.
fn remove_file(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Lets this process read one of its own files, or use one of its folders, whatever its mode.
pub fn make_usable(path: &Path) -> io::Result<()> {
    let meta = path.symlink_metadata()?;
    let (wanted, mut permissions) = (if meta.is_dir() { 0o700 } else { 0o600 }, meta.permissions());
    if permissions.mode() & wanted == wanted {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() | wanted);
    fs::set_permissions(path, permissions)
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
        // A name that the removal would give is taken.
        fs::create_dir_all(deep.join("removed-0/below")).unwrap();
        let closed = fs::Permissions::from_mode(0o000);
        fs::set_permissions(deep.join("removed-0/below"), closed.clone()).unwrap();
        fs::set_permissions(deep.join("removed-0"), closed).unwrap();
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
}
