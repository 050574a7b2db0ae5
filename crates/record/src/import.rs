//! Records of results that were made elsewhere.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::manifest::Manifest;
use crate::name;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::sync;
use crate::writer::prepare;

/// A file that results were found in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    /// Its name in the record, as [`source_name`] makes it.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
}

/// The name of the `index`th source in a record's folder `found`: its own, as far as a name there
/// can have it.
pub fn source_name(index: usize, path: &Path) -> String {
    let own = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fit = |letter: char| if name::is_fit_letter(letter) { letter } else { '_' };
    let own: String = own.chars().map(fit).take(150).collect();
    format!("{index}-{own}")
}

impl Record {
    /// Makes a record of results that are there already, in exactly this folder, which must not
    /// exist. It is whole, or not there.
    pub fn import(
        folder: &Path,
        manifest: &Manifest,
        outcomes: &[Outcome],
        sources: &[Source],
    ) -> Result<(), StoreError> {
        if folder.exists() {
            return Err(StoreError::Exists { folder: folder.to_owned() });
        }
        let (text, parent) = prepare(folder, manifest)?;
        let own = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let part = parent.join(format!(".{own}.{}.part", std::process::id()));
        let written = write(&part, &text, outcomes, sources).and_then(|()| {
            fs::rename(&part, folder).map_err(StoreError::io("rename", &part))?;
            sync::folder(parent).map_err(StoreError::io("sync", parent))
        });
        if written.is_err() {
            // What failed is told; that leftovers stay is seen.
            let _ = fs::remove_dir_all(&part);
        }
        written
    }
}

fn write(
    part: &Path,
    manifest: &str,
    outcomes: &[Outcome],
    sources: &[Source],
) -> Result<(), StoreError> {
    let found = part.join("found");
    for folder in [part, &part.join("raw"), &found] {
        fs::create_dir(folder).map_err(StoreError::io("create", folder))?;
    }
    for source in sources {
        let to = found.join(&source.name);
        fs::copy(&source.path, &to).map_err(StoreError::io("copy", &source.path))?;
    }
    let lines: Result<Vec<String>, serde_json::Error> =
        outcomes.iter().map(Outcome::to_line).collect();
    let trials = part.join("trials.jsonl");
    let lines = lines.map_err(std::io::Error::from).map_err(StoreError::io("write", &trials))?;
    for (path, text) in
        [(trials, lines.concat()), (part.join("manifest.toml"), manifest.to_owned())]
    {
        let written = File::create_new(&path).and_then(|mut file| file.write_all(text.as_bytes()));
        written.map_err(StoreError::io("write", &path))?;
    }
    sync::tree(part).map_err(StoreError::io("sync", part))
}
