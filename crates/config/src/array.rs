//! `lab/arrays/*.toml`: the disks of an experiment and how they are joined.
//!
//! ```toml
//! summary = "two equal disks in btrfs raid1"
//! join = "btrfs-raid1"               # see layout.rs for all: xfs-on-md-raid10, ext4, single, ...
//! # may be left out: the used part of each disk, from its outer edge
//! part = "900 GiB"
//! devices = ["nas-4tb", "nas-4tb"]   # in the order of btrfs's device ids, which begin at 1
//! # may be left out: bare disks with links of their own; a spare replaces one of the devices
//! spares = ["nas-4tb"]
//!
//! [cache]                            # may be left out: see cache.rs
//!
//! [controller]                       # may be left out: see controller.rs
//!
//! [host]                             # may be left out: see host.rs
//!
//! [replica]                          # may be left out: see replica.rs
//! ```

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::controller::Controller;
use crate::device::{BLOCK, Device, whole_blocks};
use crate::host::HostTime;
use crate::layout::{Filesystem, Layout};
use crate::member::{Devices, check_member};
use crate::read::{TomlTable, given, values};
use crate::replica::Replica;

/// Disks, and the layout that joins them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Array {
    /// Name of the array's file, without `.toml`.
    pub name: String,
    /// Summary of one line for people.
    pub summary: String,
    #[serde(rename = "join")]
    pub layout: Layout,
    /// Size of the used part of each disk, from its first sector on: a partition at the outer edge.
    #[serde(rename = "part")]
    pub partition_size: Option<Bytes>,
    /// Names of the devices, in the order of btrfs's device ids.
    pub devices: Vec<String>,
    /// Names of the spare disks, which are bare. Their used parts are as large as those of the
    /// other disks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spares: Vec<String>,
    /// The bcache device in front of all `devices`.
    pub cache: Option<Cache>,
    /// The controller that all of `devices` share. Without one, each has a link of its own.
    pub controller: Option<Controller>,
    /// The time that the machine takes for each request, for all disks. Without this table, it
    /// takes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostTime>,
    /// A second pool, on disks of its own, for replicated snapshots.
    pub replica: Option<Replica>,
}

/// Largest number of disks that the guest's driver takes (`disklab_trace::MOST_DISKS`).
const DEVICES_MAX: usize = 128;
/// Smallest size for md, which leaves room for its superblock and bitmap, and for some data.
const SMALLEST_FOR_MD: Bytes = Bytes::mib(16);

impl Array {
    /// Reads the top table of an array's file; `name` is the file's name.
    pub fn read(name: &str, table: &TomlTable<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let summary = table.required("summary");
        let layout = table.required::<Layout>("join");
        let partition_size = table.optional::<Bytes>("part");
        let devices = table.required_list::<String>("devices");
        let purpose = match layout.map(|layout| (layout.filesystem(), layout.raid())) {
            Some((Some(filesystem), _)) => (filesystem.as_str(), filesystem.smallest()),
            Some((None, Some(_))) => ("md", SMALLEST_FOR_MD),
            Some((None, None)) | None => ("a disk", Bytes(BLOCK)),
        };
        let spares = table.list::<String>("spares");
        for device in devices.iter().chain(&spares) {
            check_member(table, catalogue, device, partition_size, purpose);
        }
        let cache = table.table("cache");
        let read_cache = cache.as_ref().map(|cache| Cache::read(cache, catalogue));
        let controller = table.optional_table("controller", Controller::from_table);
        let host = table.optional_table("host", HostTime::from_table);
        if let Some(layout) = layout {
            layout.check_count(table, devices.len());
        }
        let replica = table.table("replica");
        let read_replica = replica.as_ref().map(|replica| Replica::read(replica, catalogue));
        let known_replica = read_replica.as_ref().and_then(Option::as_ref);
        let replica_disks = known_replica.map_or(0, |replica| replica.devices.len());
        let disks = devices.len() + spares.len() + usize::from(cache.is_some()) + replica_disks;
        table.refuse_if(disks > DEVICES_MAX, "devices", || {
            format!("{disks} disks are out of range (1 to {DEVICES_MAX})")
        });
        if let (Some(layout), Some(cache)) = (layout, &cache) {
            cache.refuse_if(!matches!(layout, Layout::Btrfs(_)), "", || {
                format!("a cache is in front of the disks of one btrfs; `{layout}` has none")
            });
        }
        if let (Some(layout), Some(table)) = (layout, &replica) {
            let sent = layout.filesystem();
            let other = known_replica.map(|replica| replica.layout);
            if !matches!(sent, Some(Filesystem::Btrfs | Filesystem::Zfs)) {
                let message = format!("a replica needs snapshots, and `{layout}` has none");
                table.wrong("", message);
            } else if let Some(other) = other.filter(|other| other.filesystem() != sent) {
                table.wrong("join", format!("`{other}` cannot receive what `{layout}` sends"));
            }
        }
        Some(Self {
            name: name.to_owned(),
            summary: summary?,
            layout: layout?,
            partition_size: partition_size.map(whole_blocks),
            devices: values(devices),
            spares: values(spares),
            cache: given(read_cache)?,
            controller: controller?,
            host: host?,
            replica: given(read_replica)?,
        })
    }

    /// Returns the array with `disks` disks: its own devices repeated in their order, or the first
    /// of them. Fails if the number is out of range or the layout does not take that number.
    pub(crate) fn with_disks(&self, disks: usize) -> Result<Self, String> {
        if disks == 0 || disks > DEVICES_MAX {
            return Err(format!("{disks} disks are out of range (1 to {DEVICES_MAX})"));
        }
        let devices = self.devices.iter().cycle().take(disks).cloned().collect();
        match self.layout.wrong_count(disks) {
            Some(message) => Err(format!("array `{}`: {message}", self.name)),
            None => Ok(Self { devices, ..self.clone() }),
        }
    }

    /// Returns the array with `drive` in the place of each disk that it replaces. `devices` are the
    /// disks of the array, its cache, its spares and its replica.
    pub(crate) fn with_drive(&self, devices: &[Device], drive: &Device) -> Self {
        let mut array = self.clone();
        let cache = array.cache.as_mut().map(|cache| &mut cache.device);
        let replica = array.replica.iter_mut().flat_map(|replica| &mut replica.devices);
        let names = array.devices.iter_mut().chain(cache).chain(&mut array.spares).chain(replica);
        for (name, _) in names.zip(devices).filter(|(_, disk)| drive.replaces(disk)) {
            name.clone_from(&drive.name);
        }
        array
    }

    /// Returns the number of copies of each block of data.
    pub fn copies(&self) -> u32 {
        self.layout.copies(self.devices.len())
    }

    /// Returns the bytes of data that the array can hold, before metadata. `devices` are the
    /// array's own, already cut to their used parts.
    pub fn usable_bytes(&self, devices: &[Device]) -> Bytes {
        self.layout.usable_of(&devices[..self.devices.len().min(devices.len())])
    }

    /// Returns the range of the replica's disks among the disks of a trial.
    pub fn replica_disks(&self) -> std::ops::Range<usize> {
        let first = self.devices.len() + usize::from(self.cache.is_some()) + self.spares.len();
        first..first + self.replica.as_ref().map_or(0, |replica| replica.devices.len())
    }

    /// Returns the size of the largest file that fits beside the metadata that it needs.
    pub fn largest_file(&self, devices: &[Device]) -> Bytes {
        self.layout.largest_file(self.usable_bytes(devices))
    }
}
