//! Reads an allow file only if nobody else can have written it.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::error::Error;

/// Largest number of bytes of an allow file: room for thousands of disks.
const LONGEST: u64 = 1 << 20;
const OTHERS: u32 = 0o022;
/// The sticky bit: only owners may rename the entries of such a folder.
const STICKY: u32 = 0o1000;

pub(super) fn read(path: &Path) -> Result<String, Error> {
    let fail = |error| unread(path, error);
    // Opening a pipe does not wait for its writer.
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .map_err(fail)?;
    check(path, &file)?;
    let mut text = String::new();
    let read = Read::by_ref(&mut file).take(LONGEST + 1).read_to_string(&mut text).map_err(fail)?;
    if read as u64 > LONGEST {
        return Err(fail(io::Error::other("it is longer than 1 MiB")));
    }
    Ok(text)
}

fn check(path: &Path, file: &File) -> Result<(), Error> {
    let metadata = file.metadata().map_err(|error| unread(path, error))?;
    if !metadata.is_file() {
        return Err(unread(path, io::Error::other("it is not a file")));
    }
    let name = path.display();
    let untrusted =
        |why: String, advice: String| Error::Untrusted { path: path.to_owned(), why, advice };
    if !is_ours(&metadata) {
        let why = format!("it belongs to user {}, neither to root nor to you", metadata.uid());
        return Err(untrusted(
            why,
            format!("look at it, and then chown it or copy it to a file of yours ({name})"),
        ));
    }
    if metadata.mode() & OTHERS != 0 {
        let why = format!("others may write it (mode {:o})", metadata.mode() & 0o7777);
        return Err(untrusted(why, format!("look at it, and then chmod go-w {name}")));
    }
    // A user who may write to the folder may put another file there.
    let real = fs::canonicalize(path).map_err(|error| unread(path, error))?;
    let folder = real.parent().unwrap_or(Path::new("/"));
    let metadata = folder.metadata().map_err(|error| unread(path, error))?;
    if !is_ours(&metadata) || metadata.mode() & OTHERS != 0 && metadata.mode() & STICKY == 0 {
        let why = format!("others may write its folder, {}", folder.display());
        return Err(untrusted(why, format!("chown it or chmod go-w {}", folder.display())));
    }
    Ok(())
}

fn unread(file: &Path, source: io::Error) -> Error {
    Error::Allow { path: file.to_owned(), source }
}

fn is_ours(metadata: &Metadata) -> bool {
    metadata.uid() == 0 || metadata.uid() == geteuid().as_raw()
}
