//! Progress of a build.

use std::path::PathBuf;
use std::time::Duration;

use disklab_units::Bytes;

/// A report of progress. `Downloading` and `Compiling` come several times a second, the others once
/// each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildStep {
    /// A note for the user while the build continues: a skipped series, or a damaged kernel that
    /// was set aside.
    Note(String),
    /// Another disklab holds this lock. The build continues when the lock is free.
    Waiting { lock: PathBuf },
    /// A suite of the Debian archive is asked for a package.
    Looking { package: String, suite: String },
    /// A package is being fetched.
    Downloading { package: String, done: Bytes, total: Bytes },
    /// Work on files that takes some time: hashing, unpacking or copying a source, or removing it
    /// again.
    Preparing { what: String },
    /// Files and patches of `guest-kernel` are inserted, and the configuration is made.
    Inserting { files: usize, patches: usize },
    /// `done` of about `total` objects of the kernel; `remaining` is unknown at first.
    Compiling { done: u32, total: u32, remaining: Option<Duration> },
}

/// Function that receives steps.
pub type Report<'a> = &'a mut dyn FnMut(BuildStep);
