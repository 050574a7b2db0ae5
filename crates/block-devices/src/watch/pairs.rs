//! Turns events into requests: finds the issue of each completion.
//!
//! Events carry no number of their request. Its disk, operation and place identify it. If several
//! requests are equal in these, the first is assumed to end first. A request that ends in parts is
//! issued once, and ends with its last part. If its driver gave a request back, the request counts
//! from its first issue.

use std::collections::{HashMap, VecDeque};

use disklab_disks::Op;

use crate::watch::layout::EventKind;
use crate::watch::pages::BlockEvent;

/// A request at a disk, with a value that the caller keeps with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Open<T> {
    pub disk: usize,
    pub op: Op,
    pub fua: bool,
    /// First sector, counted from the start of the watched disk or partition, or 0 for a flush.
    pub sector: u64,
    pub sectors: u32,
    /// Time of the issue.
    pub at: u64,
    pub kept: T,
    /// Sectors that have not ended yet.
    left: u32,
    given_back: bool,
}

/// An arrival or an end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestStep<T> {
    /// A request has come to its disk.
    Arrived(Open<T>),
    /// A request has ended, at the time of the event.
    Ended(Open<T>),
}

/// The sectors of a watched disk or partition on its whole disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchedRange {
    /// The number of the whole disk, as in [`BlockEvent::dev`].
    pub dev: u32,
    /// First sector, in units of 512 bytes.
    pub begin: u64,
    pub sectors: u64,
}

type Key = (usize, u8, u64);

/// Requests that have been issued and have not ended.
#[derive(Debug)]
pub struct Pairs<T> {
    places: Vec<WatchedRange>,
    open: HashMap<Key, VecDeque<Open<T>>>,
    /// Completions of requests whose issue came before the watch or was lost.
    pub unknown: u64,
}

impl<T: Copy> Pairs<T> {
    pub fn new(places: Vec<WatchedRange>) -> Self {
        Self { places, open: HashMap::new(), unknown: 0 }
    }

    /// Reads the next event. `kept` is stored with a request that arrives. Returns None for events
    /// that neither begin nor end a request.
    pub fn take(&mut self, event: &BlockEvent, kept: T) -> Option<RequestStep<T>> {
        let (disk, sector) = self.find(event)?;
        let key = (disk, event.op as u8, sector);
        match event.kind {
            EventKind::Issue => self.issued(key, event, kept).map(RequestStep::Arrived),
            EventKind::Complete => self.completed(key, event).map(RequestStep::Ended),
            EventKind::Requeue => {
                let all = self.open.get_mut(&key).into_iter().flatten();
                if let Some(open) = all.into_iter().find(|open| !open.given_back) {
                    open.given_back = true;
                }
                None
            }
        }
    }

    /// Returns the requests that have not ended: the disk, and the time of the issue.
    pub fn open(&self) -> impl Iterator<Item = (usize, u64)> {
        let open = self.open.values().flatten().filter(|open| !open.given_back);
        open.map(|open| (open.disk, open.at))
    }

    /// Finds the disk of an event, and the place on it. A flush concerns the whole disk: it counts
    /// for the first watched part.
    fn find(&self, event: &BlockEvent) -> Option<(usize, u64)> {
        let mut own = self.places.iter().enumerate().filter(|(_, place)| place.dev == event.dev);
        if event.op == Op::Flush {
            return own.next().map(|(disk, _)| (disk, 0));
        }
        let within = |place: &WatchedRange| {
            event.sector.checked_sub(place.begin).filter(|at| *at < place.sectors)
        };
        own.find_map(|(disk, place)| Some((disk, within(place)?)))
    }

    fn issued(&mut self, key: Key, event: &BlockEvent, kept: T) -> Option<Open<T>> {
        let same = self.open.entry(key).or_default();
        if let Some(open) = same.iter_mut().find(|open| open.given_back) {
            // A request may have grown while it waited.
            let grown = event.sectors.saturating_sub(open.left);
            (open.given_back, open.left) = (false, event.sectors);
            open.sectors = open.sectors.saturating_add(grown);
            return None;
        }
        let (disk, _, sector) = key;
        let BlockEvent { op, fua, sectors, at, .. } = *event;
        let open =
            Open { disk, op, fua, sector, sectors, at, kept, left: sectors, given_back: false };
        same.push_back(open);
        Some(open)
    }

