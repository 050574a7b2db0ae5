//! Block devices of this machine, and their identity.

mod serial;

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use disklab_units::{Bytes, Sectors};
use rustix::fs::{OFlags, major, minor};
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::machine::{self, Machine};
use crate::sysfs::{SysfsBlock, number};

/// A whole disk or a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// The path that the user gave: `/dev/disk/by-id/...`, `/dev/sdb`.
    pub named: PathBuf,
    /// The kernel's name: `sdb`, `nvme0n1`, `loop3`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    pub bytes: Bytes,
    pub rotational: bool,
    pub model: Option<String>,
    /// The maker's serial; for a loop device, the identity of its backing file.
    pub serial: Option<String>,
}

impl Disk {
    /// Finds the device that a path leads to now. Follows links.
    pub fn find(path: &Path) -> Result<Self, Error> {
        let number = number_of(path)?;
        Self::on(&Machine::here(), path, number)
            .ok_or_else(|| Error::NoSysfs { path: path.to_owned(), number })
    }

    /// Returns all disks that could hold data, and their partitions, by name. RAM disks, optical
    /// drives and empty slots are left out.
    pub fn all() -> Result<Vec<Self>, Error> {
        Self::all_on(&Machine::here())
    }

    pub(crate) fn on(machine: &Machine, named: &Path, number: (u32, u32)) -> Option<Self> {
        let block = SysfsBlock::on(machine, number)?;
        let sectors = block.word("size")?.parse().ok()?;
        Some(Self {
            named: named.to_owned(),
            name: block.name(),
            number,
            bytes: Sectors(sectors).bytes(),
            rotational: block.disk_word("queue/rotational").as_deref() == Some("1"),
            model: block.model().and_then(|model| serial::clean(&model)),
            serial: serial::serial(machine, &block, number),
        })
    }

    fn all_on(machine: &Machine) -> Result<Vec<Self>, Error> {
        let mut disks = Vec::new();
        let top = machine.path("/sys/block");
        let all = machine::names(&top)
            .map_err(|source| Error::Unreadable { path: top.clone(), source })?;
        for name in all {
            if ["ram", "zram", "sr", "fd"].iter().any(|start| is_numbered(&name, start)) {
                continue;
            }
            let folder = top.join(&name);
            // The disk may have been unplugged since.
            let inside = machine::names(&folder).unwrap_or_default();
            let parts =
                inside.into_iter().filter(|part| folder.join(part).join("partition").exists());
            let paths =
                parts.map(|part| (folder.join(&part), part)).chain([(folder.clone(), name)]);
            disks.extend(paths.filter_map(|(folder, name)| {
                let number = number(&machine::text(&folder.join("dev")).ok()?)?;
                Self::on(machine, &Path::new("/dev").join(name.replace('!', "/")), number)
            }));
        }
        // A slot without a medium has no size.
        disks.retain(|disk| disk.bytes > Bytes(0));
        disks.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(disks)
    }
}

fn is_numbered(name: &str, start: &str) -> bool {
    name.strip_prefix(start)
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Opens a device exclusively (`O_EXCL`), which the kernel refuses if the device is mounted or a
/// part of another. The file is not open for writing, because udev looks at a disk after it was,
/// while mkfs works.
pub(crate) fn open_alone(path: &Path) -> io::Result<File> {
    let flags = (OFlags::EXCL | OFlags::NONBLOCK).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Returns the major and minor number of a block device, or None for any other file.
pub(crate) fn block_number(metadata: &Metadata) -> Option<(u32, u32)> {
    let number = (major(metadata.rdev()), minor(metadata.rdev()));
    metadata.file_type().is_block_device().then_some(number)
}

/// Returns the major and minor number of the block device that a path leads to.
pub fn number_of(path: &Path) -> Result<(u32, u32), Error> {
    let metadata = path.metadata().map_err(|error| unreadable(path, error))?;
    if let Some(number) = block_number(&metadata) {
        return Ok(number);
    }
    let kind = metadata.file_type();
    let what = if kind.is_char_device() {
        "a character device"
    } else if kind.is_dir() {
        "a folder"
    } else if kind.is_file() {
        "a file"
    } else {
        "a pipe or a socket"
    };
    Err(Error::NoBlockDevice { path: path.to_owned(), what })
}

fn unreadable(path: &Path, error: io::Error) -> Error {
    let path = path.to_owned();
    match error.kind() {
        ErrorKind::NotFound => match fs::read_link(&path) {
            Ok(to) => Error::Dangling { path, to },
            Err(_) => Error::NotThere(path),
        },
        ErrorKind::PermissionDenied => Error::NoPermission(path),
        _ => Error::Unreadable { path, source: error },
    }
}

#[cfg(test)]
mod tests;
