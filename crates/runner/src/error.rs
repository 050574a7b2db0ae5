//! Errors before a trial's guest has written anything. A failure in a trial is an outcome, not an
//! error.

use disklab_record::RecordError;
use disklab_record::outcome::Fault;
use disklab_units::Bytes;
use rustix::io::Errno;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot {doing} {}: {cause}", path.display())]
    Io { doing: &'static str, path: PathBuf, cause: io::Error },
    #[error(
        "{what} needs about {needed} in {}, and {free} are free; free some space, or use a larger \
         disk (run --out for records, XDG_CACHE_HOME for the cache)",
        path.display()
    )]
    NoRoom { what: String, path: PathBuf, needed: Bytes, free: Bytes },
    #[error("cannot run {program}: {cause}; {}", advice(cause))]
    Tool { program: String, cause: io::Error },
    #[error(
        "no filesystem can hold a guest's memory: /dev/shm and {} are full, mounted noexec, or \
         read-only; remount one of them, or put the cache elsewhere (XDG_CACHE_HOME)",
        trial.display()
    )]
    NoPlaceForMemory { trial: PathBuf },
    #[error(
        "fio at {} reports the version {found:?}; trials need fio {oldest} or newer, whose reports \
         have the percentiles that are compared; install a newer one", path.display()
    )]
    Fio { found: String, path: PathBuf, oldest: String },
    #[error(
        "{} has {free} free; the trial needs {needed}, and {margin} must stay free; nothing was \
         written, so free some space there",
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
    Prepare { array: String, reason: String, fault: Fault, kept: PathBuf },
    #[error(
        "{what}: {reason}; the filesystem of {} is full: free some space there, then continue with \
         `disklab run --resume RUN`",
        path.display()
    )]
    Full { what: String, reason: String, path: PathBuf },
    #[error(
        "the check of the disks in cut-{number} was killed: {reason}; run the trial again \
         (--resume)"
    )]
    CheckKilled { number: usize, reason: String },
    #[error(
        "{}: it is no longer the disk that the run began with; nothing more was written to it, and \
         the remaining trials can run when that disk is back (--resume)",
        disk.display()
    )]
    OtherDisk { disk: PathBuf },
    #[error(
        "{}: the disk existed when the run began and is gone now ({cause}); the remaining trials \
         can run when it is back (--resume)",
        disk.display()
    )]
    NoDisk { disk: PathBuf, cause: Box<disklab_block_devices::Error> },
    #[error(
        "some changes of this machine could not be undone; {} still lists them, and `disklab \
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
    Store(#[from] RecordError),
}

pub type Result<T> = std::result::Result<T, Error>;

/// Says how a program that did not start can be started.
fn advice(cause: &io::Error) -> &'static str {
    match Errno::from_io_error(cause) {
        Some(Errno::MFILE) => "raise the limit of open files (`ulimit -n`), then continue the run",
        Some(Errno::NFILE | Errno::AGAIN | Errno::NOMEM) => {
            "the machine has no more files, processes or memory: end other programs, then continue \
             the run"
        }
        _ => "install it; `disklab doctor` names the packages that disklab itself needs",
    }
}

impl Error {
    /// Returns true if no other trial can run either: the machine has no room left, files may not
    /// grow (`ulimit -f`), or the kernel was replaced.
    pub fn is_of_all_trials(&self) -> bool {
        let is_full = |error: &io::Error| {
            matches!(
                error.kind(),
                io::ErrorKind::StorageFull
                    | io::ErrorKind::QuotaExceeded
                    | io::ErrorKind::FileTooLarge
            )
        };
        match self {
            Self::NoRoom { .. }
            | Self::Full { .. }
            | Self::NoPlaceForMemory { .. }
            | Self::Cache(disklab_kernels::Error::Replaced { .. }) => true,
            Self::Io { cause, .. } => is_full(cause),
            Self::Store(RecordError::Io { source, .. }) => is_full(source),
            _ => false,
        }
    }

    /// Wraps an I/O error, for `map_err`.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_lacks_files_is_not_to_be_installed() {
        let said = |errno: Errno| {
            let cause = io::Error::from(errno);
            Error::Tool { program: "fio".to_owned(), cause }.to_string()
        };
        assert!(
            said(Errno::MFILE).contains("ulimit -n") && !said(Errno::MFILE).contains("install")
        );
        assert!(said(Errno::NOENT).contains("install it"));
    }

    #[test]
    fn a_full_filesystem_is_told_from_a_missing_file() {
        let error = |errno: Errno| Error::io("write", Path::new("x"))(errno.into());
        assert!(error(Errno::NOSPC).is_of_all_trials() && error(Errno::DQUOT).is_of_all_trials());
        assert!(error(Errno::FBIG).is_of_all_trials());
        assert!(!error(Errno::NOENT).is_of_all_trials() && !error(Errno::MFILE).is_of_all_trials());
    }
}
