//! Groups of disks that belong together, parsed from the output of the tools of btrfs, md and ZFS.
//! If the output does not determine a layout, the draft guesses it and says so.

use crate::layout::{Layout, Profile};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DiskGroup {
    /// Name of the group for people: `btrfs pool`, `md /dev/md0 (raid1)`.
    pub name: String,
    /// The nearest layout, or `None` if the output names none.
    pub layout: Option<Layout>,
    /// Paths of the group's members, in its own order.
    pub paths: Vec<String>,
}

impl DiskGroup {
    fn new(name: String, layout: Option<Layout>) -> Self {
        Self { name, layout, paths: Vec::new() }
    }
}

/// Parses `btrfs filesystem show`, which does not print profiles.
pub fn btrfs(said: &str) -> Vec<DiskGroup> {
    let mut groups: Vec<DiskGroup> = Vec::new();
    for line in said.lines().map(str::trim) {
        if let Some(label) = line.strip_prefix("Label:") {
            let (label, uuid) = label.split_once("uuid:").unwrap_or((label, ""));
            let label = label.trim().trim_matches('\'');
            let name = if label == "none" { uuid.trim() } else { label };
            groups.push(DiskGroup::new(format!("btrfs {name}"), None));
        } else if let (Some(group), true) = (groups.last_mut(), line.starts_with("devid"))
            && let Some((_, path)) = line.split_once(" path ")
        {
            // A missing device has no path, or a path that is marked as missing.
            let path = path.split_whitespace().next().filter(|path| path.starts_with('/'));
            group.paths.extend(path.map(str::to_owned));
        }
    }
    groups
}

/// Parses `mdadm --detail --scan --verbose`.
pub fn md(said: &str) -> Vec<DiskGroup> {
    let mut groups: Vec<DiskGroup> = Vec::new();
    for line in said.lines() {
        let mut words = line.split_whitespace().peekable();
        if words.next_if_eq(&"ARRAY").is_some() {
            let device = words.next().unwrap_or("?");
            let level = words.clone().find_map(|word| word.strip_prefix("level=")).unwrap_or("?");
            let layout = match level {
                "raid0" | "linear" => Some(Layout::btrfs(Profile::Raid0)),
                "raid1" => Some(Layout::btrfs(Profile::Raid1)),
                "raid10" => Some(Layout::btrfs(Profile::Raid10)),
                _ => None,
            };
            groups.push(DiskGroup::new(format!("md {device} ({level})"), layout));
        }
        if let (Some(group), Some(devices)) =
            (groups.last_mut(), words.find_map(|word| word.strip_prefix("devices=")))
        {
            group.paths.extend(devices.split(',').map(str::to_owned));
        }
    }
    groups
}

/// Parses `zpool status -P`. Logs, caches and spares hold no data of their own.
pub fn zfs(said: &str) -> Vec<DiskGroup> {
    let mut groups: Vec<DiskGroup> = Vec::new();
    let (mut mirrors, mut parity, mut within) = (0, false, false);
    for line in said.lines() {
        let word = line.split_whitespace().next().unwrap_or_default();
        if word == "pool:" {
            let name = line.split_once(':').map_or("", |(_, name)| name.trim());
            groups.push(DiskGroup::new(format!("ZFS {name}"), None));
            (mirrors, parity, within) = (0, false, false);
            continue;
        }
        let Some(group) = groups.last_mut() else { continue };
        match word {
            "NAME" => within = true,
            "logs" | "cache" | "spares" | "special" | "dedup" | "errors:" => within = false,
            _ if !within => {}
            _ if word.starts_with("mirror-") => mirrors += 1,
            _ if word.starts_with("raidz") || word.starts_with("draid") => parity = true,
            _ if word.starts_with('/') => group.paths.push(word.to_owned()),
            _ => {}
        }
        group.layout = match (mirrors, parity) {
            (0, false) => Some(Layout::btrfs(Profile::Raid0)),
            (1, false) => Some(Layout::btrfs(Profile::Raid1)),
            (_, false) => Some(Layout::btrfs(Profile::Raid10)),
            (_, true) => None,
        };
    }
    groups
}
