//! Makes a record in one step: after a crash it is whole, or does not exist.

use std::fs;
use std::io;
use std::path::Path;

use crate::chain::Chain;
use crate::error::RecordError;
use crate::manifest::Manifest;
use crate::{name, sync};

/// Makes the parent folder of a new record `folder`, and returns it with the manifest as text.
pub fn prepare<'a>(
    folder: &'a Path,
    manifest: &Manifest,
) -> Result<(String, &'a Path), RecordError> {
    let refused = |message| RecordError::Manifest { path: folder.join(name::MANIFEST), message };
    manifest.check_trials().map_err(refused)?;
    let text = manifest.to_toml().map_err(refused)?;
    let parent =
        folder.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(RecordError::io("create", parent))?;
    Ok((text, parent))
}

/// Writes the file with the number of a record's lines, if lines have digests.
pub fn write_last(folder: &Path, chain: &Chain) -> Result<(), RecordError> {
    let Some(last) = chain.last() else { return Ok(()) };
    let path = folder.join(name::LAST);
    last.write(&path).map_err(RecordError::io("write", &path))
}

/// Makes a record in exactly this folder, which must not exist. `fill` writes everything except the
/// manifest, the count of lines and the empty `raw` into a folder beside it, and returns the chain
/// after the last line. `synced` syncs that folder.
pub fn create(
    folder: &Path,
    manifest: &Manifest,
    synced: impl FnOnce(&Path) -> io::Result<()>,
    fill: impl FnOnce(&Path) -> Result<Chain, RecordError>,
) -> Result<(), RecordError> {
    if folder.exists() {
        return Err(RecordError::Exists { folder: folder.to_owned() });
    }
    let (text, parent) = prepare(folder, manifest)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let part = parent.join(format!(".{name}.{}.part", std::process::id()));
    let write = || {
        for folder in [&part, &part.join(name::RAW)] {
            fs::create_dir(folder).map_err(RecordError::io("create", folder))?;
        }
        write_last(&part, &fill(&part)?)?;
        let path = part.join(name::MANIFEST);
        sync::write_new(&path, &text).map_err(RecordError::io("write", &path))?;
        synced(&part).map_err(RecordError::io("sync", &part))?;
        fs::rename(&part, folder).map_err(RecordError::io("rename", &part))?;
        sync::folder(parent).map_err(RecordError::io("sync", parent))
    };
    let written = write();
    if written.is_err() {
        // The caller gets the first error; remaining files stay visible.
        let _ = fs::remove_dir_all(&part);
    }
    written
}
