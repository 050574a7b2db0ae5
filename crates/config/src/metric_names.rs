//! The names of the metrics of trials, as suites and results write them.

/// Bytes per second that all disks together read, over the window that all jobs have in common or
/// over a phase.
pub const READ: &str = "read from disks";
/// Bytes per second that all disks together wrote, every copy counted.
pub const WRITTEN: &str = "written to disks";
/// Time from exec until the program is ready.
pub const STARTUP: &str = "start-up";
/// Time from a player's start until the first frame can be shown.
pub const FIRST_FRAME: &str = "first frame";
/// Share of the due frames that were never shown because their data came too late, in per cent.
pub const FRAMES_LOST: &str = "frames lost";
/// Share of the due frames that were shown late, in per cent.
pub const FRAMES_LATE: &str = "frames late";
/// The longest time for which a player showed the same frame beyond that frame's own time.
pub const LONGEST_STALL: &str = "longest stall";
/// Number of power cuts after which all promised data was found.
pub const SURVIVED: &str = "power cuts survived";
/// Time of a phase, from its beginning until it is done and fio's writes are on the disks. The
/// phase's name precedes this word.
pub const TIME: &str = "time";
/// Bytes of a phase's jobs divided by the phase's time. The phase's name precedes this word.
pub const BANDWIDTH: &str = "bandwidth";
/// Prefix of the results of a phase's reader. It stands between the phase's name and the name of
/// the result.
pub const READER: &str = "reader";
/// Names of the results of a phase's reader.
pub const OF_A_READER: [&str; 5] = ["iops", "mean", "p50", "p99", "p99.9"];

/// Operations per second of our own workload engine: of all operations, or of the one whose name
/// precedes this word.
pub const OPS: &str = "ops";
/// Loops per second of one kind of threads. The name of the kind precedes this word.
pub const LOOPS: &str = " loops";

/// Share of the due snapshots that were taken, in per cent.
pub const SNAPSHOTS_TAKEN: &str = "snapshots taken";
/// Share of the due snapshots that reached the replica, in per cent.
pub const SNAPSHOTS_REPLICATED: &str = "snapshots replicated";
/// Mean time from when a snapshot was due until it existed.
pub const SNAPSHOT_DELAY: &str = "snapshot delay";
/// Longest time from when a snapshot was due until it existed.
pub const LONGEST_SNAPSHOT_DELAY: &str = "longest snapshot delay";
/// Share of the due replications that sent everything they had to send, in per cent.
pub const REPLICATIONS_DONE: &str = "replications done";
/// Mean time from when a snapshot existed until the replica had it, over the snapshots that the
/// replica has.
pub const REPLICATION_LAG: &str = "replication lag";
/// Longest time from when a snapshot existed until the replica had it.
pub const LONGEST_REPLICATION_LAG: &str = "longest replication lag";
/// Growth of the used space of the pool, from the start of the measured workload to the end.
pub const POOL_GROWTH: &str = "pool growth";
/// Growth of the used space of the replica over the same time.
pub const REPLICA_GROWTH: &str = "replica growth";
