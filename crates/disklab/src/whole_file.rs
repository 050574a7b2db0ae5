//! Writes files that appear complete or not at all.

use std::fmt::Display;
use std::fs::Permissions;
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::exit::{Failure, cannot, mistaken};

/// Returns whether something has this name. If that cannot be found out, the file must not be
/// replaced.
pub fn is_taken(path: &Path) -> Result<bool, Failure> {
    let kind = disklab_files::type_at(path);
    kind.map(|kind| kind.is_some())
        .map_err(|error| cannot!("cannot see whether {} exists: {error}", path.display()))
}

/// Returns the new file that `-o` names, or None for standard output.
pub fn new_file(output: Option<&PathBuf>) -> Result<Option<&Path>, Failure> {
    let output = output.map(PathBuf::as_path).filter(|output| *output != Path::new("-"));
    match output {
        Some(taken) if is_taken(taken)? => {
            Err(mistaken!("{} exists already; name a new file with -o", taken.display()))
        }
        free => Ok(free),
    }
}

/// Writes the output of `fill`, and renames the complete file to its place. An existing file is
/// replaced: the caller checks if it may be.
pub fn write(
    output: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cannot = |error: &dyn Display| {
        cannot!("cannot write {}: {error}; name another file with -o", output.display())
    };
    // The temporary file is in the same folder, so that a rename can move it.
    let folder =
        output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(cannot(&format_args!("the folder {} does not exist", folder.display())));
    }
    let mut temporary = tempfile::Builder::new()
        .prefix(".disklab-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(|error| cannot(&error))?;
    let mut out = BufWriter::new(temporary.as_file_mut());
    fill(&mut out).and_then(|()| Ok(out.flush()?)).map_err(|failure| match failure {
        Failure::Output(error) => cannot(&error),
        failure => failure,
    })?;
    drop(out);
    temporary.persist(output).map_err(|error| cannot(&error.error))?;
    Ok(())
}

/// Writes a text as [`write`] does.
pub fn write_text(output: &Path, text: &str) -> Result<(), Failure> {
    write(output, |out| Ok(out.write_all(text.as_bytes())?))
}
