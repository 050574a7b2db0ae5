//! Free space on the host.

use crate::error::{Error, Result};
use disklab_units::Bytes;
use rustix::fs::statvfs;
use std::path::Path;

/// Returns an error unless `needed` bytes are free in `folder`.
pub fn check_room(what: &str, folder: &Path, needed: Bytes) -> Result<()> {
    let stat =
        statvfs(folder).map_err(|e| Error::io("read the free space of", folder)(e.into()))?;
    let free = Bytes(stat.f_bavail * stat.f_frsize);
    if free < needed {
        return Err(Error::NoRoom { what: what.to_owned(), path: folder.to_owned(), needed, free });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_room_says_how_much() {
        let folder = tempfile::tempdir().unwrap();
        let error = check_room("a copy", folder.path(), Bytes(1 << 60)).unwrap_err().to_string();
        let place = folder.path().display().to_string();
        assert!(error.starts_with("a copy needs about ") && error.contains(&place), "{error}");
        check_room("a copy", folder.path(), Bytes(1)).unwrap();
    }
}
