//! The folder of a block device in sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::{self, Machine};

/// A whole disk or a partition.
#[derive(Debug, Clone)]
pub struct SysfsBlock {
    /// Folder of the device itself.
    pub folder: PathBuf,
    /// Folder of the whole disk: the same one, unless the device is a partition.
    pub disk: PathBuf,
}

impl SysfsBlock {
    /// Finds a device by major and minor number. Returns `None` if sysfs does not have it.
    pub fn find(number: (u32, u32)) -> Option<Self> {
        Self::on(&Machine::here(), number)
    }

    pub(crate) fn on(machine: &Machine, (major, minor): (u32, u32)) -> Option<Self> {
        let folder =
            fs::canonicalize(machine.path(format!("/sys/dev/block/{major}:{minor}"))).ok()?;
        let part = folder.join("partition").exists();
        let disk =
            if part { folder.parent().unwrap_or(&folder).to_owned() } else { folder.clone() };
        Some(Self { folder, disk })
    }

    pub fn is_part(&self) -> bool {
        self.folder != self.disk
    }

    /// Returns the kernel's name, with `!` where the path in /dev has a folder.
    pub fn name(&self) -> String {
        file_name(&self.folder)
    }

    /// Returns the contents of a file in the whole disk's folder, or None if it is missing or
    /// empty.
    pub fn disk_word(&self, file: &str) -> Option<String> {
        word(&self.disk, file)
    }

    /// Returns the contents of a file in the device's own folder, or None if it is missing or
    /// empty.
    pub fn word(&self, file: &str) -> Option<String> {
        word(&self.folder, file)
    }

    /// Returns vendor and model, if the device has any.
    pub fn model(&self) -> Option<String> {
        let names: Vec<String> = ["device/vendor", "device/model"]
            .iter()
            .filter_map(|file| self.disk_word(file))
            .collect();
        (!names.is_empty()).then(|| names.join(" "))
    }
}

/// Returns the name of the device that a folder of sysfs describes.
pub(crate) fn file_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the contents of a file in a folder, or None if it is missing or empty.
pub(crate) fn word(folder: &Path, file: &str) -> Option<String> {
    let text = machine::text(&folder.join(file)).ok()?;
    Some(text.trim().to_owned()).filter(|word| !word.is_empty())
}

/// Parses a device's number in the form of sysfs: `8:16`.
pub(crate) fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
