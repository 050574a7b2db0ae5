//! What became of the snapshots of a trial, and how much fuller its filesystems got.

use crate::evidence;
use disklab_config::Trial;
use disklab_config::suite::metric;
use disklab_guest::snapshots::{SPACE, STEP, Seen, Used};
use disklab_protocol::names;
use disklab_results::measure::{Better, Measure, Measures};

/// Of a snapshot: that none was missed cannot be told from less than half of one.
const HALF: f64 = 0.5;

/// Nothing where there were none. The error says why there is nothing where there should be.
pub fn measures(trial: &Trial, steps: &[u8]) -> Result<Measures, String> {
    let mut measures = Measures::new();
    if trial.background.as_ref().is_some_and(|background| background.snapshots.is_some()) {
        let step = evidence::step(steps, STEP).ok_or("the guest says nothing of snapshots")?;
        let seen: Seen =
            serde_json::from_value(step["seen"].clone()).map_err(|e| format!("{STEP}: {e}"))?;
        measures.extend(taken(&seen).map(|(name, measure)| (name.to_owned(), measure)));
        measures.extend(replicated(&seen).map(|(name, measure)| (name.to_owned(), measure)));
    }
    let used = used(steps)?;
    if let Some((before, after)) = used.first().zip(used.last()).filter(|_| used.len() > 1) {
        let growth = |from: u64, to: u64| Measure {
            value: to as f64 - from as f64,
            unit: "bytes".to_owned(),
            better: Better::Lower,
            censored: false,
            least: Some(1.0),
            of: None,
        };
        measures.insert(metric::POOL_GROWTH.to_owned(), growth(before.pool, after.pool));
        let replica = before.replica.zip(after.replica).map(|(from, to)| growth(from, to));
        measures.extend(replica.map(|growth| (metric::REPLICA_GROWTH.to_owned(), growth)));
    }
    Ok(measures)
}

fn taken(seen: &Seen) -> impl Iterator<Item = (&'static str, Measure)> {
    let delays = [
        (metric::SNAPSHOT_DELAY, seen.mean_delay_ns),
        (metric::LONGEST_SNAPSHOT_DELAY, seen.longest_delay_ns),
    ];
    // Of none there is no delay.
    let delays = delays.map(|(name, ns)| (name, Measure::time(ns as f64))).into_iter();
    let delays = delays.filter(|_| seen.taken > 0).collect::<Vec<_>>();
    [(metric::SNAPSHOTS_TAKEN, share(seen.taken, seen.due))].into_iter().chain(delays)
}

fn replicated(seen: &Seen) -> impl Iterator<Item = (&'static str, Measure)> {
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
    Measure {
        value: percent(done as f64),
        unit: "%".to_owned(),
        better: Better::Higher,
        censored: false,
        least: Some(percent(HALF)),
        of: None,
    }
}

fn used(steps: &[u8]) -> Result<Vec<Used>, String> {
    let lines = steps.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    let mut all = Vec::new();
    for line in lines {
        let step: serde_json::Value =
            serde_json::from_slice(line).map_err(|e| format!("{}: {e}", names::STEPS))?;
        if step["step"] == SPACE {
            all.push(
                serde_json::from_value(step["used"].clone())
                    .map_err(|e| format!("{SPACE}: {e}"))?,
            );
        }
    }
    Ok(all)
}
