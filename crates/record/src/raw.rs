//! Raw output, copied from one trial's folder to another's.

use std::fs;
use std::path::Path;

use crate::error::RecordError;

/// Copies all files and folders; links and other entries are not raw output. The folder `to` must
/// exist.
pub fn copy_contents(from: &Path, to: &Path) -> Result<(), RecordError> {
    for entry in fs::read_dir(from).map_err(RecordError::io("read", from))? {
        let entry = entry.map_err(RecordError::io("read", from))?;
        let (path, copied) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(RecordError::io("read", &path))?;
        if kind.is_dir() {
            fs::create_dir(&copied).map_err(RecordError::io("create", &copied))?;
            copy_contents(&path, &copied)?;
        } else if kind.is_file() {
            fs::copy(&path, &copied).map_err(RecordError::io("copy", &path))?;
        }
    }
    Ok(())
}
