//! Counts of snapshots: due, taken in time, replicated and deleted.

use disklab_protocol::step::{ReplicationSummary, Snapshot, SnapshotSummary};

/// Returns the number of the next snapshot, after `last` and at `now`, if one is due at 1, 2, 3
/// times `every`. Of those that came due during other work, only the last is taken.
pub fn next(last: u64, now: u64, every: u64) -> u64 {
    (last + 1).max(now / every.max(1))
}

/// Counts snapshots. `every` and `replicate_every` are the intervals; `replications` has the time
/// at which each replication ended.
pub fn summary(
    all: &[Snapshot],
    replications: &[u64],
    (every, replicate_every): (u64, Option<u64>),
    ran_ns: u64,
) -> SnapshotSummary {
    let taken: Vec<&Snapshot> =
        all.iter().filter(|each| each.number > 0 && each.there_ns <= ran_ns).collect();
    let delays: Vec<u64> = taken.iter().map(|each| each.there_ns - each.due_ns).collect();
    let replication = replicate_every.map(|replicate_every| {
        let in_time = |each: &&&Snapshot| each.replicated_ns.is_some_and(|at| at <= ran_ns);
        let replicated = taken.iter().filter(in_time);
        let lags: Vec<u64> =
            replicated.filter_map(|each| Some(each.replicated_ns? - each.there_ns)).collect();
        let lost =
            taken.iter().filter(|each| each.replicated_ns.is_none() && each.deleted_ns.is_some());
        ReplicationSummary {
            due: ran_ns / replicate_every.max(1),
            done: replications.iter().filter(|&&at| at <= ran_ns).count() as u64,
            replicated: lags.len() as u64,
            lost: lost.count() as u64,
            mean_lag_ns: mean(&lags),
            longest_lag_ns: lags.into_iter().max().unwrap_or_default(),
        }
    });
    SnapshotSummary {
        ran_ns,
        due: ran_ns / every.max(1),
        taken: taken.len() as u64,
        mean_delay_ns: mean(&delays),
        longest_delay_ns: delays.into_iter().max().unwrap_or_default(),
        deleted: all.iter().filter(|each| each.deleted_ns.is_some()).count() as u64,
        uncleaned: 0,
        uncleaned_on_replica: 0,
        replication,
    }
}

fn mean(values: &[u64]) -> u64 {
    values.iter().sum::<u64>().checked_div(values.len() as u64).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_due_meanwhile_is_passed_over_but_for_the_last() {
        assert_eq!(next(0, 0, 5), 1);
        assert_eq!(next(1, 5, 5), 2);
        // A snapshot that took from 10 to 14 delays nothing; until 17, the third is late; until 31,
        // three are missed.
        assert_eq!(next(2, 14, 5), 3);
        assert_eq!(next(2, 17, 5), 3);
        assert_eq!(next(2, 31, 5), 6);
    }

    fn snapshot(
        number: u64,
        there_ns: u64,
        replicated_ns: Option<u64>,
        deleted_ns: Option<u64>,
    ) -> Snapshot {
        let due_ns = number * 5;
        Snapshot { number, due_ns, begun_ns: due_ns, there_ns, replicated_ns, deleted_ns }
    }

    #[test]
    fn what_is_not_done_by_the_end_does_not_count() {
        let all = [
            snapshot(0, 0, Some(0), Some(22)),
            snapshot(1, 6, Some(21), None),
            snapshot(2, 13, Some(24), None),
            snapshot(4, 20, None, Some(26)),
            snapshot(5, 29, Some(41), None),
            snapshot(6, 33, None, None),
        ];
        let seen = summary(&all, &[24, 41], (5, Some(20)), 32);
        assert_eq!((seen.due, seen.taken, seen.deleted), (6, 4, 2));
        assert_eq!((seen.mean_delay_ns, seen.longest_delay_ns), ((1 + 3 + 4) / 4, 4));
        let replication = seen.replication.unwrap();
        assert_eq!((replication.due, replication.done), (1, 1));
        assert_eq!((replication.replicated, replication.lost), (2, 1));
        assert_eq!((replication.mean_lag_ns, replication.longest_lag_ns), (13, 15));
        assert_eq!(summary(&[], &[], (5, None), 4).replication, None);
    }
}
