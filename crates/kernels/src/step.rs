//! Progress of a build.

use std::path::PathBuf;
use std::time::Duration;

use disklab_units::Bytes;

/// A report of progress. `Downloading` and `Compiling` come several times a second, the others
/// once each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildStep {
    /// Something a reader should know though the build goes on: a series passed over, a damaged
    /// kernel set aside.
    Note(String),
    /// Another disklab holds this lock; the build goes on when it is done.
    Waiting { lock: PathBuf },
    /// Asking one suite of the Debian archive for a package.
    Looking { package: String, suite: String },
    /// Fetching a package.
    Downloading { package: String, done: Bytes, total: Bytes },
    /// Work on files that takes a while: hashing, unpacking or copying a source, removing it again.
    Preparing { what: String },
    /// Putting in `guest-kernel/files` and `guest-kernel/patches`, and making the configuration.
    Inserting { files: usize, patches: usize },
    /// `done` of about `total` objects of the kernel; `remaining` is unknown at first.
    Compiling { done: u32, total: u32, remaining: Option<Duration> },
}

/// Receiver of steps.
pub type Report<'a> = &'a mut dyn FnMut(BuildStep);
