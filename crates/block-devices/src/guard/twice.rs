//! A disk or a file that is named twice on the command line, as calibrating by writing requires.
//!
//! The kernel makes the last check: the device is opened exclusively (`O_EXCL`), which the kernel
//! refuses if the device is mounted or a part of another.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::contents::contents;
use super::tree::names;
use super::{mounts, swaps};
use crate::disk::block_number;
use crate::error::Error;
use crate::machine::{self, Machine};
use crate::refusal::{Refusal, Why};
use crate::sysfs::SysfsBlock;

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
    match block_number(&metadata) {
        Some(number) => device_is_free(number, &metadata, &mountinfo),
        None => file_is_free(&metadata, &mountinfo),
    }
    .map_err(refused)?;
    no_loop_device(&metadata).map_err(refused)?;
    let swaps = swaps::read(&machine).map_err(refused)?;
    no_swap(device, &metadata, &swaps).map_err(refused)?;
    let file = File::open(device).map_err(unreadable)?;
    match contents(&file, device).map_err(unreadable)?.map_err(refused)? {
        None => Ok(()),
        Some(what) => Err(refused(Why::Holds { what, name: device.display().to_string() }).into()),
    }
}

/// Returns whether two names are of one disk or file.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    match (block_number(one), block_number(other)) {
        (None, None) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        (one, other) => one == other,
    }
}

/// Checks that a device is not mounted, has no partitions, and is not a part of another device.
fn device_is_free(number: (u32, u32), metadata: &Metadata, mountinfo: &str) -> Result<(), Why> {
    let (name, sysfs) = (format!("{}:{}", number.0, number.1), SysfsBlock::find(number));
    if let Some(place) = mounts::of_device(mountinfo, &name, |source| {
        Path::new(source).metadata().is_ok_and(|source| is_same(metadata, &source))
    }) {
        return Err(Why::Mounted(place));
    }
    let Some(SysfsBlock { folder, .. }) = sysfs else {
        return Err(Why::Unknown(format!(
            "cannot find out who uses it: /sys/dev/block/{name} does not exist; is /sys mounted?"
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
            // A device is identified by its number, and opened exclusively. A file may have another
            // name.
            Err(error) if block_number(metadata).is_none() && kib * 1024 <= metadata.len() => {
                return Err(Why::Unknown(format!(
                    "it may be swap space in use: {path} cannot be opened ({error}); run \
                    `swapoff {path}` first"
                )));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Checks that no loop device is made of this file or device.
fn no_loop_device(metadata: &Metadata) -> Result<(), Why> {
    for name in names(Path::new("/sys/block"), |entry| entry.join("loop/backing_file").exists())? {
        let folder = Path::new("/sys/block").join(&name);
        let read = |file: &str| {
            machine::text(&folder.join(file)).map_err(|error| {
                let file = folder.join(file);
                let file = file.display();
                Why::Unknown(format!(
                    "{file}: cannot be read: {error}; what {name} is made of is not known"
                ))
            })
        };
        let sectors: u64 = read("size")?.trim().parse().unwrap_or(0);
        let backing =
            LoopDevice { name: &name, path: read("loop/backing_file")?, bytes: sectors * 512 };
        backing.is_another(metadata)?;
    }
    Ok(())
}

/// A loop device, as sysfs describes it.
struct LoopDevice<'a> {
    name: &'a str,
    /// The file's path when it was attached; the file may be gone since.
    path: String,
    bytes: u64,
}

impl LoopDevice<'_> {
    /// Checks that the loop device has another file. It compares the files, because a file may have
    /// several names.
    fn is_another(&self, metadata: &Metadata) -> Result<(), Why> {
        let Self { name, path, bytes } = self;
        let path = path.trim_end_matches('\n');
        match Path::new(path).metadata() {
            Ok(other) if is_same(metadata, &other) => Err(Why::Loop((*name).to_owned())),
            Ok(_) => Ok(()),
            // The path is gone, or of another namespace. So it may be the same file, unless that
            // one is too short. The path of a device does not go away.
            Err(_) if block_number(metadata).is_some() || *bytes > metadata.len() => Ok(()),
            Err(error) => Err(Why::Unknown(format!(
                "/dev/{name} may use it: its file, {path}, cannot be opened ({error}); run \
                `losetup -d /dev/{name}` first"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::path::PathBuf;

    use super::*;

    /// Makes a file of 64 KiB with two names, and another file.
    fn files() -> (tempfile::TempDir, PathBuf, PathBuf, PathBuf) {
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
    fn a_loop_devices_file_is_known_by_any_name() {
        let (_place, one, link, other) = files();
        let behind = |path: &str, bytes| {
            LoopDevice { name: "loop0", path: format!("{path}\n"), bytes }
                .is_another(&one.metadata().unwrap())
        };
        let said = |path: &str, bytes| behind(path, bytes).unwrap_err().to_string();
        assert!(said(one.to_str().unwrap(), 65_536).contains("/dev/loop0 uses it"));
        assert!(said(link.to_str().unwrap(), 65_536).contains("/dev/loop0 uses it"));
        assert_eq!(behind(other.to_str().unwrap(), 65_536), Ok(()));
        assert!(said("/gone (deleted)", 65_536).contains("may use it"));
        assert_eq!(behind("/gone (deleted)", 70_000), Ok(()), "it is shorter");
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_no_empty_one() {
        assert!(
            names(Path::new("/no/such"), |_| true).unwrap_err().to_string().contains("/no/such")
        );
    }
}
