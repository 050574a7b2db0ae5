//! Decides whether a disk may be written. It must be listed in an allow file and named again,
//! nobody may use it, and it may hold nothing that could be somebody's. If a check cannot be made,
//! the disk is not written. Nothing here writes.

mod blkid;
mod contents;
mod mounts;
mod openers;
mod signature;
mod swaps;
mod tree;
mod twice;
mod uses;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use rustix::fs::{Access, AtFlags, CWD, accessat};

pub use self::twice::named_twice;

use self::contents::contents;
use self::tree::DeviceTree;
use crate::allow::Allow;
use crate::disk::{Disk, block_number, number_of, open_alone};
use crate::error::Error;
use crate::machine::Machine;
use crate::refusal::{LEAST, Refusal, Why};
use crate::sysfs::SysfsBlock;

/// Checks whether everything on a disk may be destroyed. `overwrite` has the devices that the user
/// also named with `--overwrite`, which gives up their contents.
///
/// Only reads, and takes some milliseconds. Call it again just before each mkfs, and give mkfs the
/// same path.
pub fn may_write(disk: &Disk, allow: &Allow, overwrite: &[PathBuf]) -> Result<(), Refusal> {
    let refusal = |why| Refusal { device: disk.named.clone(), why };
    still(disk).map_err(refusal)?;
    allow.permits(disk).map_err(refusal)?;
    is_free(disk, overwrite)
}

/// Checks the same for a disk that need not be listed yet.
pub fn is_free(disk: &Disk, overwrite: &[PathBuf]) -> Result<(), Refusal> {
    let again =
        overwrite.iter().any(|path| number_of(path).is_ok_and(|number| number == disk.number));
    let machine = Machine::here();
    free(&machine, disk)
        .and_then(|()| openers::none(&machine, disk))
        .and_then(|()| if again { Ok(()) } else { holds_nothing(disk) })
        .map_err(|why| Refusal { device: disk.named.clone(), why })
}

/// Checks that no two of `disks` are the same disk or on the same disk.
pub fn apart(disks: &[Disk]) -> Result<(), Refusal> {
    apart_on(&Machine::here(), disks)
}

/// Lists everything that uses a disk or shares it: mounts, swap, partitions and devices made of it.
pub fn used_by(disk: &Disk) -> Result<Vec<String>, Refusal> {
    used_by_on(&Machine::here(), disk).map_err(|why| Refusal { device: disk.named.clone(), why })
}

/// Returns a sentence on who keeps a disk from being opened exclusively, as far as this process
/// sees it.
pub(crate) fn holder(disk: &Disk) -> Option<String> {
    let machine = Machine::here();
    let uses = uses::read(&machine).unwrap_or_default();
    // A filesystem during its unmount is in no list of mounts, but btrfs lists its devices until
    // everything is written.
    let mounted = uses.iter().find(|found| found.number == disk.number && !found.is_btrfs);
    let made = || Some(DeviceTree::read(&machine).ok()?.is_last(&disk.name).err()?.to_string());
    mounted.map(|found| format!("it is {}", uses::words(&found.how))).or_else(made)
}

fn used_by_on(machine: &Machine, disk: &Disk) -> Result<Vec<String>, Why> {
    let tree = DeviceTree::read(machine)?;
    let all = uses::read(machine)?;
    let how = |number: (u32, u32)| {
        let of_it = all.iter().filter(|found| found.number == number);
        let how: BTreeSet<String> = of_it.map(|found| uses::words(&found.how)).collect();
        how.into_iter().collect::<Vec<String>>().join(", ")
    };
    let mut used_by = vec![how(disk.number)];
    used_by.retain(|own| !own.is_empty());
    for name in tree.relatives(&disk.name)? {
        let how = tree.number(name).map(how).unwrap_or_default();
        used_by.push(if how.is_empty() { name.to_owned() } else { format!("{name} ({how})") });
    }
    Ok(used_by)
}

/// Opens a disk exclusively (`O_EXCL`), which is the kernel's own check. The kernel refuses it if
/// the disk is mounted, by anybody, or a part of another device. While the file is open, nobody
/// else gets the disk, including mkfs: drop the file just before mkfs.
pub fn hold(disk: &Disk) -> Result<File, Refusal> {
    let refusal = |why| Refusal { device: disk.named.clone(), why };
    let file = open_alone(&disk.named).map_err(|error| refusal(unopened(&error)))?;
    let metadata = file.metadata().map_err(|error| refusal(unopened(&error)))?;
    if block_number(&metadata) != Some(disk.number) {
        return Err(refusal(Why::Changed(format!("{} leads elsewhere", disk.named.display()))));
    }
    // Checks the identity again, now that nobody can take the disk away.
    still(disk).map_err(refusal)?;
    Ok(file)
}

