//! Sorts the events of requests by time, from a trace in the order of ends.

use std::collections::{BTreeMap, VecDeque};

use crate::entry::{Served, TraceEntry};
use crate::reader::Error;

/// Longest wait of an ordinary request, in entries. A request that waits through more is kept
/// separately: a thousand of them take 100 KiB, while ten million other entries are not to be kept
/// for its sake.
const LONG: usize = 1 << 16;
/// Largest number of such requests that are kept; a guest's queues do not hold more.
const MOST_LONG: usize = 100_000;

/// Facts about a trace that [`ByTime`] needs beforehand. Finding them takes a pass over the trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Delay {
    /// The longest time from the arrival of a request to the end of its entry, in ns, except for
    /// those in `long`. After an event, entries about it may still come for this long.
    ns: u64,
    /// Requests that wait through many others, with their places in the trace, in the order of
    /// these.
    long: Vec<(u64, Served)>,
}

/// Finds the delay of a trace, in one pass.
pub fn delay(entries: impl Iterator<Item = Result<TraceEntry, Error>>) -> Result<Delay, Error> {
    delay_with(entries, LONG)
}

fn delay_with(
    entries: impl Iterator<Item = Result<TraceEntry, Error>>,
    long: usize,
) -> Result<Delay, Error> {
    let (mut last, mut delay) = (0, Delay::default());
    // For each of the last `long` entries: the latest end up to there.
    let mut ends: VecDeque<u64> = VecDeque::new();
    for (place, entry) in (0..).zip(entries) {
        let entry = entry?;
        let (begin, end) = entry.span();
        last = end.max(last);
        let is_long = ends.len() == long && ends.front().is_some_and(|before| begin < *before);
        match entry {
            TraceEntry::Served(served) if is_long && delay.long.len() < MOST_LONG => {
                delay.long.push((place, served));
            }
            _ => delay.ns = delay.ns.max(last - begin),
        }
        if ends.len() == long {
            ends.pop_front();
        }
        ends.push_back(last);
    }
    Ok(delay)
}

/// An event of a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceEvent {
    /// Time in virtual ns.
    pub at: u64,
    /// Index of the event's entry in the trace; 0 is the first.
    pub entry: u64,
    pub what: TraceEventKind,
}

/// The kinds of events. At one moment, their order is: requests end, marks are made, requests
/// arrive, requests start, and requests end whose service took no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceEventKind {
    Submitted(Served),
    Started(Served),
    Ended(Served),
    Mark(String),
}

/// The order of events: moment, rank within the moment, entry. No two are equal.
type EventOrder = (u64, u8, u64);
const ENDED: u8 = 0;
const MARK: u8 = 1;
const SUBMITTED: u8 = 2;
const STARTED: u8 = 3;
const ENDED_AT_ONCE: u8 = 4;

/// The events of a trace in the order of time. Of the requests, it keeps only those of the last ns,
/// as many as [`Delay`] says, and those that wait through many others.
///
/// In a damaged trace, the events before the damage come before the error, which is the last item.
#[derive(Debug)]
pub struct ByTime<I> {
    entries: I,
    delay: u64,
    /// Places in the trace of the requests that wait through many others.
    long: VecDeque<u64>,
    read: u64,
    /// The latest end so far.
    last: u64,
    /// The next event of each entry that was read and has events left.
    next: BTreeMap<EventOrder, TraceEntry>,
    ended: bool,
    error: Option<Error>,
}

impl<I: Iterator<Item = Result<TraceEntry, Error>>> ByTime<I> {
    /// Returns the events of `entries`; `delay` must be the result of [`delay`] for the same
    /// entries.
    pub fn new(entries: I, delay: &Delay) -> Self {
        let event = |(place, served): &(u64, Served)| {
            ((served.submitted, SUBMITTED, *place), TraceEntry::Served(*served))
        };
        Self {
            entries,
            delay: delay.ns,
            long: delay.long.iter().map(|(place, _)| *place).collect(),
            read: 0,
            last: 0,
            next: delay.long.iter().map(event).collect(),
            ended: false,
            error: None,
        }
    }

