//! Finds files of sysfs by patterns.

use super::steps::{Failure, on};
use std::fs::{self, DirEntry};
use std::path::PathBuf;

/// Returns the files that match a path in which a `*` stands for the name of any folder, sorted by
/// name.
///
/// Folders are listed, and no name is tried. A failing system call takes a microsecond in a guest,
/// so that the measurement would begin later in a kernel that has fewer files.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut parts = pattern.split('/').filter(|part| !part.is_empty()).peekable();
    let mut found = vec![PathBuf::from("/")];
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        let fits = |entry: &DirEntry| part == "*" || entry.file_name() == part;
        // Links are followed: folders of block devices are links.
        let is_wanted = |entry: &DirEntry| {
            fs::metadata(entry.path()).is_ok_and(|found| found.is_file() == last)
        };
        let mut below = Vec::new();
        for folder in &found {
            let entries = fs::read_dir(folder).map_err(on(folder))?;
            below.extend(
                entries
                    .flatten()
                    .filter(|entry| fits(entry) && is_wanted(entry))
                    .map(|entry| entry.path()),
            );
        }
        below.sort();
        found = below;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_star_is_any_folder() {
        let place = tempfile::tempdir().unwrap();
        for folder in ["b/devices/2", "b/devices/10", "a/devices", "c"] {
            fs::create_dir_all(place.path().join(folder)).unwrap();
        }
        for file in ["b/devices/2/stats", "b/devices/10/stats", "b/devices/stats", "c/devices"] {
            fs::write(place.path().join(file), "").unwrap();
        }
        let pattern = |rest: &str| format!("{}/{rest}", place.path().display());
        let found = matching(&pattern("*/devices/*/stats")).unwrap();
        assert_eq!(
            found,
            ["b/devices/10/stats", "b/devices/2/stats"].map(|file| place.path().join(file))
        );
        assert_eq!(matching(&pattern("*/nothing/*/stats")).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(matching(&pattern("b/devices/stats")).unwrap().len(), 1);
    }
}
