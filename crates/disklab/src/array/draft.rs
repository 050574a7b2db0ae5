//! Drafts an array file from the facts known about a machine's disks.

use std::collections::BTreeMap;

use disklab_config::device::{Device, Model};
use disklab_config::layout::{Layout, Profile};
use disklab_config::machine::groups::DiskGroup;
use disklab_config::machine::lsblk::ListedDisk;
use disklab_units::Bytes;
use disklab_units::prose::{count, visible};

#[derive(Debug)]
pub struct Draft {
    layout: Layout,
    /// The reason for this layout.
    reason: String,
    /// Disks of the array, each with the lab's device for it.
    disks: Vec<(ListedDisk, String)>,
    /// Remarks about other groups, and about tools that gave no answer.
    remarks: Vec<String>,
}

impl Draft {
    /// Drafts the group with most disks, or all disks if no group has two.
    pub fn new(
        devices: &BTreeMap<String, Device>,
        disks: &[ListedDisk],
        groups: &[DiskGroup],
        unasked: Vec<String>,
    ) -> Result<Self, String> {
        if disks.is_empty() {
            return Err("lsblk lists no disk on this machine".to_owned());
        }
        let joined: Vec<(&DiskGroup, Vec<ListedDisk>)> = groups
            .iter()
            .map(|group| (group, members(group, disks)))
            .filter(|(_, members)| members.len() > 1)
            .collect();
        // The first one of several groups of this size is chosen.
        let chosen = joined.iter().rev().max_by_key(|(_, members)| members.len());
        let guess = Layout::btrfs(Profile::Raid1);
        let (wanted, reason, chosen_disks) = if let Some((group, members)) = chosen {
            let reason = match group.layout {
                Some(_) => group.name.clone(),
                None => {
                    format!("{}; disklab does not know its profile: set `join` to it", group.name)
                }
            };
            (group.layout.unwrap_or(guess), reason, members.clone())
        } else {
            let reason = "no two disks of this machine form an array: this file joins all of them"
                .to_owned();
            (guess, reason, disks.to_vec())
        };
        let layout =
            if chosen_disks.len() < wanted.devices_min() { Layout::SINGLE } else { wanted };
        let others =
            joined.iter().filter(|other| chosen.is_none_or(|chosen| !std::ptr::eq(*other, chosen)));
        let mut remarks: Vec<String> = others
            .map(|(group, members)| {
                let paths: Vec<&str> = members.iter().map(|disk| disk.path.as_str()).collect();
                format!("also on this machine: {} on {}", group.name, paths.join(", "))
            })
            .collect();
        remarks.extend(unasked.into_iter().map(|tool| format!("not asked: {tool}")));
        let with_device = |disk: ListedDisk| {
            let device = nearest(devices, &disk)?;
            Ok((disk, device))
        };
        let disks = chosen_disks.into_iter().map(with_device).collect::<Result<_, String>>()?;
        Ok(Self { layout, reason, disks, remarks })
    }

    pub fn file(&self) -> String {
        let remarks = self.remarks.iter().map(|remark| format!("# {}\n", visible(remark)));
        let disk = |(disk, device): &(ListedDisk, String)| {
            format!("    \"{device}\", # {}\n", visible(&words(disk)))
        };
        format!(
            "# Drafted by `disklab array new --from-machine`: {}.\n{}# Each device is the lab's \
             nearest in kind and size. To measure a disk of your own:\n# disklab calibrate PATH -o \
             lab/devices/NAME.toml, and write NAME here.\nsummary = \"{} of this machine, \
             {layout}\"\njoin = \"{layout}\"\ndevices = [\n{}]\n",
            visible(&self.reason),
            remarks.collect::<String>(),
            count(self.disks.len(), "disk"),
            self.disks.iter().map(disk).collect::<String>(),
            layout = self.layout,
        )
    }

    pub fn json(&self) -> serde_json::Value {
        let disk = |(disk, device): &(ListedDisk, String)| {
            serde_json::json!({
                "path": disk.path, "bytes": disk.bytes.0, "rotational": disk.rotational,
                "model": disk.model, "stand_in": device,
            })
        };
        serde_json::json!({
            "join": self.layout.to_string(),
            "ground": self.reason,
            "disks": self.disks.iter().map(disk).collect::<Vec<_>>(),
            "remarks": self.remarks,
        })
    }
}

/// Returns the disks that hold a group's paths, each once, in the group's order.
fn members(group: &DiskGroup, disks: &[ListedDisk]) -> Vec<ListedDisk> {
    let mut found: Vec<ListedDisk> = Vec::new();
    for path in &group.paths {
        for disk in disks.iter().filter(|disk| disk.paths.contains(path)) {
            if !found.contains(disk) {
                found.push(disk.clone());
            }
        }
    }
    found
}

fn words(disk: &ListedDisk) -> String {
    let kind = if disk.rotational { "turns" } else { "does not turn" };
    let model = disk.model.as_deref().unwrap_or("of no name");
    format!("{}: {model}, {}, {kind}", disk.path, disk.bytes)
}

/// Returns the lab's device of the same kind whose size is nearest, by ratio.
fn nearest(devices: &BTreeMap<String, Device>, disk: &ListedDisk) -> Result<String, String> {
    // Devices with one constant service time serve theory and resemble no disk.
    let alike = devices.values().filter(|device| {
        device.model.rotational() == disk.rotational && !matches!(device.model, Model::Constant(_))
    });
    let apart = |bytes: Bytes| (bytes.0.max(1) as f64 / disk.bytes.0.max(1) as f64).ln().abs();
    let found = alike.min_by(|a, b| apart(a.bytes).total_cmp(&apart(b.bytes)));
    found.map(|device| device.name.clone()).ok_or_else(|| {
        let kind = if disk.rotational { "turns" } else { "does not turn" };
        format!(
            "no device of the lab is like {}, which {kind}; measure the disk with `disklab \
             calibrate` first",
            disk.path
        )
    })
}

#[cfg(test)]
mod tests;
