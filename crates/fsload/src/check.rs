//! Compares the disk with the account: every file that should be there, with each of its bytes, and
//! no other.

use crate::Failure;
use crate::content::ContentKey;
use crate::run::LoadDone;
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Files and bytes that were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    pub files: u64,
    pub bytes: u64,
}

impl LoadDone {
    /// Compares what is on the disk with the account. The error gives the number of files that
    /// differ, and the first of them.
    pub fn check(&self, root: &Path) -> Result<Checked, Failure> {
        let mut checked = Checked { files: 0, bytes: 0 };
        let mut wrong: Vec<String> = Vec::new();
        let mut tell =
            |path: &Path, what: String| wrong.push(format!("{}: {what}", path.display()));
        for (path, held) in self.books.all() {
            match held {
                Some((key, size)) => {
                    checked.files += 1;
                    checked.bytes += size;
                    if let Some(what) = differs(&root.join(&path), key, size) {
                        tell(&path, what);
                    }
                }
                None if root.join(&path).symlink_metadata().is_ok() => {
                    tell(&path, "it exists, and was deleted or never made".to_owned());
                }
                None => {}
            }
        }
        let found = count(root)?;
        if found > checked.files && wrong.is_empty() {
            let extra = format!("{found} files exist, and the load made {}", checked.files);
            wrong.push(format!("{}: {extra}", root.display()));
        }
        match wrong.first() {
            Some(first) => Err(format!(
                "fsload: of {} files, {} are not what was written; the first is {first}",
                checked.files,
                wrong.len()
            )),
            None => Ok(checked),
        }
    }
}

fn differs(path: &Path, key: ContentKey, size: u64) -> Option<String> {
    let look = || -> io::Result<Option<String>> {
        let file = File::open(path)?;
        let found = file.metadata()?.len();
        if found != size {
            return Ok(Some(format!("it has {found} bytes instead of {size}")));
        }
        let at = key.find_in(file, size)?;
        Ok(at.map(|at| format!("other bytes than were written, from {at} on")))
    };
    look().unwrap_or_else(|error| Some(error.to_string()))
}

/// Counts all files below a folder.
fn count(root: &Path) -> Result<u64, Failure> {
    let (mut files, mut folders) = (0, vec![root.to_owned()]);
    while let Some(folder) = folders.pop() {
        let failed = |e: io::Error| format!("fsload: listing {}: {e}", folder.display());
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                folders.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    Ok(files)
}
