//! Where the disks that are watched are: a partition is a part of a whole disk, which is what
//! requests are for.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::disk::Disk;
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
        let folder = Path::new("/sys/class/block").join(&disk.name);
        let folder = folder.canonicalize().map_err(|error| at(&folder, &error))?;
        let is_part = folder.join("partition").exists();
        let whole = folder.parent().filter(|_| is_part).unwrap_or(&folder);
        let whole_name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Drivers without requests, only bios, count by themselves.
        if whole.join("mq").exists() && number(&whole.join("queue/iostats"))? == 0 {
            return Err(io::Error::other(format!(
                "{} counts no requests: write 1 to /sys/class/block/{whole_name}/queue/iostats",
                disk.name
            )));
        }
        let numbers = fs::read_to_string(whole.join("dev"))
            .map_err(|error| at(&whole.join("dev"), &error))?;
        let numbers = numbers.trim().split_once(':');
        let numbers =
            numbers.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        Ok(Self {
            name: disk.name.clone(),
            rotational: disk.rotational,
            disk: whole_name,
            number: numbers
                .ok_or_else(|| at(&whole.join("dev"), &io::Error::other("no device number")))?,
            begin: if is_part { number(&folder.join("start"))? } else { 0 },
            sectors: number(&folder.join("size"))?,
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
    let text = fs::read_to_string(path).map_err(|error| at(path, &error))?;
    text.trim()
        .parse()
        .map_err(|_| at(path, &io::Error::other(format!("{} is no number", text.trim()))))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
