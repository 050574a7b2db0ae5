//! The metrics that a suite compares.

use std::collections::BTreeSet;

use crate::fsload::{Fsload, Operation};
use crate::job_file;
pub use crate::metric_names::*;
use crate::read::{Diagnostic, SourcePlace, nearest, unknown};
use crate::workload::{Workload, WorkloadKind};

/// Latency metrics of an operation, in addition to [`OPS`].
const LATENCIES: [&str; 4] = ["mean", "p50", "p99", "max"];
/// Metrics of fio. Each is also available for one direction: `read p99`.
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

/// Returns the metrics of trials with these workloads, some of which run beside others. `cuts` says
/// whether there are power cuts, `snapshots` whether snapshots are taken.
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
            WorkloadKind::Fio(fio) => {
                known.extend(of_fio());
                let sections = fio.sections.iter();
                known.extend(
                    sections
                        .flat_map(|section| FIO.map(|what| job_file::metric(&section.name, what))),
                );
            }
        }
    }
    known
}

fn of_fio() -> impl Iterator<Item = String> {
    let each = |name: &str| [name.to_owned(), format!("read {name}"), format!("write {name}")];
    FIO.iter().flat_map(move |name| each(name)).chain(DISKS.map(str::to_owned))
}

/// Finds the metrics that nothing in the suite measures. If the axes are not those of the file,
/// `lenient` accepts metrics that other workloads have; these have no numbers then.
pub fn check(
    wanted: impl Iterator<Item = (String, SourcePlace)>,
    known: &BTreeSet<String>,
    lab: &BTreeSet<String>,
    lenient: bool,
) -> Vec<Diagnostic> {
    let others = [SURVIVED, STARTUP].into_iter().chain(PLAYER).map(str::to_owned);
    let others: BTreeSet<String> = others.chain(of_fio()).chain(lab.iter().cloned()).collect();
    let mistake = |(name, place): (String, SourcePlace)| {
        if known.contains(&name) || (lenient && others.contains(&name)) {
            return None;
        }
        let near = nearest(&name, known.iter().map(String::as_str));
        if others.contains(&name) && near.is_none() {
            let names = known.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            let message = format!("no workload of this suite has `{name}`; known: {names}");
            return Some(place.diagnostic(message));
        }
        // Suggests the nearest metric of the suite's own, if one is near.
        let names = if near.is_some() { known } else { &others };
        Some(place.diagnostic(unknown("metric", &name, names.iter().map(String::as_str))))
    };
    wanted.filter_map(mistake).collect()
}

/// Returns metrics such as `ops`, `create ops`, `read whole p99`, `reader loops`.
fn of_files(fsload: &Fsload) -> impl Iterator<Item = String> {
    let each = |operation: &Operation| {
        let name = operation.as_str();
        [OPS].into_iter().chain(LATENCIES).map(move |what| format!("{name} {what}"))
    };
    let loops = fsload.threads.iter().map(|threads| format!("{}{LOOPS}", threads.name));
    [OPS.to_owned()].into_iter().chain(Operation::ALL.iter().flat_map(each)).chain(loops)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::TomlReader;

    #[test]
    fn metrics_of_files_are_known() {
        let text = include_str!("../../../../lab/workloads/webproxy.toml");
        let read =
            TomlReader::new("webproxy", text).read(|table| Workload::read("webproxy", table));
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
