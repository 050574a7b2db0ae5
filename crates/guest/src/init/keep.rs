//! Files of sysfs as they are at a moment.

use super::{Failure, Steps};
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

/// Reads all files that fit the patterns; `when` is a word for the record.
pub fn keep(patterns: &[String], when: &str, steps: &mut Steps) -> Result<(), Failure> {
    for path in patterns.iter().map(|pattern| matching(pattern)).collect::<Result<Vec<_>, _>>()?.concat() {
        let says = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        steps.say(&json!({"step": "kept", "when": when, "path": path, "says": says.trim()}));
    }
    Ok(())
}

/// The files that fit a path in which a `*` stands for the name of any folder; in the order of their names.
pub fn matching(pattern: &str) -> Result<Vec<PathBuf>, Failure> {
    let mut found = vec![PathBuf::from("/")];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if part != "*" {
            for path in &mut found {
                path.push(part);
            }
            continue;
        }
        let mut below = Vec::new();
        for folder in &found {
            match fs::read_dir(folder) {
                Ok(entries) => below.extend(entries.flatten().map(|entry| entry.path())),
                Err(error) if [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&error.kind()) => {}
                Err(error) => return Err(format!("{}: {error}", folder.display())),
            }
        }
        below.sort();
        found = below;
    }
    found.retain(|path| path.is_file());
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
        assert_eq!(found, ["b/devices/10/stats", "b/devices/2/stats"].map(|file| place.path().join(file)));
        assert_eq!(matching(&pattern("*/nothing/*/stats")).unwrap(), [""; 0].map(PathBuf::from));
        assert_eq!(matching(&pattern("b/devices/stats")).unwrap().len(), 1);
    }
}
