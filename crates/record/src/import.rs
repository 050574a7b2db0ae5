//! Makes records of results that were measured elsewhere.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::chain::Chain;
use crate::error::RecordError;
use crate::manifest::Manifest;
use crate::outcome::Outcome;
use crate::record::Record;
use crate::{name, sync, whole};

/// A file that contains results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Name of the file in the record, made by [`source_name`].
    pub name: String,
    /// Present path of the file.
    pub path: PathBuf,
}

pub use self::ImportedFile as Source;

/// Returns the name of the `index`th source in a record's folder `found`: its own name, as far as
/// it is valid there.
pub fn source_name(index: usize, path: &Path) -> String {
    let own = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let fit = |letter: char| if name::is_fit_letter(letter) { letter } else { '_' };
    let own: String = own.chars().map(fit).take(150).collect();
    format!("{index}-{own}")
}

impl Record {
    /// Makes a record of existing results in exactly this folder, which must not exist. After a
    /// crash the record is whole, or does not exist.
    pub fn import(
        folder: &Path,
        manifest: &Manifest,
        outcomes: &[Outcome],
        files: &[ImportedFile],
    ) -> Result<(), RecordError> {
        whole::create(folder, manifest, sync::tree, |part| {
            write(part, outcomes, files, manifest.chain())
        })
    }
}

fn write(
    part: &Path,
    outcomes: &[Outcome],
    files: &[ImportedFile],
    mut chain: Chain,
) -> Result<Chain, RecordError> {
    let found = part.join("found");
    fs::create_dir(&found).map_err(RecordError::io("create", &found))?;
    for file in files {
        let to = found.join(&file.name);
        fs::copy(&file.path, &to).map_err(RecordError::io("copy", &file.path))?;
    }
    let trials = part.join(name::TRIALS);
    let lines = outcomes.iter().map(|outcome| outcome.to_line(&mut chain));
    let lines = lines.collect::<Result<String, _>>();
    let lines = lines.map_err(io::Error::from);
    lines
        .and_then(|lines| sync::write_new(&trials, &lines))
        .map_err(RecordError::io("write", &trials))?;
    Ok(chain)
}
