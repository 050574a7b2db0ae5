//! Tests events in the order of time, and depths, against counts from the whole trace at once.

use disklab_disks::Op;
use disklab_trace::{
    ByTime, Error, Served, TraceEntry, TraceEvent, TraceEventKind, WithDepth, delay,
};
use proptest::prelude::*;

fn served(disk: usize, submitted: u64, started: u64, ended: u64) -> TraceEntry {
    let at_work =
        Served { disk, op: Op::Read, fua: false, sector: 0, sectors: 8, submitted, started, ended };
    TraceEntry::Served(at_work)
}

fn ok(entries: &[TraceEntry]) -> impl Iterator<Item = Result<TraceEntry, Error>> {
    entries.iter().cloned().map(Ok)
}

fn events(entries: &[TraceEntry]) -> Vec<TraceEvent> {
    let delay = delay(ok(entries)).unwrap();
    ByTime::new(ok(entries), &delay).map(Result::unwrap).collect()
}

fn depths(entries: &[TraceEntry]) -> Vec<Option<u32>> {
    let delay = delay(ok(entries)).unwrap();
    let all: Vec<_> = WithDepth::new(ok(entries), &delay).map(Result::unwrap).collect();
    assert!(all.iter().map(|(entry, _)| entry).eq(entries));
    all.into_iter().map(|(_, depth)| depth).collect()
}

#[test]
fn what_happens_at_one_moment_has_its_order() {
    let mark = TraceEntry::Mark { at: 10, text: "begin".to_owned() };
    // The second request arrives when the first ends; the third takes no time at all.
    let all = [served(0, 0, 5, 10), served(0, 10, 10, 10), mark, served(0, 10, 10, 20)];
    let told: Vec<_> = events(&all)
        .into_iter()
        .map(|event| {
            let what = match event.what {
                TraceEventKind::Submitted(_) => 'Q',
                TraceEventKind::Started(_) => 'D',
                TraceEventKind::Ended(_) => 'C',
                TraceEventKind::Mark(_) => 'm',
            };
            (event.at, what, event.entry)
        })
        .collect();
    let at_10 = [
        (10, 'C', 0),
        (10, 'm', 2),
        (10, 'Q', 1),
        (10, 'Q', 3),
        (10, 'D', 1),
        (10, 'D', 3),
        (10, 'C', 1),
    ];
    assert_eq!(told[..2], [(0, 'Q', 0), (5, 'D', 0)]);
    assert_eq!(told[2..9], at_10);
    assert_eq!(told[9..], [(20, 'C', 3)]);
    assert_eq!(depths(&all), [Some(1), Some(2), None, Some(2)]);
}

#[test]
fn depth_is_of_one_disk_and_counts_who_is_there() {
    // On disk 0: a request from 0 to 100, another from 50 to 60, and a third when that one ends. On
    // disk 1: a request from 55 on.
    let all =
        [served(0, 50, 50, 60), served(1, 55, 55, 70), served(0, 60, 60, 80), served(0, 0, 0, 100)];
    assert_eq!(depths(&all), [Some(2), Some(1), Some(2), Some(1)]);
}

#[test]
fn what_can_be_read_comes_before_the_error() {
    let damaged = || {
        let error = Error::Damaged { at: 7, what: "cut off" };
        ok(&[served(0, 0, 1, 2)]).chain([Err(error)]).collect::<Vec<_>>().into_iter()
    };
    let known = || delay(ok(&[served(0, 0, 1, 2)])).unwrap();
    let all: Vec<_> = ByTime::new(damaged(), &known()).collect();
    assert!(all.len() == 4 && all[..3].iter().all(Result::is_ok) && all[3].is_err());
    let all: Vec<_> = WithDepth::new(damaged(), &known()).collect();
    assert!(all.len() == 2 && all[0].is_ok() && all[1].is_err());
    assert!(delay(damaged()).is_err());
}

fn any_trace() -> impl Strategy<Value = Vec<TraceEntry>> {
    let one =
        (0..3usize, 0..200u64, 0..20u64, 0..20u64).prop_map(|(disk, submitted, wait, service)| {
            served(disk, submitted, submitted + wait, submitted + wait + service)
        });
    // Some traces are not in the order of ends, as a damaged trace may be.
    (prop::collection::vec(one, 0..60), any::<bool>()).prop_map(|(mut all, sorted)| {
        if sorted {
            all.sort_by_key(|entry| match entry {
                TraceEntry::Served(served) => served.ended,
                TraceEntry::Mark { at, .. } => *at,
            });
        }
        all
    })
}

proptest! {
    #[test]
    fn nothing_is_lost_and_time_never_runs_back(all in any_trace()) {
        let events = events(&all);
        prop_assert_eq!(events.len(), all.len() * 3);
        prop_assert!(events.windows(2).all(|pair| pair[0].at <= pair[1].at));
    }

    #[test]
    fn depths_are_those_of_the_whole_trace(all in any_trace()) {
        let requests: Vec<_> = all.iter().map(|entry| match entry {
            TraceEntry::Served(served) => *served,
            TraceEntry::Mark { .. } => unreachable!("no marks here"),
        }).collect();
        let expected: Vec<_> = requests.iter().map(|one| {
            let there = requests.iter().filter(|other| {
                let ended = other.ended <= one.submitted && other.submitted < one.submitted;
                // A request without service time, after a wait that ends now, stays until arrivals
                // are over.
                let ends_now = other.ended == one.submitted && other.started == other.ended;
                other.disk == one.disk && other.submitted <= one.submitted && (!ended || ends_now)
            });
            Some(there.count() as u32)
        }).collect();
        prop_assert_eq!(depths(&all), expected);
    }
}
