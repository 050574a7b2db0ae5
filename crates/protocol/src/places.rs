//! Paths that a plan's commands and the first process both use.

use serde::{Deserialize, Serialize};

/// The mount point of the filesystem.
pub const POOL: &str = "/mnt/pool";
/// The mount point of its replica.
pub const REPLICA: &str = "/mnt/replica";
/// The trial's folder, as the first process sees it.
pub const TRIAL: &str = "/mnt/trial";
/// The files of a program that starts, which are its root.
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
    /// The mount point.
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Pool => POOL,
            Self::Replica => REPLICA,
        }
    }
}

/// mount(2)'s name of OpenZFS.
pub const ZFS: &str = "zfs";
/// The pool of a trial, and that of its replica.
pub const ZFS_POOL: &str = "disklab";
pub const ZFS_REPLICA: &str = "disklab-replica";
/// The folder in a guest where OpenZFS finds its disks.
pub const ZFS_NODES: &str = "/dev/pool";

/// The dataset of a pool that is mounted.
pub fn zfs_data(pool: &str) -> String {
    format!("{pool}/data")
}

/// The dataset of a replica that receives what is sent.
pub fn zfs_copy(replica: &str) -> String {
    format!("{replica}/copy")
}

/// The folder of a background's tree with this number, from 0.
pub fn tree(number: u32) -> String {
    format!("{TREES}/{number}")
}

/// The pipe by which jobs of phases report where they are.
pub const SAY: &str = "/tmp/phase.say";
/// A pipe that can be opened once a phase begins.
pub const GO: &str = "/tmp/phase.go";

/// The line that a job of a phase writes to [`SAY`] before its first request.
pub fn ready(phase: &str) -> String {
    format!("ready {phase}")
}

/// The line that it writes when all that it wrote is on the disks.
pub fn over(phase: &str) -> String {
    format!("over {phase}")
}
