//! The places of the watched disks: a partition is a part of a whole disk, and requests have places
//! on the whole disk.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::with_path;

use crate::disk::Disk;
use crate::sysfs::{self, SysfsBlock, file_name};
use crate::watch::pairs::WatchedRange;

/// A watched disk or partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchedDisk {
    /// The kernel's name of the disk or partition.
    pub name: String,
    pub rotational: bool,
    /// Name and number (major, minor) of the whole disk.
    pub disk: String,
    pub number: (u32, u32),
    /// First sector on the whole disk, and the number of sectors, in units of 512 bytes.
    pub begin: u64,
    pub sectors: u64,
}

impl WatchedDisk {
    /// Asks the kernel about a disk. Fails if the disk counts no requests, because nothing would be
    /// known of its activity.
    pub fn find(disk: &Disk) -> io::Result<Self> {
        let (major, minor) = disk.number;
        let gone = || {
            io::Error::other(format!(
                "/sys/dev/block/{major}:{minor} does not exist; was the disk removed?"
            ))
        };
        let block = SysfsBlock::find(disk.number).ok_or_else(gone)?;
        let whole_name = file_name(&block.disk);
        // Drivers that handle bios without requests count by themselves.
        if block.disk.join("mq").exists() && number(&block.disk.join("queue/iostats"))? == 0 {
            return Err(io::Error::other(format!(
                "{} counts no requests: write 1 to /sys/class/block/{whole_name}/queue/iostats",
                disk.name
            )));
        }
        let no_number = || {
            with_path(&block.disk.join("dev"))(io::Error::other(
                "expected MAJOR:MINOR, the number of a device",
            ))
        };
        let whole = block.disk_word("dev").as_deref().and_then(sysfs::number);
        Ok(Self {
            name: disk.name.clone(),
            rotational: disk.rotational,
            disk: whole_name,
            number: whole.ok_or_else(no_number)?,
            begin: if block.is_part() { number(&block.folder.join("start"))? } else { 0 },
            sectors: number(&block.folder.join("size"))?,
        })
    }

    pub fn is_part(&self) -> bool {
        self.disk != self.name
    }

    /// Returns the place in the form that events use.
    pub fn place(&self) -> WatchedRange {
        let (major, minor) = self.number;
        WatchedRange { dev: major << 20 | minor, begin: self.begin, sectors: self.sectors }
    }
}

fn number(path: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(path).map_err(with_path(path))?;
    text.trim()
        .parse()
        .map_err(|_| with_path(path)(io::Error::other(format!("{} is not a number", text.trim()))))
}
