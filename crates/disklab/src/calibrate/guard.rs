//! Whether a disk may be written: named twice, used by nobody, and holding nothing that could be somebody's. What cannot be
//! found out is a reason not to write.
//!
//! The kernel has the last word: the device is opened for nobody else (`O_EXCL`), which it refuses for what is mounted or a
//! part of something.

mod blkid;
mod mounts;
mod signature;

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use super::known::Known;
use crate::exit::Failure;

/// Why it is not written.
type Reason = Result<(), String>;

pub fn check(device: &Path, again: &Path, known: &Known) -> Result<(), Failure> {
    let name = device.display();
    let unreadable = |error: io::Error| Failure::mistaken(format!("{name}: cannot be looked at: {error}"));
    let metadata = device.metadata().map_err(unreadable)?;
    let other = again.metadata().map_err(|error| {
        Failure::mistaken(format!("--write {}: cannot be looked at: {error}", again.display()))
    })?;
    let refused = |why: String| Failure::mistaken(format!("{name} is not written: {why}"));
    same(&metadata, &other, again).map_err(refused)?;
    let mountinfo = mounts::read().map_err(refused)?;
    if is_block(&metadata) {
        device_is_free(&metadata, &mountinfo, known).map_err(refused)?;
    } else {
        file_is_free(&metadata, &mountinfo).map_err(refused)?;
    }
    no_loop(&metadata).map_err(refused)?;
    let swaps = swaps(fs::read_to_string("/proc/swaps")).map_err(refused)?;
    no_swap(device, &metadata, &swaps).map_err(refused)?;
    let file = File::open(device).map_err(unreadable)?;
    let found = signature::find(&file).map_err(unreadable)?.map(str::to_owned);
    let found = match found {
        Some(what) => Some(what),
        None => blkid::find(device)
            .map_err(|why| refused(format!("{why}, so that what it holds is not known; mend that first")))?
            .map(|what| format!("something that blkid knows ({what})")),
    };
    found.map_or(Ok(()), |what| {
        Err(refused(format!(
            "it holds {what}; if that is not needed, wipefs --all {name} removes the mark, or zeroes over its first and last \
             2 MiB where wipefs does not know it, and then it can be written"
        )))
    })
}

fn is_block(metadata: &Metadata) -> bool {
    metadata.file_type().is_block_device()
}

/// Whether two names are for one disk or file.
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    if is_block(one) {
        is_block(other) && one.rdev() == other.rdev()
    } else {
        !is_block(other) && (one.dev(), one.ino()) == (other.dev(), other.ino())
    }
}

fn same(metadata: &Metadata, other: &Metadata, again: &Path) -> Reason {
    if is_same(metadata, other) {
        return Ok(());
    }
    Err(format!("--write names {}, which is another; name the same twice", again.display()))
}

/// Not mounted, without partitions, and no part of another device.
fn device_is_free(metadata: &Metadata, mountinfo: &str, known: &Known) -> Reason {
    let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
    if let Some(place) = mounts::of_device(mountinfo, &number, |source| {
        Path::new(source).metadata().is_ok_and(|source| is_same(metadata, &source))
    }) {
        return Err(format!("it is mounted at {place}; unmount it if its contents are not needed"));
    }
    let Some(sysfs) = &known.sysfs else {
        return Err(format!(
            "/sys/dev/block/{number} is not there, which tells who uses it; is /sys mounted?"
        ));
    };
    let parts = names(sysfs, |entry| entry.join("partition").exists())?;
    if !parts.is_empty() {
        return Err(format!("it has partitions ({}); name one of them, or remove them", parts.join(", ")));
    }
    let holders = names(&sysfs.join("holders"), |_| true)?;
    if !holders.is_empty() {
        return Err(format!("{} is made of it; name that, or take it apart", holders.join(", ")));
    }
    Ok(())
}

fn file_is_free(metadata: &Metadata, mountinfo: &str) -> Reason {
    let is_it = |place: &str| Path::new(place).metadata().is_ok_and(|place| is_same(metadata, &place));
    match mounts::of_file(mountinfo, is_it) {
        Some(place) => Err(format!("it is mounted at {place}; unmount it if its contents are not needed")),
        None => Ok(()),
    }
}

/// A loop device holds neither a file nor a device for itself alone.
fn no_loop(metadata: &Metadata) -> Reason {
    for name in names(Path::new("/sys/block"), |entry| entry.join("loop/backing_file").exists())? {
        let folder = Path::new("/sys/block").join(&name);
        let read = |file: &str| {
            fs::read_to_string(folder.join(file)).map_err(|error| {
                let file = folder.join(file);
                format!("{}: cannot be read: {error}; what {name} is made of is not known", file.display())
            })
        };
        let sectors: u64 = read("size")?.trim().parse().unwrap_or(0);
        let backing = Backing { name: &name, path: read("loop/backing_file")?, bytes: sectors * 512 };
        backing.is_another(metadata)?;
    }
    Ok(())
}

