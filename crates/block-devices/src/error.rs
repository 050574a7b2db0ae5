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
    #[error("{}: it is a link to {}, which does not exist; is the disk plugged \
        in?", path.display(), to.display())]
    Dangling { path: PathBuf, to: PathBuf },
    #[error("{}: cannot be opened: no permission; run as root, or as a member of the group \
        that owns it", .0.display())]
    NoPermission(PathBuf),
    #[error("{}: it is {what}, not a block device; `disklab devices` lists this machine's \
        disks", path.display())]
    NoBlockDevice { path: PathBuf, what: &'static str },
    #[error("{}: cannot be opened: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// An error about the path that the user gave as `--write`.
    #[error("--write {}: cannot be opened: {source}", path.display())]
    Again { path: PathBuf, source: io::Error },
    #[error(
        "{}: cannot find out what disk it is: /sys/dev/block/{}:{} does not exist or has no size; \
        is /sys mounted?",
        path.display(), number.0, number.1
    )]
    NoSysfs { path: PathBuf, number: (u32, u32) },
    #[error("{}: cannot be read: {source}; it lists the disks that may be written ([[device]], \
        see docs/FORMAT.md)", path.display())]
    Allow { path: PathBuf, source: io::Error },
    #[error("{}: this list of the disks that may be overwritten is refused, since {why}: \
        {advice}", path.display())]
    Untrusted { path: PathBuf, why: String, advice: String },
    #[error(
        "cannot find the list of disks that may be written: neither XDG_CONFIG_HOME nor HOME is \
        set to an absolute path; \
         name the file with --allow"
    )]
    NoConfig,
    #[error(transparent)]
    Diagnostics(#[from] Diagnostics),
    #[error(transparent)]
    Refused(#[from] Refusal),
}
