//! The few file operations used everywhere, with errors that name the file.

use std::fs;
use std::io::Write;
use std::path::Path;

use disklab_units::Bytes;

use crate::error::{Error, Result};

pub(crate) fn text(path: &Path) -> Result<String> {
    disklab_files::read_text(path, &disklab_files::SOURCE).map_err(Error::io("read", path))
}

pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    disklab_files::read(path, &disklab_files::SOURCE).map_err(Error::io("read", path))
}

pub(crate) fn write(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, contents).map_err(Error::io("write", path))
}

pub(crate) fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).map_err(Error::io("create the folder", path))
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::copy(from, to).map(drop).map_err(Error::io("copy", from))
}

pub(crate) fn rename(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).map_err(Error::io("move into place", to))
}

/// Writes and waits until the bytes are on the disk, for files whose presence means that others are
/// complete.
pub(crate) fn write_synced(path: &Path, contents: &[u8]) -> Result<()> {
    let mut file = fs::File::create(path).map_err(Error::io("create", path))?;
    file.write_all(contents).and_then(|()| file.sync_all()).map_err(Error::io("write", path))
}

/// Waits until a file's or folder's content is on the disk.
pub(crate) fn sync(path: &Path) -> Result<()> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(Error::io("write", path))
}

/// Returns the names in a folder, sorted, so that nothing depends on the file system's order.
pub(crate) fn names(folder: &Path) -> Result<Vec<String>> {
    let read = || {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    };
    read().map_err(Error::io("list", folder))
}

/// Returns the room that this user may still fill on the file system of `path`.
pub(crate) fn free_space(path: &Path) -> Result<Bytes> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|errno| Error::io("ask for the free space of", path)(errno.into()))?;
    Ok(Bytes(stat.f_bavail.saturating_mul(stat.f_frsize)))
}