/// What a loop device is made of, as the kernel tells it.
struct Backing<'a> {
    name: &'a str,
    /// When it was attached; whether it is still there is another matter.
    path: String,
    bytes: u64,
}

impl Backing<'_> {
    /// By the file itself, which may have several names.
    fn is_another(&self, metadata: &Metadata) -> Reason {
        let Self { name, path, bytes } = self;
        let path = path.trim_end_matches('\n');
        match Path::new(path).metadata() {
            Ok(other) if is_same(metadata, &other) => {
                Err(format!("/dev/{name} is made of it; losetup -d /dev/{name} takes it apart"))
            }
            Ok(_) => Ok(()),
            // Removed under that name, or of another namespace: it may be the same file, unless that is too short. Devices
            // are not removed.
            Err(_) if is_block(metadata) || *bytes > metadata.len() => Ok(()),
            Err(error) => Err(format!(
                "/dev/{name} may be made of it: its file, {path}, cannot be looked at ({error}); losetup -d /dev/{name} \
                 takes it apart"
            )),
        }
    }
}

/// The kernel's list of swap space. Where it knows of none it has no such list; /proc itself is there.
fn swaps(read: io::Result<String>) -> Result<String, String> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|error| {
            format!("/proc/swaps, which tells whether it is swap space, cannot be read: {error}")
        }),
    }
}

fn no_swap(device: &Path, metadata: &Metadata, swaps: &str) -> Reason {
    let name = device.display();
    for line in swaps.lines().skip(1) {
        let mut words = line.split_whitespace();
        let path = mounts::unescaped(words.next().unwrap_or_default());
        let kib: u64 = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        match Path::new(&path).metadata() {
            Ok(swap) if is_same(metadata, &swap) => {
                return Err(format!("it is swap space in use; swapoff {name} ends that"));
            }
            // A device is told by its number, and opened for nobody else; a file may have another name.
            Err(error) if !is_block(metadata) && kib * 1024 <= metadata.len() => {
                return Err(format!(
                    "it may be swap space in use: {path} cannot be looked at ({error}); swapoff it first"
                ));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Of the entries of a folder, in order.
fn names(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Result<Vec<String>, String> {
    let unread = |error| format!("{}, which tells who uses it, cannot be read: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unread)? {
        let entry = entry.map_err(unread)?;
        if wanted(&entry.path()) {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// A file of 64 KiB with two names, and one of another.
    fn files() -> (tempfile::TempDir, PathBuf, PathBuf, PathBuf) {
        let place = tempfile::tempdir().unwrap();
        let [one, link, other] = ["one file", "link", "other"].map(|name| place.path().join(name));
        fs::write(&one, vec![0; 65_536]).unwrap();
        fs::hard_link(&one, &link).unwrap();
        fs::write(&other, vec![0; 65_536]).unwrap();
        (place, one, link, other)
    }

    #[test]
    fn a_loop_devices_file_is_known_by_any_name() {
        let (_place, one, link, other) = files();
        let behind = |path: &str, bytes| {
            Backing { name: "loop0", path: format!("{path}\n"), bytes }.is_another(&one.metadata().unwrap())
        };
        let said = |path: &str, bytes| behind(path, bytes).unwrap_err();
        assert!(said(one.to_str().unwrap(), 65_536).contains("/dev/loop0 is made of it"));
        assert!(said(link.to_str().unwrap(), 65_536).contains("/dev/loop0 is made of it"));
        assert_eq!(behind(other.to_str().unwrap(), 65_536), Ok(()));
        assert!(said("/gone (deleted)", 65_536).contains("may be made of it"));
        assert_eq!(behind("/gone (deleted)", 70_000), Ok(()), "it is shorter");
    }

    #[test]
    fn swap_is_known_by_any_name_and_what_cannot_be_read_is_refused() {
        let (_place, one, link, other) = files();
        let head = "Filename\tType\tSize\tUsed\tPriority\n";
        let listed = |path: &Path| {
            let path = path.to_str().unwrap().replace(' ', "\\040");
            no_swap(&one, &one.metadata().unwrap(), &format!("{head}{path} file 64 0 -2\n"))
        };
        assert!(listed(&one).unwrap_err().contains("swap space in use"));
        assert!(listed(&link).is_err() && listed(Path::new("/gone")).is_err());
        assert_eq!(listed(&other), Ok(()));
        assert!(swaps(Err(ErrorKind::PermissionDenied.into())).is_err());
        assert_eq!(swaps(Err(ErrorKind::NotFound.into())), Ok(String::new()));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_no_empty_one() {
        assert!(names(Path::new("/no/such"), |_| true).unwrap_err().contains("/no/such"));
    }
}
