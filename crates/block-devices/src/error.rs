use std::io;
use std::path::PathBuf;

use disklab_config::Diagnostics;

use crate::refusal::Refusal;

/// A reason why a disk cannot be examined or may not be written, or why an allow file is not
/// trusted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{}: there is no such device; `disklab devices` lists this machine's \
        disks", .0.display())]
    NotThere(PathBuf),
    #[error("{}: it is a link to {}, which is not there; is the disk plugged \
        in?", path.display(), to.display())]
    Dangling { path: PathBuf, to: PathBuf },
    #[error("{}: cannot be looked at: no permission; be root, or of the group that owns \
        it", .0.display())]
    NoPermission(PathBuf),
    #[error("{}: it is {what}, not a block device; `disklab devices` lists this machine's \
        disks", path.display())]
    NoBlockDevice { path: PathBuf, what: &'static str },
    #[error("{}: cannot be looked at: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// An error about the path that the user gave as `--write`.
    #[error("--write {}: cannot be looked at: {source}", path.display())]
    Again { path: PathBuf, source: io::Error },
    #[error(
        "{}: /sys/dev/block/{}:{} is not there or has no size, so that what it is is not known; \
        is /sys mounted?",
        path.display(), number.0, number.1
    )]
    NoSysfs { path: PathBuf, number: (u32, u32) },
    #[error("{}: cannot be read: {source}; it lists the disks that may be written ([[device]], \
        see docs/FORMAT.md)", path.display())]
    Allow { path: PathBuf, source: io::Error },
    #[error("{}: it is not believed, since {why}; it says which disks may be destroyed: \
        {advice}", path.display())]
    Untrusted { path: PathBuf, why: String, advice: String },
    #[error(
        "no place for the list of disks that may be written: neither XDG_CONFIG_HOME nor HOME is \
        set to an absolute path; \
         name the file with --allow"
    )]
    NoConfig,
    #[error(transparent)]
    Diagnostics(#[from] Diagnostics),
    #[error(transparent)]
    Refused(#[from] Refusal),
}
