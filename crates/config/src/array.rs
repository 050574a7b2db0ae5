//! `lab/arrays/*.toml`: the disks of an experiment and how they are joined.
//!
//! ```toml
//! summary = "two equal disks in btrfs raid1"
//! join = "btrfs-raid1"               # see join.rs for all: xfs-on-md-raid10, ext4, single, ...
//! part = "900 GiB"                   # may be left out: use only so much of each disk, from its outer edge
//! devices = ["nas-4tb", "nas-4tb"]   # in the order of btrfs's device ids, which begin at 1
//! spares = ["nas-4tb"]               # may be left out: bare disks beside them, with links of their own, for what replaces one
//!
//! [cache]                            # may be left out: see cache.rs
//!
//! [controller]                       # may be left out: see controller.rs
//!
//! [replica]                          # may be left out: see replica.rs
//! ```

use std::collections::BTreeMap;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::controller::Controller;
use crate::device::{BLOCK, Device};
use crate::join::{Filesystem, Join};
use crate::read::{Located, Table, unknown};
use crate::replica::Replica;

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
    /// By name: bare disks that nothing is on yet, of which as much is used as of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<String>,
    /// In front of all of them.
    pub cache: Option<Cache>,
    /// That all of `devices` are behind. Without one, each has a link of its own.
    pub controller: Option<Controller>,
    /// A second pool, on disks of its own.
    pub replica: Option<Replica>,
}

/// Devices as they were read; `None` where the file was there and had mistakes.
pub type Devices = BTreeMap<String, Option<Device>>;

/// As many as the guest's driver takes (`disklab_trace::MOST_DISKS`).
const DEVICES_MAX: usize = 128;
/// Of each array, for superblocks and bitmaps.
const MD_KEEPS: Bytes = Bytes::mib(300);
/// Its superblock and bitmap, and something to hold.
const SMALLEST_FOR_MD: Bytes = Bytes::mib(16);

impl Array {
    /// Reads a file's top table; `name` is the file's.
    pub fn read(name: &str, table: &Table<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let summary = table.required("summary");
        let join = table.required::<Join>("join");
        let part = table.optional::<Bytes>("part");
        let devices = table.required_list::<String>("devices");
        let purpose = match join.map(|join| (join.filesystem(), join.raid())) {
            Some((Some(filesystem), _)) => (filesystem.as_str(), filesystem.smallest()),
            Some((None, Some(_))) => ("md", SMALLEST_FOR_MD),
            Some((None, None)) | None => ("a disk", Bytes(BLOCK)),
        };
        let spares = table.list::<String>("spares");
        for device in devices.iter().chain(&spares) {
            check_device(table, catalogue, device, part, purpose);
        }
        let cache = table.table("cache").map(|cache| (Cache::read(&cache, catalogue), cache));
        let controller = table.table("controller").map(|controller| Controller::read(&controller));
        if let Some(join) = join {
            check_count(table, join, devices.len());
        }
        let replica =
            table.table("replica").map(|replica| (Replica::read(&replica, catalogue), replica));
        let replicas = replica.iter().filter_map(|(replica, _)| replica.as_ref());
        let disks = devices.len()
            + spares.len()
            + usize::from(cache.is_some())
            + replicas.map(|replica| replica.devices.len()).sum::<usize>();
        if disks > DEVICES_MAX {
            table
                .wrong("devices", format!("{disks} are more than a guest can have: {DEVICES_MAX}"));
        }
        if let (Some(join @ (Join::On { .. } | Join::ZfsMirrors)), Some((_, cache))) =
            (join, &cache)
        {
            cache.wrong(
                "",
                format!("a cache is in front of the disks of one btrfs; `{join}` has none"),
            );
        }
        if let (Some(join), Some((other, table))) = (join, &replica) {
            match join.filesystem() {
                Some(one @ (Filesystem::Btrfs | Filesystem::Zfs)) => {
                    if let Some(other) =
                        other.as_ref().filter(|other| other.join.filesystem() != Some(one))
                    {
                        let message =
                            format!("`{}` cannot receive what `{join}` sends", other.join);
                        table.wrong("join", message);
                    }
                }
                _ => table
                    .wrong("", format!("nothing could be sent to it: `{join}` has no snapshots")),
            }
        }
        let array = Self {
            name: name.to_owned(),
            summary: summary?,
            join: join?,
            part: part.map(|part| Bytes(part.0 / BLOCK * BLOCK)),
            devices: devices.into_iter().map(|device| device.value).collect(),
            spares: spares.into_iter().map(|device| device.value).collect(),
            cache: cache.map_or(Some(None), |(cache, _)| cache.map(Some))?,
            controller: controller.map_or(Some(None), |controller| controller.map(Some))?,
            replica: replica.map_or(Some(None), |(replica, _)| replica.map(Some))?,
        };
        Some(array)
    }

