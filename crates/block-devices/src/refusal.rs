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
    #[error("--write names {}, which is another; name the same twice", .0.display())]
    AnotherAgain(PathBuf),
    #[error("{} does not list it; if all on it may be lost, add the lines that `disklab devices` \
        prints for it", file.display())]
    NotAllowed { file: PathBuf },
    #[error(
        "{} gives the serial `{given}` for {}, but the disk there has `{found}`: it may be \
        another disk; look, and then \
         write the right one", file.display(), path.display()
    )]
    WrongSerial { file: PathBuf, path: PathBuf, given: String, found: String },
    #[error(
        "{} gives a size of {} bytes for {}, but the disk there has {}: it may be another disk; \
        look, and then write the \
         right one", file.display(), given.0, path.display(), found.0
    )]
    WrongSize { file: PathBuf, path: PathBuf, given: Bytes, found: Bytes },
    #[error(
        "it is no longer the disk that it was ({0}); look at what is there now, and begin again"
    )]
    Changed(String),
    #[error("it has {bytes}, and {least} at least are needed", least = LEAST)]
    TooSmall { bytes: Bytes },
    #[error(
        "it is read-only; `blockdev --setrw` ends that, if it is not the disk's own switch or a \
        loop device's file"
    )]
    ReadOnly,
    #[error("there is no permission to write it; be root, or of the group that owns it")]
    NoPermission,
    #[error("it is mounted at {0}; unmount it if its contents are not needed")]
    Mounted(String),
    /// The disk is mounted in a namespace that this process does not see: another trial's, a
    /// container's.
    #[error("it is mounted at {place} where only {whose} sees it; wait for its end, or end it")]
    MountedElsewhere { place: String, whose: String },
    #[error("it is swap space in use; swapoff {0} ends that")]
    Swap(String),
    /// Another device shares a disk with this one, and is mounted or swap: its name and its use.
    #[error("{by}, which shares a disk with it, is {how}; name a disk that nothing else uses")]
    Shared { by: String, how: String },
    #[error("it has partitions ({}); name one of them, or remove them", .0.join(", "))]
    Partitions(Vec<String>),
    #[error("{} is made of it; name that, or take it apart", .0.join(", "))]
    Held(Vec<String>),
    #[error("/dev/{0} is made of it; losetup -d /dev/{0} takes it apart")]
    Loop(String),
    #[error("/dev/{other} is made of the same file; losetup -d /dev/{other} takes it apart")]
    SameFile { other: String },
    #[error("it is open in {}; end that first", listed(.0))]
    Open(Vec<String>),
    #[error(
        "it holds {what}; if that is not needed, wipefs --all {name} removes the mark, or zeroes \
        over its first and last \
         2 MiB where wipefs does not know it, and then it can be written"
    )]
    Holds { what: String, name: String },
    /// Contents of a disk that the user may give up with `--overwrite`.
    #[error("it holds {what}; if that is not needed, --overwrite {name} says so")]
    Signature { what: String, name: String },
    #[error("it is named twice, the other time as {}", .0.display())]
    Twice(PathBuf),
    #[error("it shares a disk with {} ({how}); name disks that share nothing", other.display())]
    OneDisk { other: PathBuf, how: String },
    #[error(
        "the kernel does not give it to anybody else: it is mounted, perhaps elsewhere, or a part \
        of something in use"
    )]
    Busy,
    /// A check that failed, so that the disk counts as used.
    #[error("{0}")]
    Unknown(String),
}
