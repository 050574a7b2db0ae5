//! Whether a disk may be written: named twice, used by nobody, and holding nothing that could be somebody's.
//!
//! The kernel has the last word: the device is opened for nobody else (`O_EXCL`), which it refuses for what is mounted or a
//! part of something.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::Path;

use rustix::fs::{major, minor};

use super::known::Known;
use crate::exit::Failure;

pub fn check(device: &Path, again: &Path, known: &Known) -> Result<(), Failure> {
    let name = device.display();
    let refused = |why: String| Err(Failure::mistaken(format!("{name} is not written: {why}")));
    let unreadable = |error: io::Error| Failure::mistaken(format!("{name}: cannot be looked at: {error}"));
    let metadata = device.metadata().map_err(unreadable)?;
    let other = again.metadata().map_err(|error| {
        Failure::mistaken(format!("--write {}: cannot be looked at: {error}", again.display()))
    })?;
    let block = metadata.file_type().is_block_device();
    let same = if block {
        other.file_type().is_block_device() && metadata.rdev() == other.rdev()
    } else {
        (metadata.dev(), metadata.ino()) == (other.dev(), other.ino())
    };
    if !same {
        return refused(format!("--write names {}, which is another; name the same twice", again.display()));
    }
    if block {
        let number = format!("{}:{}", major(metadata.rdev()), minor(metadata.rdev()));
        if let Some(place) = mounted(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default(), &number)
        {
            return refused(format!("it is mounted at {place}; unmount it if its contents are not needed"));
        }
        if let Some(sysfs) = &known.sysfs {
            let parts = names(sysfs, |entry| entry.join("partition").exists());
            if !parts.is_empty() {
                return refused(format!(
                    "it has partitions ({}); name one of them, or remove them",
                    parts.join(", ")
                ));
            }
            let holders = names(&sysfs.join("holders"), |_| true);
            if !holders.is_empty() {
                return refused(format!("{} is made of it; name that, or take it apart", holders.join(", ")));
            }
        }
    } else if let Some(used) = loop_of(device) {
        return refused(format!("{used} is made of it; losetup -d {used} takes it apart"));
    }
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let used = |line: &str| {
        let path = line.split_whitespace().next().unwrap_or_default();
        Path::new(path).metadata().is_ok_and(|swap| {
            if block {
                swap.rdev() == metadata.rdev() && swap.rdev() != 0
            } else {
                (swap.dev(), swap.ino()) == (metadata.dev(), metadata.ino())
            }
        })
    };
    if swaps.lines().skip(1).any(used) {
        return refused(format!("it is swap space in use; swapoff {name} ends that"));
    }
    let file = File::open(device).map_err(unreadable)?;
    match signature(&file).map_err(unreadable)? {
        Some(what) => refused(format!(
            "it holds {what}; if that is not needed, wipefs --all {name} removes the mark, and then it can be written"
        )),
        None => Ok(()),
    }
}

/// Where the device of this number is mounted, by the text of mountinfo.
fn mounted(mountinfo: &str, number: &str) -> Option<String> {
    let mut mounts = mountinfo.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    mounts
        .find(|fields| fields.get(2) == Some(&number))
        .map(|fields| (*fields.get(4).unwrap_or(&"?")).to_owned())
}

