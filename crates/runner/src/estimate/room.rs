//! The room that prepared disks take on the host.

use crate::describe::{fsload, startup};
use disklab_config::{Layout, Trial};
use disklab_units::Bytes;

/// Room that an empty filesystem takes on each disk.
const EMPTY_FILESYSTEM: Bytes = Bytes::mib(16);

/// Bytes of data per byte of metadata. btrfs keeps 4 bytes of checksum for 4096 of data, in trees
/// that are about half full, and its extents beside them.
const DATA_PER_METADATA: u64 = 400;

/// Bytes of cached data per byte of keys. bcache keeps a key for each piece that it caches, and
/// rewrites its trees elsewhere: 4 MB for a GiB were measured.
const CACHE_PER_KEYS: u64 = 200;

/// Bytes of metadata for a fragment. btrfs keeps items of it in three trees that are about half
/// full.
const METADATA_PER_FRAGMENT: u64 = 512;

/// Returns the largest room that preparing takes on the host.
pub fn room(trial: &Trial) -> Bytes {
    if trial.array.layout == Layout::SINGLE {
        return Bytes(0);
    }
    let copies = u64::from(trial.array.copies());
    let trees = trial.background.as_ref().and_then(|background| background.trees);
    let beside = trial.background.as_ref().and_then(|background| background.workload.as_ref());
    let beside = beside.map(disklab_config::Workload::bytes).unwrap_or_default();
    let fragments = trees.map_or(0, |trees| trees.fragments());
    // A replica holds the same data again.
    let replicas = trial
        .array
        .replica
        .as_ref()
        .map_or(0, |replica| u64::from(replica.layout.copies(replica.devices.len())));
    let metadata = ((trial.workload.bytes().0 + beside.0) / DATA_PER_METADATA
        + fragments * METADATA_PER_FRAGMENT)
        * (copies + replicas);
    let cache =
        trial.array.cache.as_ref().and_then(|_| trial.devices.get(trial.array.devices.len()));
    let keys = cache.map_or(0, |device| device.used.0) / CACHE_PER_KEYS;
    let made = trial.background.as_ref().map(|background| background.room).unwrap_or_default();
    let programs = trial.workload.phases().map(|phases| phases.room).unwrap_or_default();
    let contents = (startup::room(trial) + fsload::room(trial) + made + programs).0 * copies;
    Bytes(metadata + keys + contents + EMPTY_FILESYSTEM.0 * trial.devices.len() as u64)
}
