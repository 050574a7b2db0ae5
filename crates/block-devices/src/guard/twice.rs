//! A disk or a file that is named twice on the command line, as calibrating by writing wants it.
//!
//! The kernel has the last word: the device is opened for nobody else (`O_EXCL`), which it refuses
//! for what is mounted or a part of something.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use super::tree::names;
use super::{Refusal, Why, contents, loops, mounts, swaps};
use crate::error::Error;
use crate::machine::Machine;
use crate::sysfs::Block;

pub fn named_twice(device: &Path, again: &Path) -> Result<(), Error> {
    let unreadable = |source: io::Error| Error::Unreadable { path: device.to_owned(), source };
    let metadata = device.metadata().map_err(unreadable)?;
    let other =
        again.metadata().map_err(|source| Error::Again { path: again.to_owned(), source })?;
    let refused = |why| Refusal { device: device.to_owned(), why };
    if !is_same(&metadata, &other) {
        return Err(refused(Why::AnotherAgain(again.to_owned())).into());
    }
    let machine = Machine::here();
    let mountinfo = mounts::read(&machine).map_err(refused)?;
    if is_block(&metadata) {
        device_is_free(&metadata, &mountinfo).map_err(refused)?;
    } else {
        file_is_free(&metadata, &mountinfo).map_err(refused)?;
    }
    loops::none_of(&metadata).map_err(refused)?;
    let swaps = swaps::read(&machine).map_err(refused)?;
    no_swap(device, &metadata, &swaps).map_err(refused)?;
    let file = File::open(device).map_err(unreadable)?;
    match contents(&file, device).map_err(unreadable)?.map_err(refused)? {
        None => Ok(()),
        Some(what) => Err(refused(Why::Holds { what, name: device.display().to_string() }).into()),
    }
}

pub(super) fn is_block(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}

/// Whether two names are for one disk or file.
pub(super) fn is_same(one: &Metadata, other: &Metadata) -> bool {
    if is_block(one) {
        is_block(other) && one.rdev() == other.rdev()
    } else {
        !is_block(other) && (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
}

/// Not mounted, without partitions, and no part of another device.
fn device_is_free(metadata: &Metadata, mountinfo: &str) -> Result<(), Why> {
    let number = (major(metadata.rdev()), minor(metadata.rdev()));
    let (name, sysfs) = (format!("{}:{}", number.0, number.1), Block::of(number));
    if let Some(place) = mounts::of_device(mountinfo, &name, |source| {
        Path::new(source).metadata().is_ok_and(|source| is_same(metadata, &source))
    }) {
        return Err(Why::Mounted(place));
    }
    let Some(Block { folder, .. }) = sysfs else {
        return Err(Why::Unknown(format!(
            "/sys/dev/block/{name} is not there, which tells who uses it; is /sys mounted?"
        )));
    };
    let parts = names(&folder, |entry| entry.join("partition").exists())?;
    if !parts.is_empty() {
        return Err(Why::Partitions(parts));
    }
    let holders = names(&folder.join("holders"), |_| true)?;
    if holders.is_empty() { Ok(()) } else { Err(Why::Held(holders)) }
}

fn file_is_free(metadata: &Metadata, mountinfo: &str) -> Result<(), Why> {
    let is_it =
        |place: &str| Path::new(place).metadata().is_ok_and(|place| is_same(metadata, &place));
    mounts::of_file(mountinfo, is_it).map_or(Ok(()), |place| Err(Why::Mounted(place)))
}

fn no_swap(device: &Path, metadata: &Metadata, swaps: &str) -> Result<(), Why> {
    for (path, kib) in swaps::listed(swaps) {
        match Path::new(&path).metadata() {
            Ok(swap) if is_same(metadata, &swap) => {
                return Err(Why::Swap(device.display().to_string()));
            }
            // A device is told by its number, and opened for nobody else; a file may have another
            // name.
            Err(error) if !is_block(metadata) && kib * 1024 <= metadata.len() => {
                return Err(Why::Unknown(format!(
                    "it may be swap space in use: {path} cannot be looked at ({error}); swapoff it first"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::path::PathBuf;

    use super::*;

    /// A file of 64 KiB with two names, and one of another.
    pub(in super::super) fn files() -> (tempfile::TempDir, PathBuf, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let [one, link, other] = ["one file", "link", "other"].map(|name| place.path().join(name));
        fs::write(&one, vec![0; 65_536]).unwrap();
        fs::hard_link(&one, &link).unwrap();
        fs::write(&other, vec![0; 65_536]).unwrap();
        (place, one, link, other)
    }

    #[test]
    fn swap_is_known_by_any_name_and_what_cannot_be_read_is_refused() {
        let (_place, one, link, other) = files();
        let head = "Filename\tType\tSize\tUsed\tPriority\n";
        let listed = |path: &Path| {
            let path = path.to_str().unwrap().replace(' ', "\\040");
            no_swap(&one, &one.metadata().unwrap(), &format!("{head}{path} file 64 0 -2\n"))
        };
        assert!(listed(&one).unwrap_err().to_string().contains("swap space in use"));
        assert!(listed(&link).is_err() && listed(Path::new("/gone")).is_err());
        assert_eq!(listed(&other), Ok(()));
        assert!(swaps::known(Err(ErrorKind::PermissionDenied.into())).is_err());
        assert_eq!(swaps::known(Err(ErrorKind::NotFound.into())), Ok(String::new()));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_no_empty_one() {
        assert!(
            names(Path::new("/no/such"), |_| true).unwrap_err().to_string().contains("/no/such")
        );
    }
}