/// Of the entries of a folder, in order.
fn names(folder: &Path, wanted: impl Fn(&Path) -> bool) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter(|entry| wanted(&entry.path()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The loop device that a file is behind.
fn loop_of(file: &Path) -> Option<String> {
    let file = fs::canonicalize(file).ok()?;
    names(Path::new("/sys/block"), |entry| entry.join("loop/backing_file").exists()).into_iter().find_map(
        |name| {
            let backing = fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()?;
            (Path::new(backing.trim()) == file).then(|| format!("/dev/{name}"))
        },
    )
}

/// What begins with these bytes at this place.
const SIGNATURES: [(&str, u64, &[u8]); 22] = [
    ("a partition table (GPT)", 512, b"EFI PART"),
    ("a partition table (GPT)", 4096, b"EFI PART"),
    ("a boot sector, with a partition table (MBR) or a FAT or NTFS filesystem", 510, b"\x55\xaa"),
    ("an ext filesystem", 0x438, b"\x53\xef"),
    ("a btrfs filesystem", 0x1_0040, b"_BHRfS_M"),
    ("an XFS filesystem", 0, b"XFSB"),
    ("an F2FS filesystem", 1024, b"\x10\x20\xf5\xf2"),
    ("a bcachefs filesystem or bcache", 4120, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca"),
    ("a bcachefs filesystem", 4120, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9"),
    ("swap space", 4086, b"SWAPSPACE2"),
    ("an LVM volume", 512, b"LABELONE"),
    ("an LVM volume", 0, b"LABELONE"),
    ("an LVM volume", 1024, b"LABELONE"),
    ("a LUKS volume", 0, b"LUKS\xba\xbe"),
    ("a part of an md array", 4096, b"\xfc\x4e\x2b\xa9"),
    ("a part of an md array", 0, b"\xfc\x4e\x2b\xa9"),
    ("a squashfs filesystem", 0, b"hsqs"),
    ("an ISO 9660 filesystem", 32769, b"CD001"),
    ("a ReiserFS filesystem", 65588, b"ReIsEr"),
    ("a JFS filesystem", 32768, b"JFS1"),
    ("an EROFS filesystem", 1024, b"\xe2\xe1\xf5\xe0"),
    ("a NILFS filesystem", 1030, b"\x34\x34"),
];

const MD: &[u8] = b"\xfc\x4e\x2b\xa9";
/// A ZFS label's ring of superblocks, each at a multiple of 1 KiB.
const ZFS: (usize, usize, &[u8]) = (128 << 10, 256 << 10, b"\x0c\xb1\xba\x00\x00\x00\x00\x00");

/// What a disk holds, as far as this knows its kind.
fn signature(file: &File) -> io::Result<Option<&'static str>> {
    let start = read(file, 0, 512 << 10)?;
    let at = |(what, place, bytes): &(&'static str, u64, &[u8])| {
        start.get(*place as usize..).is_some_and(|rest| rest.starts_with(bytes)).then_some(*what)
    };
    if let Some(found) = SIGNATURES.iter().find_map(at) {
        return Ok(Some(found));
    }
    let blocks = (ZFS.0..ZFS.1).step_by(1024);
    if blocks.into_iter().any(|place| start.get(place..).is_some_and(|rest| rest.starts_with(ZFS.2))) {
        return Ok(Some("a part of a ZFS pool"));
    }
    // Old md arrays have theirs at the end, at a multiple of 4 KiB.
    let size = size(file)?;
    let from = size.saturating_sub(192 << 10) / 4096 * 4096;
    let end = read(file, from, 256 << 10)?;
    let blocks = (0..end.len()).step_by(4096);
    Ok(blocks.into_iter().any(|place| end[place..].starts_with(MD)).then_some("a part of an md array"))
}

fn size(mut file: &File) -> io::Result<u64> {
    io::Seek::seek(&mut file, io::SeekFrom::End(0))
}

fn read(file: &File, at: u64, most: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; most];
    let mut have = 0;
    while have < most {
        match file.read_at(&mut bytes[have..], at + have as u64)? {
            0 => break,
            more => have += more,
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(bytes: &[u8], at: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4 << 20).unwrap();
        file.write_all_at(bytes, at).unwrap();
        file
    }

    #[test]
    fn whatever_may_be_somebodys_is_seen() {
        for (what, at, bytes) in SIGNATURES {
            assert!(signature(&with(bytes, at)).unwrap().is_some(), "{what}");
        }
        assert_eq!(signature(&with(ZFS.2, (128 << 10) + 3072)).unwrap(), Some("a part of a ZFS pool"));
        assert_eq!(signature(&with(MD, (4 << 20) - (64 << 10))).unwrap(), Some("a part of an md array"));
        assert_eq!(signature(&with(b"", 0)).unwrap(), None);
    }

    #[test]
    fn a_mount_is_found_by_its_number() {
        let text = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n28 27 8:1 / /mnt/a rw - xfs /dev/sda1 rw";
        assert_eq!(mounted(text, "8:1").as_deref(), Some("/mnt/a"));
        assert_eq!(mounted(text, "8:0"), None);
    }
}
