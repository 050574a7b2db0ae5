//! The filesystems on whole disks.

use std::fs;
use std::path::Path;

use crate::mountinfo::{mounts, unescaped};

/// Deepest nesting of disks below disks. A deeper one is a circle.
const DEEPEST: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskMount {
    pub place: String,
    /// The kernel's names of the whole disks that the filesystem is on.
    pub disks: Vec<String>,
}

/// Returns all filesystems that are mounted from a disk. For a filesystem of several disks, it
/// knows only the disk by which the filesystem was mounted.
pub fn read() -> Vec<DiskMount> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let found = mounts(&text).filter_map(|mount| {
        let number = mount.number;
        // btrfs has a number of its own, and its source names a disk.
        let path = if number.starts_with("0:") {
            unescaped(mount.source)
        } else {
            format!("/sys/dev/block/{number}")
        };
        let path = Path::new(&path).canonicalize().ok().filter(|_| path.starts_with('/'))?;
        let disks = wholes(&path.file_name()?.to_string_lossy());
        (!disks.is_empty()).then(|| DiskMount { place: unescaped(mount.place), disks })
    });
    found.collect()
}

/// Returns the kernel's names of the whole disks that a disk is, is a part of, or is made of. The
/// result is empty if the kernel knows no such disk.
pub fn wholes(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    below(Path::new("/sys/class/block"), name, DEEPEST, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn below(block: &Path, name: &str, depth: usize, found: &mut Vec<String>) {
    let Ok(folder) = block.join(name).canonicalize() else { return };
    if folder.join("partition").exists() {
        let whole = folder.parent().and_then(Path::file_name);
        let whole = whole.map(|name| name.to_string_lossy().into_owned());
        if let Some(whole) = whole.filter(|_| depth > 0) {
            below(block, &whole, depth - 1, found);
        }
        return;
    }
    let slaves = fs::read_dir(folder.join("slaves")).into_iter().flatten().flatten();
    let slaves: Vec<String> =
        slaves.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    if slaves.is_empty() || depth == 0 {
        found.push(name.to_owned());
    }
    slaves.iter().filter(|_| depth > 0).for_each(|slave| below(block, slave, depth - 1, found));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_disks_are_made_of_is_followed_down_to_whole_disks() {
        let folder = tempfile::tempdir().unwrap();
        let (devices, block) = (folder.path().join("devices"), folder.path().join("block"));
        for name in ["sda", "sda/sda1", "sdb", "md0/slaves", "dm-0/slaves"] {
            fs::create_dir_all(devices.join(name)).unwrap();
        }
        fs::write(devices.join("sda/sda1/partition"), "1").unwrap();
        fs::create_dir(&block).unwrap();
        for (name, place) in
            [("sda", "sda"), ("sda1", "sda/sda1"), ("sdb", "sdb"), ("md0", "md0"), ("dm-0", "dm-0")]
        {
            symlink(devices.join(place), block.join(name)).unwrap();
        }
        for (whole, slave) in [("md0", "sda1"), ("md0", "sdb"), ("dm-0", "md0")] {
            symlink(&block, devices.join(whole).join("slaves").join(slave)).unwrap();
        }
        let found = |name: &str| {
            let mut found = Vec::new();
            below(&block, name, DEEPEST, &mut found);
            found.sort();
            found
        };
        assert_eq!(found("dm-0"), ["sda", "sdb"]);
        assert_eq!((found("sda1"), found("sdb")), (vec!["sda".to_owned()], vec!["sdb".to_owned()]));
        assert!(found("sdz").is_empty());
    }
}
