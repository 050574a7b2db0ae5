//! Finds a mounted filesystem and the disks below it.

use std::fs;
use std::path::Path;
use std::process::Command;

use disklab_block_devices::Disk;
use disklab_config::{Array, Filesystem, Lab, Layout, Md, Profile, Profiles};
use disklab_runner::host::HostPlace;
use disklab_units::Bytes;
use itertools::Itertools;
use rustix::fs::{Access, AtFlags, CWD, SeekFrom, accessat, seek};
use serde::Deserialize;

use super::place::{HostQuestion, device, name_of};
use crate::exit::{Failure, cannot, mistaken};
use crate::question::Overrides;
use crate::screen::Screen;

/// Name of the array in records.
pub const HERE: &str = "here";

#[derive(Debug, Deserialize)]
struct FindmntOutput {
    filesystems: Vec<MountedFilesystem>,
}

/// A mounted filesystem, as findmnt prints it.
#[derive(Debug, Deserialize)]
struct MountedFilesystem {
    source: Option<String>,
    fstype: String,
    uuid: Option<String>,
}

impl HostQuestion {
    /// Names the filesystem that replaces the suite's arrays, before the mistakes of a suite: the
    /// suite may have none with its own arrays.
    pub fn remark_on(&self, failure: &Failure, screen: &Screen) {
        if let (HostPlace::At { path, .. }, Failure::Diagnostics(_)) = (&self.place, failure)
            && let Some(array) = self.lab.arrays.get(HERE)
        {
            screen.remark(&format!(
                "--at {}: this filesystem ({}) replaces the suite's arrays, and the suite does not \
                 fit it:",
                path.display(),
                array.layout
            ));
        }
    }
}

pub fn ask(path: &Path, lab: &Lab, overrides: &Overrides) -> Result<HostQuestion, Failure> {
    let unusable = |error| mistaken!("--at {}: {error}", path.display());
    let path = path.canonicalize().map_err(|error| {
        unusable(format!("{error}; name a folder or a file of a mounted filesystem"))
    })?;
    let kind = path.metadata().map_err(|error| unusable(error.to_string()))?.file_type();
    if !kind.is_dir() && !kind.is_file() {
        return Err(unusable(
            "it is neither a folder nor a file; disks are named by --devices".to_owned(),
        ));
    }
    let (access, wanted) = if kind.is_dir() {
        (Access::WRITE_OK | Access::EXEC_OK, "disklab makes a folder in it, and removes it again")
    } else {
        (Access::READ_OK, "it is read")
    };
    accessat(CWD, &path, access, AtFlags::EACCESS).map_err(|error| {
        unusable(format!("{error}; {wanted}: name a place with this permission"))
    })?;
    if kind.is_file()
        && let Some(at) = hole(&path).map_err(|error| unusable(error.to_string()))?
    {
        return Err(unusable(format!(
            "its unwritten parts, such as from {at} on, are read from no disk; name a file that is \
             written from end to end"
        )));
    }
    let mut mounted = mounted(&path)?;
    if mounted.fstype == Filesystem::Btrfs.as_str() && mounted.uuid.is_none() {
        mounted.uuid =
            device_name(&mounted).and_then(|name| btrfs_with(Path::new("/sys/fs/btrfs"), &name));
    }
    let names = below(Path::new("/sys"), &mounted);
    let disks: Vec<Disk> =
        names.iter().filter_map(|name| Disk::find(&Path::new("/dev").join(name)).ok()).collect();
    let (free, _) = disklab_runner::host::room_at(&path)?;
    let join = join(&mounted);
    if disks.is_empty() {
        return Err(unusable(format!(
            "it is on {} ({}), and no disk of this machine is found below that",
            mounted.source.as_deref().unwrap_or("nothing"),
            mounted.fstype
        )));
    }
    // Free space is counted once for all copies, so that each disk holds copies / disks of it.
    let copies = u64::from(join.copies(disks.len()));
    let part = Bytes(free.0.saturating_mul(copies) / disks.len() as u64);
    let bytes = if path.is_dir() { part } else { Bytes(u64::MAX >> 8) };
    let mut lab = lab.clone();
    let array = Array {
        name: HERE.to_owned(),
        summary: format!("{} on {}", mounted.fstype, path.display()),
        layout: join,
        partition_size: None,
        devices: disks.iter().map(name_of).collect(),
        spares: Vec::new(),
        cache: None,
        controller: None,
        host: None,
        replica: None,
    };
    lab.devices.extend(disks.iter().map(|disk| (name_of(disk), device(disk, bytes))));
    lab.arrays.insert(HERE.to_owned(), array);
    let uuid = mounted.uuid.filter(|_| mounted.fstype == Filesystem::Btrfs.as_str());
    let overrides = overrides.with("array", HERE)?;
    Ok(HostQuestion { place: HostPlace::At { path, disks, uuid }, lab, overrides })
}

/// Returns the offset of a file's first hole, or of blocks that are reserved and not written.
fn hole(path: &Path) -> std::io::Result<Option<Bytes>> {
    let file = fs::File::open(path)?;
    let all = file.metadata()?.len();
    match seek(&file, SeekFrom::Hole(0)) {
        Ok(at) if at < all => Ok(Some(Bytes(at))),
        // Some filesystems do not support the query.
        Ok(_) | Err(_) => Ok(None),
    }
}

