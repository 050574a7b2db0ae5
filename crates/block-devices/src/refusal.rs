//! Reasons why a disk is not written.

use std::path::PathBuf;

use disklab_units::Bytes;
use disklab_units::prose::listed;

/// Size of the smallest disk: no filesystem with a test file fits into less.
pub(crate) const LEAST: Bytes = Bytes::mib(128);

/// The refusal to write a disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{} is not written: {why}", device.display())]
pub struct Refusal {
    /// Path of the disk as the user named it.
    pub device: PathBuf,
    pub why: Why,
}

/// A reason why a disk is not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    #[error("--write names {}, which is another disk; name the same one in both places",
        .0.display())]
    AnotherAgain(PathBuf),
    #[error("{} does not list it; if all on it may be lost, add the lines that `disklab devices` \
        prints for it", file.display())]
    NotAllowed { file: PathBuf },
    #[error(
        "{} gives the serial `{given}` for {}, but the disk there has `{found}`: it may be \
        another disk; check which disk it is, then write its serial", file.display(), path.display()
    )]
    WrongSerial { file: PathBuf, path: PathBuf, given: String, found: String },
    #[error(
        "{} gives a size of {} bytes for {}, but the disk there has {}: it may be another disk; \
        check which disk it is, then write its size", file.display(), given.0, path.display(),
        found.0
    )]
    WrongSize { file: PathBuf, path: PathBuf, given: Bytes, found: Bytes },
    #[error("it is no longer the disk that it was ({0}); check which disk it is, then start again")]
    Changed(String),
    #[error("it has {bytes}, and at least {least} are needed", least = LEAST)]
    TooSmall { bytes: Bytes },
    #[error(
        "it is read-only; `blockdev --setrw` makes it writable, unless its own switch or the file \
        of a loop device is read-only"
    )]
    ReadOnly,
    #[error("no permission to write it; run as root, or as a member of the group that owns it")]
    NoPermission,
    #[error("it is mounted at {0}; unmount it if its contents are not needed")]
    Mounted(String),
    /// The disk is mounted in a namespace that this process does not see: another trial's, a
    /// container's.
    #[error(
        "it is mounted at {place}, where only {whose} sees it; wait until that ends, or end it"
    )]
    MountedElsewhere { place: String, whose: String },
    #[error("it is swap space in use; run `swapoff {0}` first")]
    Swap(String),
    /// Another device shares a disk with this one, and is mounted or swap: its name and its use.
    #[error("{by}, which shares a disk with it, is {how}; name a disk that nothing else uses")]
    Shared { by: String, how: String },
    #[error("it has partitions ({}); name one of them, or remove them", .0.join(", "))]
    Partitions(Vec<String>),
    #[error("{} uses it; name that device, or stop it first", .0.join(", "))]
    Held(Vec<String>),
    #[error("/dev/{0} uses it; run `losetup -d /dev/{0}` first")]
    Loop(String),
    #[error("/dev/{other} uses the same file; run `losetup -d /dev/{other}` first")]
    SameFile { other: String },
    #[error("it is open in {}; end this program first", listed(.0))]
    Open(Vec<String>),
    #[error(
        "it holds {what}; if that is not needed, run `wipefs --all {name}` first, or write zeroes \
        to its first and last 2 MiB if wipefs does not know the contents"
    )]
    Holds { what: String, name: String },
    /// Contents of a disk that the user may give up with `--overwrite`.
    #[error("it holds {what}; if that is not needed, add --overwrite {name}")]
    Signature { what: String, name: String },
    #[error("it is named twice, also as {}; name it once", .0.display())]
    Twice(PathBuf),
    #[error("it shares a disk with {} ({how}); name disks that share nothing", other.display())]
    OneDisk { other: PathBuf, how: String },
    #[error(
        "the kernel refuses exclusive access to it: it is mounted, perhaps in another namespace, \
        or a part of a device in use; unmount or stop that first"
    )]
    Busy,
    /// A check that failed, so that the disk counts as used.
    #[error("{0}")]
    Unknown(String),
}
