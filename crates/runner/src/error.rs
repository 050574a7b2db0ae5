//! Errors before a trial's guest has said anything. A failure in a trial is an outcome, not an
//! error.

use disklab_units::Bytes;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "{what} needs about {needed} in {}, and there are {free}; free some, or use a larger \
         place (run --out for records, XDG_CACHE_HOME for the cache)",
        path.display()
    )]
    NoRoom { what: String, path: PathBuf, needed: Bytes, free: Bytes },
    #[error(
        "cannot run {program}: {cause}; install it; `disklab doctor` knows the packages of what \
         disklab itself needs"
    )]
    Tool { program: String, cause: io::Error },
    #[error(
        "fio at {} says that it is {found:?}: trials want fio {oldest} or newer, whose reports \
         tell the percentiles that are compared; install a newer one", path.display()
    )]
    Fio { found: String, path: PathBuf, oldest: String },
    #[error(
        "{} has {free} free; the trial needs {needed}, and {margin} are to stay free: nothing was \
         written",
        path.display()
    )]
    NoMargin { path: PathBuf, free: Bytes, needed: Bytes, margin: Bytes },
    #[error(
        "the disk library is not at {}; build it with `cargo build --release`, or reinstall",
        .0.display()
    )]
    NoLibrary(PathBuf),
    #[error(
        "disks could not be prepared for {array}: {reason}; the output is kept in {}",
        kept.display()
    )]
    Prepare { array: String, reason: String, kept: PathBuf },
    #[error(
        "{}: it is no longer the disk that the run began with; nothing more was written to it, \
         and what has not run can follow with that disk (--resume)",
        disk.display()
    )]
    OtherDisk { disk: PathBuf },
    #[error(
        "{}: it was there when the run began, and no longer is ({cause}); what has not run can \
         follow when it is back (--resume)",
        disk.display()
    )]
    NoDisk { disk: PathBuf, cause: Box<disklab_block_devices::Error> },
    #[error(
        "not all that was changed on this machine could be undone; {} still has it, and `disklab \
         clean` tries again",
        journal.display()
    )]
    NotUndone { journal: PathBuf },
    #[error(transparent)]
    Disk(#[from] disklab_block_devices::Error),
    #[error(transparent)]
    Refused(#[from] disklab_block_devices::Refusal),
    #[error(transparent)]
    Journal(#[from] disklab_block_devices::journal::Error),
    #[error(transparent)]
    Collision(#[from] crate::describe::key::Collision),
    #[error("interrupted")]
    Interrupted,
    #[error(transparent)]
    Cache(#[from] disklab_kernels::Error),
    #[error(transparent)]
    Store(#[from] disklab_record::RecordError),
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// For `map_err` on I/O.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }
}
