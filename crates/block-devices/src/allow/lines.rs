//! What to put into an allow file for a disk.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Value;

use crate::disk::{Disk, number_of};

/// Stands for the serial of a disk that has none.
pub(super) const NONE: &str = "none";

/// The lines that permit a disk to be written. Its path is one that stays with it, where there is
/// one.
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

/// Names by model and serial say more to people than those by a number of the world's.
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
