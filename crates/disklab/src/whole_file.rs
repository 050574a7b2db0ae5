//! A file that is there whole or not at all.

use std::fmt::Display;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::exit::Failure;

/// Writes what `fill` writes, and puts it in its place once it is all there. What is there already
/// is replaced: whether it may be is the caller's to ask.
pub fn write(
    output: &Path,
    fill: impl FnOnce(&mut Remembering) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let cannot = |error: &dyn Display| {
        Failure::cannot(format!(
            "cannot write {}: {error}; name another file with -o",
            output.display()
        ))
    };
    // In its folder, so that a rename can put it in its place.
    let folder =
        output.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(cannot(&format!("there is no folder {}", folder.display())));
    }
    let mut temporary = tempfile::Builder::new()
        .prefix(".disklab-")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .map_err(|error| cannot(&error))?;
    let mut out = Remembering { inner: BufWriter::new(temporary.as_file_mut()), error: None };
    let filled = fill(&mut out);
    let flushed = out.flush();
    let failed = out.error.take();
    drop(out);
    if let Some(error) = failed {
        return Err(cannot(&error));
    }
    filled?;
    flushed.map_err(|error| cannot(&error))?;
    temporary.persist(output).map_err(|error| cannot(&error.error))?;
    Ok(())
}

/// A file that knows that it could not be written: whoever writes tells of standard output.
pub struct Remembering<'a> {
    inner: BufWriter<&'a mut File>,
    error: Option<String>,
}

impl Remembering<'_> {
    fn remember<T>(&mut self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result {
            self.error = Some(error.to_string());
        }
        result
    }
}

impl Write for Remembering<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes);
        self.remember(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.inner.flush();
        self.remember(flushed)
    }
}