    /// With so many disks: its own, again and again, or the first of them.
    pub(crate) fn with_disks(&self, disks: usize) -> Result<Self, String> {
        if disks == 0 || disks > DEVICES_MAX {
            return Err(format!(
                "{disks} is no number of disks that an array can have: from 1 to {DEVICES_MAX}"
            ));
        }
        let devices = self.devices.iter().cycle().take(disks).cloned().collect();
        match wrong_count(self.join, disks) {
            Some(message) => Err(format!("array `{}`: {message}", self.name)),
            None => Ok(Self { devices, ..self.clone() }),
        }
    }

    /// Copies of each block of data.
    pub fn copies(&self) -> u32 {
        self.join.copies(self.devices.len())
    }

    /// What the array holds in data, before metadata. `devices` are its own, already cut to what is
    /// used of them.
    pub fn usable_bytes(&self, devices: &[Device]) -> Bytes {
        let joined = devices.iter().take(self.devices.len());
        let sizes: Vec<_> = joined.map(|device| device.used).collect();
        self.join.usable(&sizes)
    }

    /// Where the replica's disks begin among those of a trial, and how many they are.
    pub fn replica_disks(&self) -> std::ops::Range<usize> {
        let first = self.devices.len() + usize::from(self.cache.is_some()) + self.spares.len();
        first..first + self.replica.as_ref().map_or(0, |replica| replica.devices.len())
    }

    /// The largest file that fits beside the metadata that it needs.
    pub fn largest_file(&self, devices: &[Device]) -> Bytes {
        largest_file(self.join, self.usable_bytes(devices))
    }
}

/// The largest file that fits into what disks hold that are joined so.
pub(crate) fn largest_file(join: Join, usable: Bytes) -> Bytes {
    match join.filesystem() {
        None => usable.saturating_sub(if join.raid().is_some() { MD_KEEPS } else { Bytes(0) }),
        // A first metadata chunk and system chunk, and about 0.2 % for checksums and extents; twice
        // that is left.
        Some(Filesystem::Btrfs) => {
            usable.saturating_sub(Bytes::mib(300) + usable / 250).min(usable / 10 * 9)
        }
        // Inodes take a 64th, a journal of 1 GiB at most, and what is kept back for root is kept
        // back from nobody.
        Some(Filesystem::Ext4 | Filesystem::Xfs) => {
            usable.saturating_sub(Bytes::mib(64)).min(usable / 10 * 9)
        }
        // Of each disk labels and what is no whole metaslab; a 32nd of all, or 128 MiB, which it
        // lets nobody write to.
        Some(Filesystem::Zfs) => usable
            .saturating_sub(Bytes::mib(64).max(usable / 32) + Bytes::mib(128))
            .min(usable / 10 * 9),
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
        table.wrong_at(
            place,
            format!("`{name}` has only {bytes}, less than the part to use, {used}"),
        );
    }
    if used < least {
        let message =
            format!("{used} of `{name}` is too little for {purpose}: at least {least} of each");
        table.wrong_at(place, message);
    }
}

/// That there are as many devices as the join takes.
pub(crate) fn check_count(table: &Table<'_, '_>, join: Join, devices: usize) {
    if let Some(message) = wrong_count(join, devices) {
        table.wrong("devices", message);
    }
}

/// Why a join does not take so many devices. Of none it is said where they are missing.
fn wrong_count(join: Join, devices: usize) -> Option<String> {
    let (min, step) = (join.devices_min(), join.devices_step());
    if devices == 0 {
        None
    } else if devices < min {
        Some(format!("{join} needs at least {min} devices, here are {devices}"))
    } else if !devices.is_multiple_of(step) {
        Some(format!("{join} takes {step} devices at a time, here are {devices}"))
    } else if join.is_for_one() && devices > 1 {
        Some(format!(
            "{join} takes one device, here are {devices}; for several there are btrfs-single and md-raid0"
        ))
    } else {
        None
    }
}
