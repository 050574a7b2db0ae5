//! The serial that distinguishes a disk from others of its kind. It comes from firmware and from
//! files, so a text that is too long or has control characters is refused.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use disklab_units::prose::{is_hidden, visible};
use rustix::fs::{major, minor};

use crate::machine::{self, Machine};
use crate::sysfs::SysfsBlock;

/// Largest number of bytes of a serial. No maker writes longer ones; names of NVMe namespaces have
/// up to 223.
const LONGEST: usize = 256;

/// Returns the serial of a whole disk. For a partition, it is the disk's serial with the
/// partition's number and, if known, its UUID.
pub(super) fn serial(machine: &Machine, block: &SysfsBlock, number: (u32, u32)) -> Option<String> {
    if !block.is_part() {
        return of_disk(machine, block, number);
    }
    let disk = crate::sysfs::number(&block.disk_word("dev")?)?;
    let disk = of_disk(machine, block, disk)?;
    let part = block.word("partition")?;
    let uuid = uevent(block, "PARTUUID").or_else(|| udev(machine, number, &["ID_PART_ENTRY_UUID"]));
    Some(format!("{disk}-part{part}{}", uuid.map(|uuid| format!(":{uuid}")).unwrap_or_default()))
}

fn of_disk(machine: &Machine, block: &SysfsBlock, number: (u32, u32)) -> Option<String> {
    if block.disk.join("loop").is_dir() {
        return of_file(machine, &block.disk);
    }
    // The serial on the label comes first, and worldwide identifiers only if there is none.
    let word = |file: &str| clean(&block.disk_word(file)?);
    let serial = word("device/serial")
        .or_else(|| word("serial"))
        .or_else(|| page_80(&machine::bytes(&block.disk.join("device/vpd_pg80")).ok()?))
        .or_else(|| word("wwid"))
        .or_else(|| word("device/wwid"))
        .or_else(|| udev(machine, number, &["ID_SERIAL_SHORT", "ID_SERIAL"]))?;
    // All namespaces of an NVMe drive have the drive's serial.
    let namespace = block.disk_word("nsid").filter(|namespace| namespace != "1");
    Some(namespace.map_or_else(|| serial.clone(), |namespace| format!("{serial}-n{namespace}")))
}

/// Identifies a loop device by its backing file: the number of the filesystem and the inode, which
/// another file with the same name does not have.
fn of_file(machine: &Machine, disk: &Path) -> Option<String> {
    let text = machine::text(&disk.join("loop/backing_file")).ok()?;
    let path = text.strip_suffix('\n').unwrap_or(&text);
    let file = machine.path(path).metadata().ok()?;
    let (major, minor) = (major(file.dev()), minor(file.dev()));
    Some(format!("loop:{major}:{minor}:{}:{}", file.ino(), visible(path).replace('\n', "\\n")))
}

/// Parses SCSI's page of vital product data: four bytes, the last two with the length, then the
/// serial.
fn page_80(page: &[u8]) -> Option<String> {
    let length = usize::from(*page.get(2)?) << 8 | usize::from(*page.get(3)?);
    clean(std::str::from_utf8(page.get(4..)?.get(..length)?).ok()?)
}

fn uevent(block: &SysfsBlock, key: &str) -> Option<String> {
    let text = block.word("uevent")?;
    let value = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
    clean(value)
}

/// Returns the first of these properties that udev's database has.
fn udev(machine: &Machine, (major, minor): (u32, u32), keys: &[&str]) -> Option<String> {
    let text = machine.text(format!("/run/udev/data/b{major}:{minor}")).ok()?;
    let value = |key: &&str| {
        text.lines().find_map(|line| line.strip_prefix("E:")?.strip_prefix(*key)?.strip_prefix('='))
    };
    keys.iter().find_map(value).and_then(clean)
}

/// Removes blanks and zeroes around a serial. Returns `None` if the text cannot be a serial.
pub(super) fn clean(text: &str) -> Option<String> {
    let text = text.trim_matches(|letter: char| letter == '\0' || letter.is_whitespace());
    let odd = |letter: char| is_hidden(letter) || letter == char::REPLACEMENT_CHARACTER;
    (!text.is_empty() && text.len() <= LONGEST && !text.contains(odd)).then(|| text.to_owned())
}
