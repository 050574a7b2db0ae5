//! Opens files that others wrote: labs, records, results, drive files. Removes their folders too.
//!
//! A file is opened only if it is a regular file, so that no named pipe or device keeps the program
//! waiting. A file that is larger than any of its kind is refused, so that it does not fill the
//! memory. A symbolic link in somebody else's folder is refused too: it could lead to any file of
//! the reader's, whose contents would then be in a record or a message. Links that the user names,
//! and those in a lab, are followed.
//!
//! ```
//! let lab = disklab_files::read_text("Cargo.toml".as_ref(), &disklab_files::LAB);
//! assert!(lab.unwrap().contains("disklab-files"));
//! ```

mod remove;

pub use remove::{make_usable, remove_folder};

use std::fmt;
use std::fs::{self, File, FileType, OpenOptions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::{FileTypeExt as _, OpenOptionsExt as _};
use std::path::Path;

use disklab_units::Bytes;
use rustix::fs::OFlags;

/// A kind of file that others write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileKind {
    /// A noun phrase for messages: "a file of a lab".
    name: &'static str,
    /// Largest number of bytes of a file of this kind.
    most: u64,
    links: Links,
}

/// The symbolic links that are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Links {
    /// All links are followed: the user named the path, or made the link.
    All,
    /// Only links above this many folders are followed. Neither the file nor these folders may be
    /// links.
    Above { folders: usize },
}

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// A device, an array, a workload, a suite and the like.
pub const LAB: FileKind = followed("a file of a lab", 4 * MIB);
/// The journal of a bisection.
pub const BISECTION: FileKind = inside("a file of a bisection", 64 * MIB, 0);
/// A drive's file of DiskSim, or its trace.
pub const DISKSIM: FileKind = followed("a file of DiskSim", 64 * MIB);
/// A table or report of measured numbers of a drive.
pub const MEASURED: FileKind = followed("a table of a drive", 64 * MIB);
/// Results of another program.
pub const RESULTS: FileKind = followed("a file of results", GIB);
/// The tarball of a kernel's source, which is unpacked as a stream.
pub const TARBALL: FileKind = followed("a tarball", 16 * GIB);
/// A file of a kernel's source, a patch, or a configuration; a built kernel.
pub const SOURCE: FileKind = followed("a file of a kernel", GIB);
/// `manifest.toml` of a record.
pub const MANIFEST: FileKind = inside("a record's manifest", 256 * MIB, 0);
/// `trials.jsonl` of a record.
pub const TRIALS: FileKind = inside("a record's trials.jsonl", 8 * GIB, 0);
/// A small file of a record or of the cache, such as a lock.
pub const SMALL: FileKind = inside("a lock or list", 16 * MIB, 0);
/// A file that a trial wrote, in the folder that the trial has while it runs.
pub const TRIAL: FileKind = inside("a file of a running trial", GIB, 0);
/// A file that a trial left in a record, below `raw/TRIAL/`.
pub const RAW: FileKind = inside("a trial's raw file", GIB, 2);
/// A trace of requests, or any file of a record whose digest is computed. These files are read as a
/// stream.
pub const TRACE: FileKind = inside("a trial's trace", u64::MAX, 2);
/// A program, or another file of this machine whose digest is computed.
pub const PROGRAM: FileKind = followed("a program", u64::MAX);

/// All kinds. docs/FORMAT.md has a row for each.
pub const KINDS: [&FileKind; 14] = [
    &LAB, &BISECTION, &DISKSIM, &MEASURED, &RESULTS, &TARBALL, &SOURCE, &MANIFEST, &TRIALS, &SMALL,
    &TRIAL, &RAW, &TRACE, &PROGRAM,
];

const fn followed(name: &'static str, most: u64) -> FileKind {
    FileKind { name, most, links: Links::All }
}

const fn inside(name: &'static str, most: u64, folders: usize) -> FileKind {
    FileKind { name, most, links: Links::Above { folders } }
}

impl FileKind {
    /// Returns the same kind for a folder that others made: neither the file nor one of `folders`
    /// folders above it may be a symbolic link.
    #[must_use]
    pub const fn inside(self, folders: usize) -> Self {
        Self { links: Links::Above { folders }, ..self }
    }
}

/// The reason why a symbolic link in a folder is passed over.
pub const LINK: &str = "it is a symbolic link, which could name any file of yours: links in a \
                        folder of results are not followed";

/// Opens a file for reading. The error of one that is refused says why.
pub fn open(path: &Path, kind: &FileKind) -> io::Result<File> {
    let mut flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    // The type is checked first, since opening some devices has an effect.
    let meta = match kind.links {
        Links::All => fs::metadata(path)?,
        Links::Above { folders } => {
            flags |= OFlags::NOFOLLOW;
            refuse_links(path, folders)?;
            fs::symlink_metadata(path)?
        }
    };
    check(&meta, kind)?;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    // Another file may have this name now.
    check(&file.metadata()?, kind)?;
    Ok(file)
}

impl fmt::Display for FileKind {
    /// Writes the row of docs/FORMAT.md.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "| {} | ", self.name)?;
        match self.most {
            u64::MAX => write!(out, "any, read as a stream")?,
            most => write!(out, "{}", Bytes(most))?,
        }
        let links = match self.links {
            Links::All => "followed",
            Links::Above { folders: 0 } => "refused",
            Links::Above { .. } => "refused, of its folder and `raw` too",
        };
        write!(out, " | {links} |")
    }
}

