//! The files in which the kernel and udev describe disks: /sys, /proc, /run and /dev.

use std::fmt;
use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Largest number of bytes of a file that is read whole. No such file should be longer, but anybody
/// may have written its contents.
const LONGEST: u64 = 16 << 20;

/// The files of this machine, or a folder in which a test made similar ones.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    root: PathBuf,
}

impl Machine {
    pub(crate) fn here() -> Self {
        Self { root: PathBuf::from("/") }
    }

    #[cfg(test)]
    pub(crate) fn below(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Resolves a path that begins with `/` on this machine.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(crate) fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        text(&self.path(path))
    }
}

/// Reads a file as text; invalid UTF-8 is replaced.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if read as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(bytes)
}

/// Puts a file's path in front of an error, for `map_err`.
pub(crate) fn with_path(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Returns the names of a folder's entries.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let name = |entry: DirEntry| entry.file_name().to_string_lossy().into_owned();
    fs::read_dir(folder)?.map(|entry| entry.map(name)).collect()
}

/// A process, as far as this user may see it.
pub(crate) struct Process {
    pub number: String,
    pub folder: PathBuf,
}

impl Process {
    /// Returns all processes, or none if /proc cannot be read.
    pub(crate) fn all(machine: &Machine) -> impl Iterator<Item = Self> {
        let entries = fs::read_dir(machine.path("/proc")).into_iter().flatten().flatten();
        let process = |entry: DirEntry| Self {
            number: entry.file_name().to_string_lossy().into_owned(),
            folder: entry.path(),
        };
        let is_one = |process: &Self| process.number.bytes().all(|letter| letter.is_ascii_digit());
        entries.map(process).filter(is_one)
    }
}

/// Prints `qemu (process 123)`.
impl fmt::Display for Process {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = text(&self.folder.join("comm")).unwrap_or_default();
        write!(out, "{} (process {})", name.trim(), self.number)
    }
}

/// Returns bytes of memory by the kernel's name for them, such as `MemAvailable`.
pub(crate) fn memory(meminfo: &str, name: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()? << 10)
}
