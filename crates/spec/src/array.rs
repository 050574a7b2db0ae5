//! `lab/arrays/*.toml`: the disks of an experiment and how they are joined.
//!
//! ```toml
//! summary = "two equal disks in btrfs raid1"
//! join = "btrfs-raid1"               # or single, btrfs-single, -raid0, -raid1c3, -raid1c4, -raid10
//! part = "900 GiB"                   # may be left out: use only so much of each disk, from its outer edge
//! devices = ["nas-4tb", "nas-4tb"]   # in the order of btrfs's device ids, which begin at 1
//! ```

use std::collections::BTreeMap;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::device::{BLOCK, Device};
use crate::join::Join;
use crate::read::{Located, Table, unknown};

/// Disks and how they are joined.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Its file's name.
    pub name: String,
    /// One line for people.
    pub summary: String,
    pub join: Join,
    /// Only so much of each disk is used, from its first sector on: a partition at the outer edge.
    pub part: Option<Bytes>,
    /// By name, in the order of btrfs's device ids.
    pub devices: Vec<String>,
}

/// Devices as they were read; `None` where the file was there and had mistakes.
pub type Devices = BTreeMap<String, Option<Device>>;

/// As many as the guest's driver takes (`disklab_guest::machine::MOST_DISKS`).
const DEVICES_MAX: usize = 128;
/// mkfs.btrfs refuses smaller devices (its own limit is 109 MiB or more, by profile).
const SMALLEST_FOR_BTRFS: Bytes = Bytes::mib(128);

impl Array {
    /// Reads a file's top table; `name` is the file's.
    pub fn read(name: &str, table: &Table<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let summary = table.required("summary");
        let join = table.required::<Join>("join");
        let part = table.optional::<Bytes>("part");
        let devices = table.required_list::<String>("devices");
        for device in &devices {
            check_device(table, catalogue, device, join, part);
        }
        if let Some(join) = join {
            check_count(table, join, devices.len());
        }
        if devices.len() > DEVICES_MAX {
            table
                .wrong("devices", format!("{} are more than a guest can have: {DEVICES_MAX}", devices.len()));
        }
        let array = Self {
            name: name.to_owned(),
            summary: summary?,
            join: join?,
            part: part.map(|part| Bytes(part.0 / BLOCK * BLOCK)),
            devices: devices.into_iter().map(|device| device.value).collect(),
        };
        Some(array)
    }

    /// Copies of each block that a read can be served from. With 1, a read policy has no choice.
    pub fn mirrors(&self) -> u32 {
        self.join.mirrors()
    }

    /// What the array holds in data, before metadata. `devices` are its own, already cut to `part`.
    pub fn usable_bytes(&self, devices: &[Device]) -> Bytes {
        let sizes: Vec<_> = devices.iter().map(|device| device.used).collect();
        self.join.usable(&sizes)
    }

    /// The largest file that fits beside the metadata that it needs.
    pub fn largest_file(&self, devices: &[Device]) -> Bytes {
        let usable = self.usable_bytes(devices);
        match self.join {
            Join::Single => usable,
            // A first metadata chunk and system chunk, and about 0.2 % for checksums and extents; twice that is left.
            Join::Btrfs(_) => usable.saturating_sub(Bytes::mib(300) + usable / 250).min(usable / 10 * 9),
        }
    }
}

fn check_device(
    table: &Table<'_, '_>,
    catalogue: &Devices,
    device: &Located<String>,
    join: Option<Join>,
    part: Option<Bytes>,
) {
    let Located { value: name, place } = device;
    let Some(known) = catalogue.get(name) else {
        table.wrong_at(place, unknown("device", name, catalogue.keys().map(String::as_str)));
        return;
    };
    // Where its own file is wrong, that is said there.
    let Some(Device { bytes, .. }) = known else { return };
    let used = part.unwrap_or(*bytes);
    if used > *bytes {
        table.wrong_at(place, format!("`{name}` has only {bytes}, less than the part to use, {used}"));
    }
    if matches!(join, Some(Join::Btrfs(_))) && used < SMALLEST_FOR_BTRFS {
        let message =
            format!("{used} of `{name}` is too little for btrfs: at least {SMALLEST_FOR_BTRFS} of each disk");
        table.wrong_at(place, message);
    }
    if used.0 < BLOCK {
        table.wrong("part", format!("{used} is less than a block: at least {}", Bytes(BLOCK)));
    }
}

fn check_count(table: &Table<'_, '_>, join: Join, devices: usize) {
    if devices == 0 {
        // Already said.
        return;
    }
    let min = join.devices_min();
    if devices < min {
        table.wrong("devices", format!("{join} needs at least {min} devices, here are {devices}"));
    }
    if join == Join::Single && devices > 1 {
        table.wrong(
            "devices",
            format!("single takes one device, here are {devices}; for several there is btrfs-single"),
        );
    }
}
