//! One block device of this machine: what tells it from all others.

use std::path::PathBuf;

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

/// A whole disk or a partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Disk {
    /// As it was named: `/dev/disk/by-id/...`, `/dev/sdb`.
    pub named: PathBuf,
    /// The kernel's name: `sdb`, `nvme0n1`, `loop3`.
    pub name: String,
    /// Major and minor number.
    pub number: (u32, u32),
    pub bytes: Bytes,
    pub rotational: bool,
    pub model: Option<String>,
    /// What its maker, or for a loop device its backing file, tells it from others by.
    pub serial: Option<String>,
}
