//! What a suite wants compared.

use crate::fsload::{Fsload, Operation};
use std::collections::BTreeSet;

use crate::read::{Located, Mistake, Place, Table, nearest, unknown};
use crate::workload::{Workload, WorkloadKind};

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
/// Of an operation, besides [`OPS`].
const LATENCIES: [&str; 4] = ["mean", "p50", "p99", "max"];

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

/// fio's, and what trials measure besides. fio's are also of one direction: `read p99`.
const FIO: [&str; 6] = ["iops", "bandwidth", "mean", "p50", "p99", "p99.9"];
const DISKS: [&str; 2] = [READ, WRITTEN];
const PLAYER: [&str; 4] = [FIRST_FRAME, FRAMES_LOST, FRAMES_LATE, LONGEST_STALL];
const SNAPSHOTS: [&str; 9] = [
    SNAPSHOTS_TAKEN,
    SNAPSHOTS_REPLICATED,
    SNAPSHOT_DELAY,
    LONGEST_SNAPSHOT_DELAY,
    REPLICATIONS_DONE,
    REPLICATION_LAG,
    LONGEST_REPLICATION_LAG,
    POOL_GROWTH,
    REPLICA_GROWTH,
];

/// Reads `metrics`; the first is what a run's last sentences are about. Empty: what is usual.
/// Whether the suite's workloads have them is asked by [`check`].
pub fn read(table: &Table<'_, '_>) -> Vec<Located<String>> {
    table.list("metrics")
}

/// What is measured by one of these workloads, of which some run beside others; `cuts` where the
/// power goes, `snapshots` where some are taken.
pub fn of_workloads<'a>(
    workloads: impl Iterator<Item = &'a Workload>,
    cuts: bool,
    snapshots: bool,
) -> BTreeSet<String> {
    let mut known: BTreeSet<String> = cuts.then(|| SURVIVED.to_owned()).into_iter().collect();
    if snapshots {
        known.extend(SNAPSHOTS.map(str::to_owned));
    }
    for workload in workloads {
        match &workload.kind {
            WorkloadKind::Phases(phases) => known.extend(phases.metrics()),
            WorkloadKind::FileLoad(load) => known.extend(of_files(load)),
            WorkloadKind::Player { .. } => known.extend(PLAYER.map(str::to_owned)),
            WorkloadKind::Startup(_) => known.extend([STARTUP.to_owned()]),
            WorkloadKind::Fio(_) => known.extend(of_fio()),
        }
    }
    known
}

fn of_fio() -> impl Iterator<Item = String> {
    let each = |name: &str| [name.to_owned(), format!("read {name}"), format!("write {name}")];
    FIO.iter().flat_map(move |name| each(name)).chain(DISKS.map(str::to_owned))
}

/// Finds the metrics that nothing of the suite has. `lenient` where its axes are not those of its
/// file: what other workloads have is then taken, and has no numbers.
pub fn check(
    wanted: impl Iterator<Item = (String, Place)>,
    known: &BTreeSet<String>,
    lab: &BTreeSet<String>,
    lenient: bool,
) -> Vec<Mistake> {
    let others: BTreeSet<String> =
        [SURVIVED, STARTUP].iter().chain(&PLAYER).map(|&it| it.to_owned()).collect();
    let others: BTreeSet<String> =
        others.into_iter().chain(of_fio()).chain(lab.iter().cloned()).collect();
    let mistake = |(name, place): (String, Place)| {
        if known.contains(&name) || (lenient && others.contains(&name)) {
            return None;
        }
        let near = nearest(&name, known.iter().map(String::as_str));
        if others.contains(&name) && near.is_none() {
            let names: Vec<&str> = known.iter().map(String::as_str).collect();
            let message =
                format!("no workload of this suite has `{name}`; known: {}", names.join(", "));
            return Some(place.mistake(message));
        }
        // The nearest of the suite's own, if there is one.
        let names = if near.is_some() { known } else { &others };
        Some(place.mistake(unknown("metric", &name, names.iter().map(String::as_str))))
    };
    wanted.filter_map(mistake).collect()
}

/// `ops`, `create ops`, `read whole p99`, `reader loops`.
fn of_files(fsload: &Fsload) -> impl Iterator<Item = String> {
    let of = |operation: &Operation| {
        let name = operation.as_str();
        [OPS].into_iter().chain(LATENCIES).map(move |what| format!("{name} {what}"))
    };
    let loops = fsload.threads.iter().map(|threads| format!("{}{LOOPS}", threads.name));
    [OPS.to_owned()].into_iter().chain(Operation::ALL.iter().flat_map(of)).chain(loops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::Reader;

    #[test]
    fn metrics_of_files_are_known() {
        let text = include_str!("../../../../lab/workloads/webproxy.toml");
        let read = Reader::new("webproxy", text).read(|table| Workload::read("webproxy", table));
        let known = of_workloads([read.unwrap()].iter(), false, false);
        for name in ["ops", "create ops", "read whole p99", "fsync max", "make folder mean"] {
            assert!(known.contains(name), "{name}");
        }
        assert!(known.iter().any(|name| name.ends_with(LOOPS)), "{known:?}");
        for other in
            ["read p99", "read whole", "creates ops", "ops p99", "write whole p42", "writer loop"]
        {
            assert!(!known.contains(other), "{other}");
        }
    }
}
