//! Makes sure that written data survives a power failure.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Syncs a folder's entries, after files were created, renamed or removed in it.
pub fn folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

/// Syncs everything that was written to the filesystem of `path`. For many files this is much
/// faster than syncing each.
pub fn filesystem(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(path)?)?)
}

/// Writes a file that must not exist, without syncing it.
pub fn write_new(path: &Path, text: &str) -> io::Result<()> {
    File::create_new(path)?.write_all(text.as_bytes())
}

/// Writes a file as a whole. After an error its old content is there.
pub fn write_whole(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(content.as_ref())?;
    file.sync_all()?;
    fs::rename(&part, path)
}

/// Syncs every file and folder under `path`, and `path` itself.
pub fn tree(path: &Path) -> io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            tree(&entry.path())?;
        } else if kind.is_file() {
            File::open(entry.path())?.sync_all()?;
        }
    }
    folder(path)
}
