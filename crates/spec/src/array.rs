//! `lab/arrays/*.toml`: the disks of an experiment and how they are joined.
//!
//! ```toml
//! summary = "two equal disks in btrfs raid1"
//! join = "btrfs-raid1"               # or single, btrfs-single, -raid0, -raid1c3, -raid1c4, -raid10
//! part = "900 GiB"                   # may be left out: use only so much of each disk, from its outer edge
//! devices = ["nas-4tb", "nas-4tb"]   # in the order of btrfs's device ids, which begin at 1
//!
//! [cache]                            # may be left out: see cache.rs
//!
//! [controller]                       # may be left out: see controller.rs
//! ```

use std::collections::BTreeMap;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::controller::Controller;
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
    /// In front of all of them.
    pub cache: Option<Cache>,
    /// That all of `devices` are behind. Without one, each has a link of its own.
    pub controller: Option<Controller>,
}

/// Devices as they were read; `None` where the file was there and had mistakes.
pub type Devices = BTreeMap<String, Option<Device>>;

/// As many as the guest's driver takes (`disklab_trace::MOST_DISKS`).
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
        let purpose = match join {
            Some(Join::Btrfs(_)) => ("btrfs", SMALLEST_FOR_BTRFS),
            Some(Join::Single) | None => ("a disk", Bytes(BLOCK)),
        };
        for device in &devices {
            check_device(table, catalogue, device, part, purpose);
        }
        let cache = table.table("cache").map(|cache| (Cache::read(&cache, catalogue), cache));
        let controller = table.table("controller").map(|controller| Controller::read(&controller));
        if let Some(join) = join {
            check_count(table, join, devices.len());
        }
        let disks = devices.len() + usize::from(cache.is_some());
        if disks > DEVICES_MAX {
            table.wrong("devices", format!("{disks} are more than a guest can have: {DEVICES_MAX}"));
        }
        if let (Some(Join::Single), Some((_, cache))) = (join, &cache) {
            cache.wrong("", "single is a bare disk, for tests; with a cache it has to be btrfs-single");
        }
        let array = Self {
            name: name.to_owned(),
            summary: summary?,
            join: join?,
            part: part.map(|part| Bytes(part.0 / BLOCK * BLOCK)),
            devices: devices.into_iter().map(|device| device.value).collect(),
            cache: cache.map_or(Some(None), |(cache, _)| cache.map(Some))?,
            controller: controller.map_or(Some(None), |controller| controller.map(Some))?,
        };
        Some(array)
    }

    /// Copies of each block that a read can be served from. With 1, a read policy has no choice.
    pub fn mirrors(&self) -> u32 {
        self.join.mirrors()
    }

    /// What the array holds in data, before metadata. `devices` are its own, already cut to what is used of them.
    pub fn usable_bytes(&self, devices: &[Device]) -> Bytes {
        let joined = devices.iter().take(self.devices.len());
        let sizes: Vec<_> = joined.map(|device| device.used).collect();
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

/// That a device is in the lab, and that what is used of it is there and enough for its purpose.
pub(crate) fn check_device(
    table: &Table<'_, '_>,
    catalogue: &Devices,
    device: &Located<String>,
    part: Option<Bytes>,
    (purpose, least): (&str, Bytes),
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
    if used < least {
        let message = format!("{used} of `{name}` is too little for {purpose}: at least {least} of each");
        table.wrong_at(place, message);
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
