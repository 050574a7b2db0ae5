//! Where the kernel and udev tell of disks: /sys, /proc, /run and /dev.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Longer than any of the files that are read whole; what is in them may be anybody's.
const LONGEST: u64 = 16 << 20;

/// This one, or a folder that a test made look like one.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    root: PathBuf,
}

impl Machine {
    pub(crate) fn here() -> Self {
        Self { root: PathBuf::from("/") }
    }

    #[cfg(test)]
    pub(crate) fn at(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    /// Of a path that begins with `/`, as this machine has it.
    pub(crate) fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    pub(crate) fn text(&self, path: impl AsRef<Path>) -> io::Result<String> {
        text(&self.path(path))
    }
}

/// A file as text; what is none is marked.
pub(crate) fn text(path: &Path) -> io::Result<String> {
    Ok(String::from_utf8_lossy(&bytes(path)?).into_owned())
}

pub(crate) fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = File::open(path)?.take(LONGEST + 1).read_to_end(&mut bytes)?;
    if read as u64 > LONGEST {
        return Err(io::Error::other("it is far too long"));
    }
    Ok(bytes)
}

#[cfg(test)]
pub(crate) mod fake;
