//! One block device's folder in sysfs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::machine::{self, Machine};

/// A whole disk or a partition.
#[derive(Debug, Clone)]
pub struct SysfsBlock {
    /// Its own folder.
    pub folder: PathBuf,
    /// The folder of the whole disk: the same one, where it is no partition.
    pub disk: PathBuf,
}

impl SysfsBlock {
    /// By major and minor number. `None` where sysfs does not have it.
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

    /// The kernel's name, with `!` where /dev has a folder.
    pub fn name(&self) -> String {
        file_name(&self.folder)
    }

    /// What a file of the whole disk's folder says, if anything.
    pub fn disk_word(&self, file: &str) -> Option<String> {
        word(&self.disk, file)
    }

    /// What a file of its own folder says, if anything.
    pub fn word(&self, file: &str) -> Option<String> {
        word(&self.folder, file)
    }

    /// Vendor and model, if it has any.
    pub fn model(&self) -> Option<String> {
        let names: Vec<String> = ["device/vendor", "device/model"]
            .iter()
            .filter_map(|file| self.disk_word(file))
            .collect();
        (!names.is_empty()).then(|| names.join(" "))
    }
}

/// The name of the device that a folder of sysfs is of.
pub(crate) fn file_name(folder: &Path) -> String {
    folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns what a file of a folder says, if anything.
pub(crate) fn word(folder: &Path, file: &str) -> Option<String> {
    let text = machine::text(&folder.join(file)).ok()?;
    Some(text.trim().to_owned()).filter(|word| !word.is_empty())
}

/// As sysfs writes numbers of devices: `8:16`.
pub(crate) fn number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
