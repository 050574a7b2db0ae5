//! The `[replica]` of an array: a second pool, on disks of its own, that takes what the array's
//! snapshots hold.
//!
//! ```toml
//! [replica]
//! join = "btrfs-raid1"
//! part = "200 GiB"          # may be left out: use only so much of each disk
//! devices = ["nas-12tb", "nas-12tb"]
//! ```
//!
//! btrfs sends to btrfs only, and ZFS to ZFS. It is there, mounted and idle, where nothing is
//! replicated too: what replication costs is then not the cost of more disks.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::array::{self, Devices};
use crate::device::{BLOCK, Device};
use crate::join::{Filesystem, Join};
use crate::read::Table;

/// A pool that snapshots are replicated to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Replica {
    pub join: Join,
    /// Only so much of each disk is used, from its first sector on.
    pub part: Option<Bytes>,
    /// By name.
    pub devices: Vec<String>,
}

impl Replica {
    pub(crate) fn read(table: &Table<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let join = table.required::<Join>("join");
        let part = table.optional::<Bytes>("part");
        let devices = table.required_list::<String>("devices");
        let filesystem = join.and_then(Join::filesystem).unwrap_or(Filesystem::Btrfs);
        for device in &devices {
            array::check_device(
                table,
                catalogue,
                device,
                part,
                (filesystem.as_str(), filesystem.smallest()),
            );
        }
        if let Some(join) = join {
            array::check_count(table, join, devices.len());
            if !matches!(join, Join::Btrfs(_) | Join::ZfsMirrors) {
                let message = format!(
                    "`{join}` cannot receive snapshots: a replica is btrfs-raid1 or such, or zfs-mirrors"
                );
                table.wrong("join", message);
            }
        }
        Some(Self {
            join: join?,
            part: part.map(|part| Bytes(part.0 / BLOCK * BLOCK)),
            devices: devices.into_iter().map(|device| device.value).collect(),
        })
    }

    /// The largest file that fits beside the metadata that it needs. `devices` are its own, cut to
    /// what is used.
    pub fn largest_file(&self, devices: &[Device]) -> Bytes {
        let sizes: Vec<_> = devices.iter().map(|device| device.used).collect();
        array::largest_file(self.join, self.join.usable(&sizes))
    }
}
