//! Where the disks that are watched are: a partition is a part of a whole disk, which is what
//! requests are for.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::machine::with_path;

use crate::disk::Disk;
use crate::sysfs::{self, SysfsBlock, file_name};
use crate::watch::pairs::WatchedRange;

/// A disk that is watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchedDisk {
    /// The kernel's name.
    pub name: String,
    pub rotational: bool,
    /// The whole disk's name and number: major, minor.
    pub disk: String,
    pub number: (u32, u32),
    /// Where it begins there, and how long it is, in units of 512 bytes.
    pub begin: u64,
    pub sectors: u64,
}

impl WatchedDisk {
    /// Asks the kernel about a disk. `Err` if it counts no requests: nothing could be told of it.
    pub fn find(disk: &Disk) -> io::Result<Self> {
        let (major, minor) = disk.number;
        let gone = || io::Error::other(format!("/sys/dev/block/{major}:{minor} is not there"));
        let block = SysfsBlock::find(disk.number).ok_or_else(gone)?;
        let whole_name = file_name(&block.disk);
        // Drivers without requests, only bios, count by themselves.
        if block.disk.join("mq").exists() && number(&block.disk.join("queue/iostats"))? == 0 {
            return Err(io::Error::other(format!(
                "{} counts no requests: write 1 to /sys/class/block/{whole_name}/queue/iostats",
                disk.name
            )));
        }
        let no_number = || with_path(&block.disk.join("dev"))(io::Error::other("no device number"));
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

    /// As events have it.
    pub fn place(&self) -> WatchedRange {
        let (major, minor) = self.number;
        WatchedRange { dev: major << 20 | minor, begin: self.begin, sectors: self.sectors }
    }
}

fn number(path: &Path) -> io::Result<u64> {
    let text = fs::read_to_string(path).map_err(with_path(path))?;
    text.trim()
        .parse()
        .map_err(|_| with_path(path)(io::Error::other(format!("{} is no number", text.trim()))))
}
