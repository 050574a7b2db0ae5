//! The `[replica]` of an array: a second pool, on disks of its own, that receives the array's
//! snapshots.
//!
//! ```toml
//! [replica]
//! join = "btrfs-raid1"
//! part = "200 GiB"          # may be left out: size of the used part of each disk
//! devices = ["nas-12tb", "nas-12tb"]
//! ```
//!
//! btrfs sends to btrfs only, and ZFS to ZFS. Trials without replication have the replica too,
//! mounted and idle. So the cost of replication does not include the cost of more disks.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::device::{Device, whole_blocks};
use crate::layout::{Filesystem, Layout};
use crate::member::{Devices, check_member};
use crate::read::{TomlTable, values};

/// A pool to which snapshots are replicated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    #[serde(rename = "join")]
    pub layout: Layout,
    /// Size of the used part of each disk, from its first sector on.
    #[serde(rename = "part")]
    pub partition_size: Option<Bytes>,
    /// Names of the devices.
    pub devices: Vec<String>,
}

impl Replica {
    pub(crate) fn read(table: &TomlTable<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let layout = table.required::<Layout>("join");
        let partition_size = table.optional::<Bytes>("part");
        let devices = table.required_list::<String>("devices");
        let filesystem = layout.and_then(Layout::filesystem).unwrap_or(Filesystem::Btrfs);
        let purpose = (filesystem.as_str(), filesystem.smallest());
        for device in &devices {
            check_member(table, catalogue, device, partition_size, purpose);
        }
        if let Some(layout) = layout {
            layout.check_count(table, devices.len());
            let receives = matches!(layout, Layout::Btrfs(_) | Layout::ZfsMirrors);
            table.refuse_if(!receives, "join", || {
                let kinds = "a replica is btrfs-raid1 or such, or zfs-mirrors";
                format!("`{layout}` cannot receive snapshots: {kinds}")
            });
        }
        Some(Self {
            layout: layout?,
            partition_size: partition_size.map(whole_blocks),
            devices: values(devices),
        })
    }

    /// Returns the size of the largest file that fits beside the metadata that it needs. `devices`
    /// are the replica's own, cut to their used parts.
    pub fn largest_file(&self, devices: &[Device]) -> Bytes {
        self.layout.largest_file(self.layout.usable_of(devices))
    }
}
