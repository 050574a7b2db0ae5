//! What a suite wants compared.

use crate::read::{Located, Table, unknown};

/// Bytes a second that all disks together read, over the window that all jobs have in common.
pub const READ: &str = "read from disks";
/// Bytes a second that all disks together wrote, every copy counted.
pub const WRITTEN: &str = "written to disks";
/// From exec to ready.
pub const STARTUP: &str = "start-up";
/// From a player's start until the first frame can be shown.
pub const FIRST_FRAME: &str = "first frame";
/// Of the frames that were due, those whose data came too late to be shown, per cent.
pub const FRAMES_LOST: &str = "frames lost";
/// Of the frames that were due, those that were shown late, per cent.
pub const FRAMES_LATE: &str = "frames late";
/// For how long the same frame was shown at most, beyond its own time.
pub const LONGEST_STALL: &str = "longest stall";
/// After which everything that had been promised was found.
pub const SURVIVED: &str = "power cuts survived";

/// fio's, and what trials measure besides. fio's are also of one direction: `read p99`.
const FIO: [&str; 6] = ["iops", "bandwidth", "mean", "p50", "p99", "p99.9"];
const OTHERS: [&str; 8] =
    [SURVIVED, READ, WRITTEN, STARTUP, FIRST_FRAME, FRAMES_LOST, FRAMES_LATE, LONGEST_STALL];

/// Reads `metrics`; the first is what a run's last sentences are about. Empty: what is usual.
pub fn read(table: &Table<'_, '_>) -> Vec<String> {
    let metrics = table.list::<String>("metrics");
    for Located { value, place } in &metrics {
        let of_direction = value.strip_prefix("read ").or_else(|| value.strip_prefix("write "));
        let is_known = FIO.contains(&of_direction.unwrap_or(value)) || OTHERS.contains(&value.as_str());
        if !is_known {
            table.wrong_at(place, unknown("metric", value, FIO.into_iter().chain(OTHERS)));
        }
    }
    metrics.into_iter().map(|metric| metric.value).collect()
}
