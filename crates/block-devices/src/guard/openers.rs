//! Programs that have a disk open. The kernel lets several programs open a disk that none opens
//! exclusively: virtual machines and databases use whole disks that way.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rustix::fs::OFlags;

use crate::disk::{Disk, block_number};
use crate::machine::{self, Machine, Process};
use crate::refusal::Why;

/// Pauses before further looks. Programs that open disks only briefly, such as losetup, are gone by
/// then.
const AGAIN: [Duration; 3] =
    [Duration::from_millis(20), Duration::from_millis(100), Duration::from_millis(300)];

/// Checks that nobody else has the disk open for writing, as far as this user may know.
pub(super) fn none(machine: &Machine, disk: &Disk) -> Result<(), Why> {
    let mut found = all(machine, disk);
    for pause in AGAIN {
        if found.is_empty() {
            return Ok(());
        }
        thread::sleep(pause);
        found = all(machine, disk);
    }
    if found.is_empty() { Ok(()) } else { Err(Why::Open(found)) }
}

fn all(machine: &Machine, disk: &Disk) -> Vec<String> {
    let own = std::process::id().to_string();
    Process::all(machine)
        .filter(|process| process.number != own && has_open(&process.folder, disk))
        .map(|process| process.to_string())
        .collect()
}

/// Returns whether a process has the disk open for writing. The result is false for other users'
/// processes, and for processes that have ended: their files are unknown.
fn has_open(process: &Path, disk: &Disk) -> bool {
    fs::read_dir(process.join("fd")).into_iter().flatten().flatten().any(|descriptor| {
        // Only paths in /dev are followed: others may be on a filesystem that does not answer.
        let is_device = fs::read_link(descriptor.path()).is_ok_and(|path| path.starts_with("/dev"));
        let opened = || block_number(&descriptor.path().metadata().ok()?);
        is_device
            && opened() == Some(disk.number)
            && writes(&process.join("fdinfo").join(descriptor.file_name()))
    })
}

/// Returns whether a file is open for writing, by its flags, which are octal.
fn writes(info: &Path) -> bool {
    let text = machine::text(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), 8).ok());
    flags.is_some_and(|flags| {
        OFlags::from_bits_retain(flags).intersects(OFlags::WRONLY | OFlags::RDWR)
    })
}
