//! The names of what trials measure, as suites and results write them.

/// Bytes a second that all disks together read, over the window that all jobs have in common, or a
/// phase.
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
/// Of a phase, behind its name: from its begin until it is done, and what fio wrote is on the
/// disks.
pub const TIME: &str = "time";
/// Of a phase, behind its name: the bytes of its jobs by its time.
pub const BANDWIDTH: &str = "bandwidth";
/// Of a phase, behind its name, and before the names of its reader's results.
pub const READER: &str = "reader";
/// Of a phase's reader.
pub const OF_A_READER: [&str; 5] = ["iops", "mean", "p50", "p99", "p99.9"];

/// Operations a second of our own workload engine; after the name of an operation, of that alone.
pub const OPS: &str = "ops";
/// After the name of a kind of threads: how many loops they do a second.
pub const LOOPS: &str = " loops";

/// Of the snapshots that were due, those that were taken, per cent.
pub const SNAPSHOTS_TAKEN: &str = "snapshots taken";
/// Of the snapshots that were due, those that reached the replica, per cent.
pub const SNAPSHOTS_REPLICATED: &str = "snapshots replicated";
/// From when a snapshot was due until it was there, on average.
pub const SNAPSHOT_DELAY: &str = "snapshot delay";
/// The longest of these.
pub const LONGEST_SNAPSHOT_DELAY: &str = "longest snapshot delay";
/// Of the replications that were due, those that sent all that was to be sent, per cent.
pub const REPLICATIONS_DONE: &str = "replications done";
/// From when a snapshot was there until the replica had it, on average over those that it has.
pub const REPLICATION_LAG: &str = "replication lag";
/// The longest of these.
pub const LONGEST_REPLICATION_LAG: &str = "longest replication lag";
/// By how much more of the pool is in use in the end than when the measured workload was started.
pub const POOL_GROWTH: &str = "pool growth";
/// The same of the replica.
pub const REPLICA_GROWTH: &str = "replica growth";