    /// Reads until the first event is earlier than everything that may still be read.
    fn read(&mut self) {
        while !self.ended {
            if let Some(((at, ..), _)) = self.next.first_key_value()
                && self.last - *at.min(&self.last) > self.delay
            {
                return;
            }
            let number = self.read;
            self.read += 1;
            match self.entries.next() {
                None => self.ended = true,
                Some(Err(error)) => (self.ended, self.error) = (true, Some(error)),
                Some(Ok(entry)) => {
                    let (at, end) = entry.span();
                    let is_mark = matches!(entry, TraceEntry::Mark { .. });
                    let rank = if is_mark { MARK } else { SUBMITTED };
                    self.last = self.last.max(end);
                    if self.long.front() == Some(&number) {
                        self.long.pop_front();
                    } else {
                        self.next.insert((at, rank, number), entry);
                    }
                }
            }
        }
    }
}

impl<I: Iterator<Item = Result<TraceEntry, Error>>> Iterator for ByTime<I> {
    type Item = Result<TraceEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read();
        let Some(((at, rank, entry), known)) = self.next.pop_first() else {
            return self.error.take().map(Err);
        };
        let mut then = |at, rank, served| {
            self.next.insert((at, rank, entry), TraceEntry::Served(served));
        };
        let what = match (known, rank) {
            (TraceEntry::Mark { text, .. }, _) => TraceEventKind::Mark(text),
            (TraceEntry::Served(served), SUBMITTED) => {
                then(served.started, STARTED, served);
                TraceEventKind::Submitted(served)
            }
            (TraceEntry::Served(served), STARTED) => {
                let rank = if served.started == served.ended { ENDED_AT_ONCE } else { ENDED };
                then(served.ended, rank, served);
                TraceEventKind::Started(served)
            }
            (TraceEntry::Served(served), _) => TraceEventKind::Ended(served),
        };
        Some(Ok(TraceEvent { at, entry, what }))
    }
}

#[cfg(test)]
mod tests {
    use disklab_disks::Op;

    use super::*;

    /// Returns a trace in which one request waits through all others, and another through half of
    /// them.
    fn entries(count: u64) -> Vec<TraceEntry> {
        let served = |submitted, ended| {
            let (op, sector, sectors) = (Op::Read, 0, 8);
            let started = submitted;
            TraceEntry::Served(Served {
                disk: 0,
                op,
                fua: false,
                sector,
                sectors,
                submitted,
                started,
                ended,
            })
        };
        let mut all: Vec<TraceEntry> = (0..count).map(|at| served(at * 10, at * 10 + 15)).collect();
        all.insert(all.len() / 2, served(3, count * 5 + 15));
        all.push(served(count * 5 + 2, count * 10 + 20));
        all.push(served(1, count * 10 + 20));
        all
    }

    fn read(all: &[TraceEntry]) -> impl Iterator<Item = Result<TraceEntry, Error>> {
        all.iter().cloned().map(Ok)
    }

    #[test]
    fn who_waits_through_many_others_is_told_in_the_same_order_and_holds_none_of_them() {
        let all = entries(20_000);
        let most = |delay: &Delay| {
            let mut by_time = ByTime::new(read(&all), delay);
            let (mut events, mut most) = (Vec::new(), 0);
            while let Some(event) = by_time.next() {
                events.push(event.unwrap());
                most = most.max(by_time.next.len());
            }
            (events, most)
        };
        let (expected, all_held) = most(&delay_with(read(&all), usize::MAX).unwrap());
        let (events, held) = most(&delay_with(read(&all), 100).unwrap());
        assert!(events == expected && events.len() == 3 * all.len());
        assert!(all_held > 9_000 && held < 10, "{all_held} and {held} requests were held");
    }
}
