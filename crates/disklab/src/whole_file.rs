//! A file that is there whole or not at all.

use std::fmt::Display;
use std::fs::Permissions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::exit::Failure;

/// Writes what `fill` writes, and puts it in its place once it is all there. What is there already is replaced: whether it may
/// be is the caller's to ask.
pub fn write(
    output: &Path,
    fill: impl FnOnce(&mut BufWriter<&mut std::fs::File>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cannot = |error: &dyn Display| {
        Failure::cannot(format!("cannot write {}: {error}; name another file with -o", output.display()))
    };
    // In its folder, so that a rename can put it in its place.
    let folder = output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut temporary = tempfile::Builder::new()
        .prefix(".disklab-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(|error| cannot(&error))?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    fill(&mut out).map_err(|failure| match failure {
        Failure::NobodyReads => cannot(&"nobody reads it"),
        failure => failure,
    })?;
    out.flush().map_err(|error| cannot(&error))?;
    drop(out);
    temporary.persist(output).map_err(|error| cannot(&error.error))?;
    Ok(())
}
