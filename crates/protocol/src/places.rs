//! Paths that a plan's commands and the first process both use.

use serde::{Deserialize, Serialize};

/// The mount point of the filesystem.
pub const POOL: &str = "/mnt/pool";
/// The mount point of its replica.
pub const REPLICA: &str = "/mnt/replica";
/// The trial's folder, as the first process sees it.
pub const TRIAL: &str = "/mnt/trial";
/// The files of the program that is started; this folder is its root.
pub const ROOT: &str = "/mnt/pool/root";
/// The files of the file workload.
pub const FSLOAD: &str = "/mnt/pool/fsload";
/// The trees of a background.
pub const TREES: &str = "/mnt/pool/trees";

/// A filesystem of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    Pool,
    Replica,
}

impl Side {
    /// Returns the mount point.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Pool => POOL,
            Self::Replica => REPLICA,
        }
    }
}

/// The name of OpenZFS for mount(2).
pub const ZFS: &str = "zfs";
/// The pool of a trial, and that of its replica.
pub const ZFS_POOL: &str = "disklab";
pub const ZFS_REPLICA: &str = "disklab-replica";
/// The folder in a guest where OpenZFS finds its disks.
pub const ZFS_NODES: &str = "/dev/pool";

/// Returns the dataset of a pool that is mounted.
pub fn zfs_data(pool: &str) -> String {
    format!("{pool}/data")
}

/// Returns the dataset of a replica that receives what is sent.
pub fn zfs_copy(replica: &str) -> String {
    format!("{replica}/copy")
}

/// Returns the folder of the background's tree with this number, from 0.
pub fn tree(number: u32) -> String {
    format!("{TREES}/{number}")
}

/// The pipe through which jobs of phases report that they are ready or done.
pub const SAY: &str = "/tmp/phase.say";
/// A pipe that can be opened once a phase begins.
pub const GO: &str = "/tmp/phase.go";

/// Returns the line that a job of a phase writes to [`SAY`] before its first request.
pub fn ready(phase: &str) -> String {
    format!("ready {phase}")
}

/// Returns the line that a job of a phase writes to [`SAY`] when everything that it wrote is on the
/// disks.
pub fn over(phase: &str) -> String {
    format!("over {phase}")
}