fn unopened(error: &io::Error) -> Why {
    match error.kind() {
        ErrorKind::ResourceBusy => Why::Busy,
        ErrorKind::PermissionDenied => Why::NoPermission,
        _ => Why::Changed(format!("it cannot be opened: {error}")),
    }
}

/// Checks that the path still leads to the same disk.
fn still(disk: &Disk) -> Result<(), Why> {
    let now = Disk::find(&disk.named).map_err(|error| match error {
        Error::NoPermission(_) => Why::NoPermission,
        error => Why::Changed(error.to_string()),
    })?;
    let was_is = |what: &str, was: &str, is: &str| {
        Err(Why::Changed(format!("{what} was {was} and is {is}")))
    };
    let serial = |disk: &Disk| disk.serial.clone().unwrap_or_else(|| "none".to_owned());
    if now.number != disk.number || now.name != disk.name {
        return was_is("the device", &disk.name, &now.name);
    }
    if serial(&now) != serial(disk) {
        return was_is("the serial", &serial(disk), &serial(&now));
    }
    if now.bytes != disk.bytes {
        return was_is("the size", &disk.bytes.0.to_string(), &now.bytes.0.to_string());
    }
    Ok(())
}

/// Checks everything except the disk's contents.
fn free(machine: &Machine, disk: &Disk) -> Result<(), Why> {
    let tree = DeviceTree::read(machine)?;
    let uses = uses::read(machine)?;
    let relatives = tree.relatives(&disk.name)?;
    for found in &uses {
        if found.number == disk.number {
            return Err(found.how.clone());
        }
        if let Some(name) = relatives.iter().find(|name| tree.number(name) == Some(found.number)) {
            return Err(Why::Shared { by: (*name).to_owned(), how: uses::words(&found.how) });
        }
    }
    tree.is_last(&disk.name)?;
    let block = SysfsBlock::on(machine, disk.number)
        .ok_or_else(|| Why::Changed("it is gone".to_owned()))?;
    // BLKROGET reads the same flag.
    match block.word("ro").as_deref() {
        Some("0") => {}
        Some(_) => return Err(Why::ReadOnly),
        None => return Err(Why::Unknown(format!("{}/ro cannot be read", block.folder.display()))),
    }
    if disk.bytes < LEAST {
        return Err(Why::TooSmall { bytes: disk.bytes });
    }
    Ok(())
}

/// Checks that the disk can be written, and that it holds nothing known.
fn holds_nothing(disk: &Disk) -> Result<(), Why> {
    let unreadable = |error: io::Error| match error.kind() {
        ErrorKind::PermissionDenied => Why::NoPermission,
        _ => Why::Unknown(format!("it cannot be read: {error}")),
    };
    accessat(CWD, &disk.named, Access::WRITE_OK, AtFlags::EACCESS)
        .map_err(|error| unreadable(error.into()))?;
    let file = File::open(&disk.named).map_err(unreadable)?;
    match contents(&file, &disk.named).map_err(unreadable)?? {
        Some(what) => Err(Why::Signature { what, name: disk.named.display().to_string() }),
        None => Ok(()),
    }
}

fn apart_on(machine: &Machine, disks: &[Disk]) -> Result<(), Refusal> {
    let Some(first) = disks.first() else { return Ok(()) };
    let tree =
        DeviceTree::read(machine).map_err(|why| Refusal { device: first.named.clone(), why })?;
    for (at, disk) in disks.iter().enumerate() {
        let refusal = |why| Refusal { device: disk.named.clone(), why };
        let relatives = tree.relatives(&disk.name).map_err(refusal)?;
        for other in &disks[..at] {
            if other.number == disk.number {
                return Err(refusal(Why::Twice(other.named.clone())));
            }
            let one_disk =
                |how: String| Err(refusal(Why::OneDisk { other: other.named.clone(), how }));
            if relatives.contains(&other.name.as_str()) {
                return one_disk(format!("{} and {}", disk.name, other.name));
            }
            // They are the same disk by two paths, or two disks that nobody can distinguish.
            if let (Some(serial), true) =
                (&disk.serial, disk.serial == other.serial && disk.model == other.model)
            {
                return one_disk(format!("both have the serial {serial}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
