//! Measures of a trial's snapshots, and of the growth of its filesystems.

use disklab_config::Trial;
use disklab_config::suite::metric;
use disklab_protocol::step::{SnapshotSummary, SpaceUsed, Step};
use disklab_results::measure::{Better, Measure, Measures};

/// Half a snapshot: fewer missed snapshots cannot be distinguished from none.
const HALF: f64 = 0.5;

/// Returns no measures for a trial without snapshots. The error says why measures are missing.
pub fn measures(trial: &Trial, steps: &[Step]) -> Result<Measures, String> {
    let mut measures = Measures::new();
    if trial.background.as_ref().is_some_and(|background| background.snapshots.is_some()) {
        let seen = steps.iter().rev().find_map(|step| match step {
            Step::Snapshots { seen } => Some(seen),
            _ => None,
        });
        let seen = seen.ok_or("the guest reports nothing about snapshots")?;
        add_taken(seen, &mut measures);
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

fn add_taken(seen: &SnapshotSummary, measures: &mut Measures) {
    let mut add = |name: &str, measure| measures.insert(name.to_owned(), measure);
    add(metric::SNAPSHOTS_TAKEN, share(seen.taken, seen.due));
    // A delay is undefined if no snapshot was taken.
    if seen.taken > 0 {
        add(metric::SNAPSHOT_DELAY, Measure::time(seen.mean_delay_ns as f64));
        add(metric::LONGEST_SNAPSHOT_DELAY, Measure::time(seen.longest_delay_ns as f64));
    }
    let Some(replication) = &seen.replication else { return };
    add(metric::SNAPSHOTS_REPLICATED, share(replication.replicated, seen.due));
    add(metric::REPLICATIONS_DONE, share(replication.done, replication.due));
    if replication.replicated > 0 {
        add(metric::REPLICATION_LAG, Measure::time(replication.mean_lag_ns as f64));
        add(metric::LONGEST_REPLICATION_LAG, Measure::time(replication.longest_lag_ns as f64));
    }
}

/// Returns a number in per cent of the snapshots that were due.
fn share(done: u64, due: u64) -> Measure {
    let percent = |count: f64| count * 100.0 / due.max(1) as f64;
    Measure { least: Some(percent(HALF)), ..Measure::rate(percent(done as f64), "%") }
}
