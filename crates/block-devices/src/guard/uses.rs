//! The devices of this machine that are mounted or swap, by number.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{mounts, swaps};
use crate::disk::block_number;
use crate::machine::{self, Machine};
use crate::refusal::Why;
use crate::sysfs;

pub(super) struct Use {
    pub number: (u32, u32),
    /// The reason to refuse the device itself.
    pub how: Why,
    /// Whether btrfs's own list of devices shows the use, and not a list of mounts.
    pub is_btrfs: bool,
}

/// Returns the use in words that follow "is".
pub(super) fn words(how: &Why) -> String {
    match how {
        Why::Mounted(place) => format!("mounted at {place}"),
        Why::MountedElsewhere { place, whose } => {
            format!("mounted at {place} where only {whose} sees it")
        }
        Why::Swap(_) => "swap space in use".to_owned(),
        other => other.to_string(),
    }
}

pub(super) fn read(machine: &Machine) -> Result<Vec<Use>, Why> {
    let mut uses = Vec::new();
    let mut seen = BTreeSet::new();
    for list in mounts::everywhere(machine)? {
        for mount in mounts::all(&list.text).filter(|mount| seen.insert(mount.clone())) {
            let how = match &list.whose {
                None => Why::Mounted(mount.place),
                Some(whose) => Why::MountedElsewhere { place: mount.place, whose: whose.clone() },
            };
            let devices =
                mount.devices.iter().filter_map(|source| number_of(machine, Path::new(source)));
            let numbers = mount.number.into_iter().chain(devices);
            uses.extend(numbers.map(|number| Use { number, how: how.clone(), is_btrfs: false }));
        }
    }
    uses.extend(of_btrfs(machine));
    let swaps = swaps::read(machine)?;
    for (path, _) in swaps::listed(&swaps) {
        let number = number_of(machine, Path::new(&path));
        uses.extend(number.map(|number| Use { number, how: Why::Swap(path), is_btrfs: false }));
    }
    Ok(uses)
}

/// Returns all devices of each mounted btrfs. A list of mounts has only one of them.
fn of_btrfs(machine: &Machine) -> Vec<Use> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
    };
    let mut uses = Vec::new();
    for filesystem in entries(&machine.path("/sys/fs/btrfs")) {
        let uuid = filesystem.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for device in entries(&filesystem.join("devices")) {
            let number = machine::text(&device.join("dev")).ok().as_deref().and_then(sysfs::number);
            let how = Why::Mounted(format!("some place, as a part of the btrfs {uuid}"));
            uses.extend(number.map(|number| Use { number, how, is_btrfs: true }));
        }
    }
    uses
}

/// Returns the number of a device by its path, or by the kernel's name if this process does not see
/// the path.
pub(super) fn number_of(machine: &Machine, path: &Path) -> Option<(u32, u32)> {
    if let Ok(metadata) = machine.path(path).metadata() {
        return block_number(&metadata);
    }
    let path = path.to_str()?.trim_end_matches(" (deleted)");
    let name = path.strip_prefix("/dev/")?.replace('/', "!");
    let text = machine.text(format!("/sys/class/block/{name}/dev")).ok()?;
    sysfs::number(&text)
}