/// Reads a file as a whole.
pub fn read(path: &Path, kind: &FileKind) -> io::Result<Vec<u8>> {
    let file = open(path, kind)?;
    let length = file.metadata()?.len();
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    // The file may grow during the reading, and files of /proc have no length.
    file.take(kind.most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > kind.most {
        return Err(too_large(bytes.len() as u64, kind));
    }
    Ok(bytes)
}

/// Reads a file as a whole, which must be UTF-8.
pub fn read_text(path: &Path, kind: &FileKind) -> io::Result<String> {
    String::from_utf8(read(path, kind)?).map_err(|_| {
        io::Error::new(ErrorKind::InvalidData, "it is not a text: it has bytes that are no UTF-8")
    })
}

/// Returns the type of the file at a path, without following a link, or None if there is no file.
/// An error says nothing about the file: it may exist.
pub fn type_at(path: &Path) -> io::Result<Option<FileType>> {
    match fs::symlink_metadata(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        meta => Ok(Some(meta?.file_type())),
    }
}

/// Returns whether `path` itself is a symbolic link.
pub fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_symlink())
}

/// Refuses a path whose file, or one of `folders` folders above it, is a symbolic link.
fn refuse_links(path: &Path, folders: usize) -> io::Result<()> {
    match path.ancestors().take(folders + 1).find(|part| is_link(part)) {
        None => Ok(()),
        Some(link) if link == path => Err(refused(LINK)),
        Some(link) => Err(refused(format!(
            "{} is a symbolic link, which could name any folder of yours: links in a folder of \
             results are not followed",
            link.display()
        ))),
    }
}

fn check(meta: &fs::Metadata, kind: &FileKind) -> io::Result<()> {
    let FileKind { name, .. } = kind;
    if let Some(what) = what_else(meta.file_type()) {
        return Err(refused(format!("it is {what}, and {name} is a regular file")));
    }
    if meta.len() > kind.most { Err(too_large(meta.len(), kind)) } else { Ok(()) }
}

/// Names the type of a file that is not a regular one.
fn what_else(kind: fs::FileType) -> Option<&'static str> {
    Some(match kind {
        kind if kind.is_file() => return None,
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a symbolic link",
        kind if kind.is_fifo() => "a named pipe (FIFO)",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_char_device() => "a character device",
        kind if kind.is_block_device() => "a block device",
        _ => "no regular file",
    })
}

fn too_large(bytes: u64, FileKind { name, most, .. }: &FileKind) -> io::Error {
    let (bytes, most) = (Bytes(bytes), Bytes(*most));
    let message = format!("it has {bytes} or more, and {name} has at most {most}");
    io::Error::new(ErrorKind::InvalidData, message)
}

fn refused(message: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, message.into())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use rustix::fs::{CWD, FileType, Mode, mknodat};

    use super::*;

    const FEW: FileKind = followed("a test's file", 4);

    fn said(path: &Path, kind: &FileKind) -> String {
        read(path, kind).unwrap_err().to_string()
    }

    #[test]
    fn only_regular_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        mknodat(CWD, here("pipe"), FileType::Fifo, Mode::RWXU, 0).unwrap();
        let _socket = UnixListener::bind(here("socket")).unwrap();
        assert!(said(&here("pipe"), &LAB).contains("a named pipe (FIFO)"));
        assert!(said(&here("socket"), &LAB).contains("a socket"));
        assert!(said(folder.path(), &LAB).contains("a folder"));
        for device in ["/dev/zero", "/dev/tty"] {
            assert!(said(Path::new(device), &LAB).contains("a character device"), "{device}");
        }
        assert_eq!(read(&here("absent"), &LAB).unwrap_err().kind(), ErrorKind::NotFound);
    }

    #[test]
    fn a_file_has_at_most_what_its_kind_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "1234").unwrap();
        assert_eq!(read(&path, &FEW).unwrap(), b"1234");
        fs::write(&path, "12345").unwrap();
        let expected = "it has 5 B or more, and a test's file has at most 4 B";
        assert_eq!(said(&path, &FEW), expected);
        // Files of /proc have no length until they are read.
        assert!(said(Path::new("/proc/self/status"), &FEW).contains("at most 4 B"));
        fs::write(&path, [0xff]).unwrap();
        assert!(read_text(&path, &FEW).unwrap_err().to_string().contains("no UTF-8"));
    }

    #[test]
    fn the_document_has_a_row_for_each_kind() {
        let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FORMAT.md");
        let text = fs::read_to_string(document).unwrap();
        for kind in KINDS {
            assert!(text.contains(&format!("\n{kind}\n")), "docs/FORMAT.md lacks: {kind}");
        }
    }

    #[test]
    fn links_of_others_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        fs::create_dir_all(here("raw/trial")).unwrap();
        fs::write(here("raw/trial/file"), "contents").unwrap();
        symlink(here("raw/trial/file"), here("raw/trial/link")).unwrap();
        symlink(here("raw"), here("other")).unwrap();
        symlink(here("raw/trial"), here("raw/second")).unwrap();
        assert_eq!(read(&here("raw/trial/file"), &RAW).unwrap(), b"contents");
        assert_eq!(read(&here("raw/trial/link"), &RESULTS).unwrap(), b"contents");
        assert_eq!(read(&here("other/trial/file"), &RESULTS.inside(1)).unwrap(), b"contents");
        for path in ["raw/trial/link", "other/trial/file", "raw/second/file"] {
            let reason = said(&here(path), &RAW);
            assert!(reason.contains("is a symbolic link"), "{reason}");
            assert!(!reason.contains("contents"), "{reason}");
        }
    }
}
