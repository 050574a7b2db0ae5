//! The lines for a disk in an allow file.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Value;

use crate::disk::{Disk, number_of};

/// The serial of a disk that has none.
pub(super) const NONE: &str = "none";

/// Returns the lines that permit a disk to be written. If the disk has a path that stays with it,
/// the lines have that path.
pub fn lines(disk: &Disk) -> String {
    let path = lasting(disk, Path::new("/dev/disk/by-id")).unwrap_or_else(|| disk.named.clone());
    let quoted = |text: &str| Value::from(text).to_string();
    let serial = quoted(disk.serial.as_deref().unwrap_or(NONE));
    let size = if disk.serial.is_none() {
        format!("size = \"{}\"\n", disk.bytes.0)
    } else {
        String::new()
    };
    let note =
        quoted(&format!("{}, {}", disk.model.as_deref().unwrap_or("no model known"), disk.bytes));
    let path = quoted(&path.to_string_lossy());
    format!("[[device]]\npath = {path}\nserial = {serial}\n{size}note = {note}\n")
}

/// Returns a path that stays with the disk. Names by model and serial come before those by a
/// worldwide number, because they say more to people.
fn lasting(disk: &Disk, folder: &Path) -> Option<PathBuf> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| number_of(&folder.join(name)).is_ok_and(|number| number == disk.number))
        .collect();
    let is_number = |name: &str| {
        ["wwn-", "nvme-eui.", "nvme-uuid.", "nvme-nvme.", "scsi-3"]
            .iter()
            .any(|start| name.starts_with(start))
    };
    names.sort_by_key(|name| (is_number(name), name.len(), name.clone()));
    names.first().map(|name| folder.join(name))
}
