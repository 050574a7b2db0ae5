//! What became of the snapshots of a trial, and how much fuller its filesystems got.

use disklab_config::Trial;
use disklab_config::suite::metric;
use disklab_protocol::step::{SnapshotSummary, SpaceUsed, Step};
use disklab_results::measure::{Better, Measure, Measures};

/// Of a snapshot: that none was missed cannot be told from less than half of one.
const HALF: f64 = 0.5;

/// Nothing where there were none. The error says why there is nothing where there should be.
pub fn measures(trial: &Trial, steps: &[Step]) -> Result<Measures, String> {
    let mut measures = Measures::new();
    if trial.background.as_ref().is_some_and(|background| background.snapshots.is_some()) {
        let seen = steps.iter().rev().find_map(|step| match step {
            Step::Snapshots { seen } => Some(seen),
            _ => None,
        });
        let seen = seen.ok_or("the guest says nothing of snapshots")?;
        measures.extend(taken(seen).map(|(name, measure)| (name.to_owned(), measure)));
        measures.extend(replicated(seen).map(|(name, measure)| (name.to_owned(), measure)));
    }
    let used = steps.iter().filter_map(|step| match step {
        Step::Space { used } => Some(used),
        _ => None,
    });
    let used: Vec<&SpaceUsed> = used.collect();
    if let Some((before, after)) = used.first().zip(used.last()).filter(|_| used.len() > 1) {
        let growth = |from: u64, to: u64| Measure {
            better: Better::Lower,
            least: Some(1.0),
            ..Measure::rate(to as f64 - from as f64, "bytes")
        };
        measures.insert(metric::POOL_GROWTH.to_owned(), growth(before.pool, after.pool));
        let replica = before.replica.zip(after.replica).map(|(from, to)| growth(from, to));
        measures.extend(replica.map(|growth| (metric::REPLICA_GROWTH.to_owned(), growth)));
    }
    Ok(measures)
}

fn taken(seen: &SnapshotSummary) -> impl Iterator<Item = (&'static str, Measure)> {
    let delays = [
        (metric::SNAPSHOT_DELAY, seen.mean_delay_ns),
        (metric::LONGEST_SNAPSHOT_DELAY, seen.longest_delay_ns),
    ];
    // Of none there is no delay.
    let delays = delays.map(|(name, ns)| (name, Measure::time(ns as f64))).into_iter();
    let delays = delays.filter(|_| seen.taken > 0).collect::<Vec<_>>();
    [(metric::SNAPSHOTS_TAKEN, share(seen.taken, seen.due))].into_iter().chain(delays)
}

fn replicated(seen: &SnapshotSummary) -> impl Iterator<Item = (&'static str, Measure)> {
    let all = seen.replication.as_ref().map(|replication| {
        let lags = [
            (metric::REPLICATION_LAG, replication.mean_lag_ns),
            (metric::LONGEST_REPLICATION_LAG, replication.longest_lag_ns),
        ];
        let lags = lags.map(|(name, ns)| (name, Measure::time(ns as f64))).into_iter();
        let shares = [
            (metric::SNAPSHOTS_REPLICATED, share(replication.replicated, seen.due)),
            (metric::REPLICATIONS_DONE, share(replication.done, replication.due)),
        ];
        shares.into_iter().chain(lags.filter(|_| replication.replicated > 0)).collect::<Vec<_>>()
    });
    all.into_iter().flatten()
}

/// Per cent of those that were due.
fn share(done: u64, due: u64) -> Measure {
    let percent = |count: f64| count * 100.0 / due.max(1) as f64;
    Measure { least: Some(percent(HALF)), ..Measure::rate(percent(done as f64), "%") }
}