    fn completed(&mut self, key: Key, event: &BlockEvent) -> Option<Open<T>> {
        // This ends a flush that came with another operation, or alone, but is not a request of its
        // own.
        if event.sectors == 0 && event.op != Op::Flush {
            return None;
        }
        let Some(same) = self.open.get_mut(&key) else {
            self.unknown += 1;
            return None;
        };
        let first = same.iter().position(|open| !open.given_back).unwrap_or(0);
        let open = same.remove(first);
        if same.is_empty() {
            self.open.remove(&key);
        }
        let mut open = open?;
        if event.sectors >= open.left {
            return Some(open);
        }
        open.left -= event.sectors;
        let (disk, op, sector) = key;
        let rest = (disk, op, sector.saturating_add(event.sectors.into()));
        self.open.entry(rest).or_default().push_front(open);
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use EventKind::{Complete, Issue, Requeue};

    const DISK: u32 = 8 << 20 | 16;
    const OTHER: u32 = 8 << 20;

    /// Returns a whole disk, and two partitions of another.
    fn pairs() -> Pairs<u64> {
        let place = |dev, begin, sectors| WatchedRange { dev, begin, sectors };
        Pairs::new(vec![place(DISK, 0, 1000), place(OTHER, 100, 50), place(OTHER, 200, 50)])
    }

    fn event(at: u64, kind: EventKind, op: Op, sector: u64, sectors: u32) -> BlockEvent {
        BlockEvent { at, kind, dev: DISK, sector, sectors, op, fua: false }
    }

    /// Returns arrivals and ends: disk, sector, sectors, time of the arrival, time of the end.
    fn steps(
        pairs: &mut Pairs<u64>,
        events: &[BlockEvent],
    ) -> Vec<(bool, usize, u64, u32, u64, u64)> {
        let of = |event: &BlockEvent| match pairs.take(event, event.at)? {
            RequestStep::Arrived(o) => Some((false, o.disk, o.sector, o.sectors, o.at, o.kept)),
            RequestStep::Ended(o) => Some((true, o.disk, o.sector, o.sectors, o.at, event.at)),
        };
        events.iter().filter_map(of).collect()
    }

    #[test]
    fn equal_requests_end_in_their_order_and_others_by_their_place() {
        let mut pairs = pairs();
        let events = [
            event(1, Issue, Op::Read, 8, 8),
            event(2, Issue, Op::Read, 8, 8),
            event(3, Issue, Op::Write, 8, 8),
            event(4, Complete, Op::Write, 8, 8),
            event(5, Complete, Op::Read, 8, 8),
            event(6, Complete, Op::Read, 8, 8),
        ];
        let ends: Vec<_> = steps(&mut pairs, &events).into_iter().filter(|step| step.0).collect();
        let ended = |from, to| (true, 0, 8, 8, from, to);
        assert_eq!(ends, [ended(3, 4), ended(1, 5), ended(2, 6)]);
        assert_eq!((pairs.open().count(), pairs.unknown), (0, 0));
    }

    #[test]
    fn a_request_that_ends_in_parts_is_one() {
        let events = [
            event(1, Issue, Op::Read, 0, 24),
            event(2, Complete, Op::Read, 0, 8),
            // The driver gives the rest back, and it is issued again from its own beginning.
            event(3, Requeue, Op::Read, 8, 16),
            event(4, Issue, Op::Read, 8, 16),
            event(5, Complete, Op::Read, 8, 8),
            event(6, Complete, Op::Read, 16, 8),
        ];
        let mut pairs = pairs();
        assert_eq!(steps(&mut pairs, &events), [(false, 0, 0, 24, 1, 1), (true, 0, 0, 24, 1, 6)]);
        assert_eq!(pairs.open().count(), 0);
    }

    #[test]
    fn what_is_given_back_counts_from_its_first_issue_even_if_it_grows() {
        let mut pairs = pairs();
        let events = [event(1, Issue, Op::Write, 0, 8), event(2, Requeue, Op::Write, 0, 8)];
        assert_eq!(steps(&mut pairs, &events).len(), 1);
        assert_eq!(pairs.open().count(), 0, "it is not at the disk");
        let events = [event(3, Issue, Op::Write, 0, 16), event(9, Complete, Op::Write, 0, 16)];
        assert_eq!(steps(&mut pairs, &events), [(true, 0, 0, 16, 1, 9)]);
    }

    #[test]
    fn flushes_have_no_place_and_writes_of_nothing_are_none() {
        let events = [
            event(1, Issue, Op::Write, 0, 8),
            event(2, Issue, Op::Flush, 0, 0),
            // A write with a preceding flush begins with such an event, and an fsync ends with one.
            event(3, Complete, Op::Write, 0, 0),
            event(4, Complete, Op::Flush, u64::MAX, 0),
            event(5, Complete, Op::Write, 0, 8),
        ];
        let mut pairs = pairs();
        let ends: Vec<_> = steps(&mut pairs, &events).into_iter().filter(|step| step.0).collect();
        assert_eq!(ends, [(true, 0, 0, 0, 2, 4), (true, 0, 0, 8, 1, 5)]);
        assert_eq!(pairs.unknown, 0);
    }

    #[test]
    fn partitions_have_places_of_their_own_and_what_is_outside_is_nobodys() {
        let of = |at, kind, op, sector| BlockEvent { dev: OTHER, ..event(at, kind, op, sector, 8) };
        let events = [
            of(1, Issue, Op::Read, 110),
            of(2, Issue, Op::Read, 200),
            of(3, Issue, Op::Read, 90),
            of(4, Issue, Op::Read, 150),
            BlockEvent { sectors: 0, ..of(5, Issue, Op::Flush, 0) },
            of(6, Complete, Op::Read, 90),
            of(7, Complete, Op::Read, 200),
        ];
        let mut pairs = pairs();
        let told = steps(&mut pairs, &events);
        assert_eq!(
            told,
            [
                (false, 1, 10, 8, 1, 1),
                (false, 2, 0, 8, 2, 2),
                (false, 1, 0, 0, 5, 5),
                (true, 2, 0, 8, 2, 7)
            ]
        );
        assert_eq!(pairs.unknown, 0);
    }

    #[test]
    fn ends_of_what_was_there_before_are_counted_and_what_is_left_is_known() {
        let mut pairs = pairs();
        let events = [event(1, Complete, Op::Read, 16, 8), event(2, Issue, Op::Read, 24, 8)];
        steps(&mut pairs, &events);
        assert_eq!((pairs.unknown, pairs.open().collect::<Vec<_>>()), (1, vec![(0, 2)]));
    }
}
