//! Files that were fsynced, and until when they have to survive a power cut.
//!
//! A promise holds from the moment that fsync returns until the file is about to be deleted,
//! replaced or overwritten: from then on the file may hold anything. Promises and their ends are
//! noted in one order, with numbers from 1. The last number that was reported before a moment
//! therefore says which promises held at that moment.

use crate::content::ContentKey;
use crate::layout;
use disklab_config::fsload::Fsload;
use disklab_units::Seed;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A promise, or the end of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    pub set: u32,
    pub slot: u64,
    /// The promised version; None ends the file's promise.
    pub kept: Option<FileVersion>,
}

/// The version of a file's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileVersion {
    pub generation: u32,
    pub size: u64,
}

/// A file that has to exist, and to begin with these contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Promise {
    /// Path of the file, relative to the folder of the load.
    pub path: PathBuf,
    pub key: u64,
    pub size: u64,
}

/// Returns the promises that hold after the first `number` notes, by set and slot.
fn standing(notes: &[Note], number: u64) -> BTreeMap<(u32, u64), FileVersion> {
    let mut standing = BTreeMap::new();
    for note in notes.iter().take(usize::try_from(number).unwrap_or(usize::MAX)) {
        match note.kept {
            Some(held) => standing.insert((note.set, note.slot), held),
            None => standing.remove(&(note.set, note.slot)),
        };
    }
    standing
}

/// Returns the files that have to exist if the notes up to `number` were made. `seed` is the
/// trial's.
pub fn promised(load: &Fsload, seed: Seed, notes: &[Note], number: u64) -> Vec<Promise> {
    let planned: Vec<_> = load.files.iter().map(|set| layout::plan(load, set)).collect();
    let promise = |((set, slot), held): ((u32, u64), FileVersion)| {
        let number = usize::try_from(set).ok()?;
        let (files, tree) = planned.get(number)?;
        let leaf =
            usize::try_from(slot).ok().and_then(|slot| files.get(slot)).map_or(0, |file| file.leaf);
        let path = layout::path(&load.files[number], *tree, slot, leaf);
        Some(Promise {
            path,
            key: layout::key(seed, number, slot, held.generation).0,
            size: held.size,
        })
    };
    standing(notes, number).into_iter().filter_map(promise).collect()
}

/// Checks that the promised files exist. The error gives the number of lost files, and the first of
/// them.
pub fn look(root: &Path, promises: &[Promise]) -> Result<(), crate::Failure> {
    let wrong: Vec<(&Promise, String)> =
        promises.iter().filter_map(|promise| Some((promise, lost(root, promise)?))).collect();
    let Some((first, why)) = wrong.first() else { return Ok(()) };
    Err(format!(
        "fsload: of {} files that were fsynced, {} are lost or damaged; the first is {}: {why}",
        promises.len(),
        wrong.len(),
        first.path.display()
    ))
}

fn lost(root: &Path, promise: &Promise) -> Option<String> {
    let Promise { path, key, size } = promise;
    let found = File::open(root.join(path))
        .and_then(|file| ContentKey(*key).find_in(file, *size))
        .map(|at| at.map(|at| format!("of {size} bytes it has other ones, or none, from {at} on")));
    found.unwrap_or_else(|error| Some(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Note =
        Note { set: 0, slot: 1, kept: Some(FileVersion { generation: 1, size: 10 }) };

    #[test]
    fn a_promise_holds_until_it_is_taken_back() {
        let longer = Note { kept: Some(FileVersion { generation: 1, size: 20 }), ..KEPT };
        let other = Note { slot: 2, ..KEPT };
        let notes = [KEPT, other, longer, Note { kept: None, ..KEPT }];
        let sizes =
            |number| standing(&notes, number).values().map(|held| held.size).collect::<Vec<_>>();
        assert_eq!(
            [sizes(0), sizes(1), sizes(2), sizes(3), sizes(4)],
            [vec![], vec![10], vec![10, 10], vec![20, 10], vec![10]]
        );
        assert_eq!(sizes(99), sizes(4));
    }

    #[test]
    fn what_was_lost_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let key = ContentKey(77);
        let promise = |name: &str| Promise { path: name.into(), key: key.0, size: 5000 };
        let mut bytes = vec![0; 6000];
        key.fill(0, &mut bytes);
        std::fs::write(folder.path().join("longer"), &bytes).unwrap();
        std::fs::write(folder.path().join("shorter"), &bytes[..4999]).unwrap();
        bytes[100] ^= 1;
        std::fs::write(folder.path().join("other"), &bytes).unwrap();
        look(folder.path(), &[promise("longer")]).unwrap();
        let all = ["longer", "shorter", "other", "gone"].map(promise);
        let error = look(folder.path(), &all).unwrap_err();
        assert!(error.contains("of 4 files that were fsynced, 3 are lost"), "{error}");
        assert!(
            error.contains("the first is shorter") && error.contains("from 4999 on"),
            "{error}"
        );
        assert!(look(folder.path(), &[promise("gone")]).unwrap_err().contains("No such file"));
    }
}
