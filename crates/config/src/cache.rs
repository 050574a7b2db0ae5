//! The `[cache]` of an array: a device that the kernel's bcache puts in front of all its disks.
//!
//! ```toml
//! [cache]
//! device = "sata-ssd-1tb"
//! part = "100 GiB"          # may be left out: the size of its used part
//! mode = "writethrough"     # or writeback
//! ```
//!
//! At the start of a trial the cache holds the remains of laying out the workload's file through
//! it, with all copies of each block. So the size of the cache decides how many reads it answers.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::member::{Devices, check_member};
use crate::read::{Located, TomlTable, choices};

choices! {
    /// The write mode of the cache, in bcache's words.
    pub enum Mode: "cache mode" {
        /// A write completes when the disk has it.
        Writethrough = "writethrough",
        /// A write completes when the cache has it.
        Writeback = "writeback",
    }
}

/// A device in front of all disks of an array.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// Name of the device.
    pub device: String,
    /// Size of the used part of the device, from its first sector on.
    #[serde(rename = "part")]
    pub partition_size: Option<Bytes>,
    pub mode: Mode,
}

/// Smallest size of a cache. bcache refuses fewer than 513 buckets of 512 KiB, and keeps most of so
/// few for itself.
const SMALLEST: Bytes = Bytes::gib(1);

impl Cache {
    /// The kernel option that a cache needs, without `CONFIG_`.
    pub const NEEDS: &str = "BCACHE";

    pub(crate) fn read(table: &TomlTable<'_, '_>, catalogue: &Devices) -> Option<Self> {
        let device = table.required::<String>("device");
        let partition_size = table.optional::<Bytes>("part");
        let mode = table.required::<Mode>("mode");
        if let Some(device) = &device {
            let device = Located { value: device.clone(), place: table.place("device") };
            check_member(table, catalogue, &device, partition_size, ("a cache", SMALLEST));
        }
        Some(Self { device: device?, partition_size, mode: mode? })
    }
}