fn mounted(path: &Path) -> Result<MountedFilesystem, Failure> {
    let mut findmnt = Command::new("findmnt");
    findmnt
        .args(["--json", "--output", "SOURCE,FSTYPE,UUID", "--first-only", "--target"])
        .arg(path)
        .env("PATH", disklab_block_devices::PATH);
    let cannot =
        |why: String| cannot!("cannot find the filesystem of {}: findmnt {why}", path.display());
    let out = findmnt
        .output()
        .map_err(|error| cannot(format!("cannot be run: {error}; install util-linux")))?;
    let found: FindmntOutput = serde_json::from_slice(&out.stdout)
        .map_err(|error| cannot(format!("gave no answer: {error}")))?;
    found
        .filesystems
        .into_iter()
        .next()
        .ok_or_else(|| cannot("knows no such filesystem".to_owned()))
}

/// Returns the kernel's names of the filesystem's devices: all of btrfs's, or the mounted one.
fn below(sysfs: &Path, mounted: &MountedFilesystem) -> Vec<String> {
    let devices = if mounted.fstype == Filesystem::Btrfs.as_str()
        && let Some(uuid) = &mounted.uuid
    {
        names_in(&sysfs.join("fs/btrfs").join(uuid).join("devices"))
    } else {
        device_name(mounted).into_iter().collect()
    };
    devices.iter().flat_map(|device| made_of(sysfs, device)).unique().collect()
}

/// Returns the disks or partitions below a device made by md, LUKS, LVM, or a stack of these. Their
/// requests can be traced, and their schedulers set. A device without others below it is its own
/// result.
fn made_of(sysfs: &Path, device: &str) -> Vec<String> {
    let below = names_in(&sysfs.join("class/block").join(device).join("slaves"));
    if below.is_empty() {
        return vec![device.to_owned()];
    }
    below.iter().flat_map(|device| made_of(sysfs, device)).collect()
}

fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the UUID of the btrfs that has this device. findmnt reads the device, which a user may
/// not; sysfs is readable for all.
fn btrfs_with(sysfs: &Path, device: &str) -> Option<String> {
    let filesystems = fs::read_dir(sysfs).ok()?.flatten();
    let mut with = filesystems.filter(|entry| entry.path().join("devices").join(device).exists());
    with.next().map(|entry| entry.file_name().to_string_lossy().into_owned())
}

/// Returns `sdb1` for `/dev/sdb1`, `/dev/disk/by-id/...` or `/dev/sdb1[/subvolume]`.
fn device_name(mounted: &MountedFilesystem) -> Option<String> {
    let source = mounted.source.as_deref()?.split('[').next()?;
    let path = fs::canonicalize(source).ok()?;
    path.strip_prefix("/dev").ok()?.to_str().map(str::to_owned)
}

/// Returns the nearest layout of the lab. Only one fact matters: whether btrfs can choose among
/// mirrors.
fn join(mounted: &MountedFilesystem) -> Layout {
    if mounted.fstype == Filesystem::Btrfs.as_str() {
        let uuid = mounted.uuid.clone().unwrap_or_default();
        let has = |profile: &Profile| {
            Path::new(&format!("/sys/fs/btrfs/{uuid}/allocation/data/{}", profile.as_str()))
                .is_dir()
        };
        let data = Profile::ALL.iter().copied().find(has).unwrap_or(Profile::Single);
        return Layout::Btrfs(Profiles { data, metadata: data });
    }
    let level = device_name(mounted)
        .and_then(|name| fs::read_to_string(format!("/sys/class/block/{name}/md/level")).ok());
    let raid =
        level.and_then(|level| Md::ALL.iter().copied().find(|raid| raid.as_str() == level.trim()));
    if mounted.fstype == Filesystem::Zfs.as_str() {
        return Layout::ZfsMirrors;
    }
    let filesystem = Filesystem::ON_ONE_DEVICE
        .into_iter()
        .find(|filesystem| filesystem.as_str() == mounted.fstype);
    Layout::On { filesystem: Some(filesystem.unwrap_or(Filesystem::Ext4)), raid }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// btrfs is on LUKS on two partitions, and on a logical volume over md.
    #[test]
    fn disks_are_found_below_whatever_is_on_them() {
        let place = tempfile::tempdir().expect("a folder");
        let sysfs = place.path();
        for (device, below) in [
            ("dm-0", &["sda2"][..]),
            ("dm-1", &["sdb2"]),
            ("dm-2", &["md0"]),
            ("md0", &["sdc", "sdb2"]),
            ("sda2", &[]),
        ] {
            let slaves = sysfs.join("class/block").join(device).join("slaves");
            fs::create_dir_all(&slaves).expect("a folder");
            for name in below {
                fs::create_dir(slaves.join(name)).expect("a folder");
            }
        }
        for device in ["dm-0", "dm-1", "dm-2"] {
            fs::create_dir_all(sysfs.join("fs/btrfs/u/devices").join(device)).expect("a folder");
        }
        let mounted = MountedFilesystem {
            source: Some("/dev/mapper/one".to_owned()),
            fstype: "btrfs".to_owned(),
            uuid: Some("u".to_owned()),
        };
        assert_eq!(below(sysfs, &mounted), ["sda2", "sdb2", "sdc"]);
        assert_eq!(made_of(sysfs, "nvme0n1p1"), ["nvme0n1p1"]);
    }
}
