//! What happened to requests in the order of time, out of a trace that is in the order of ends.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::entry::{Entry, Served};
use crate::reader::Error;

/// How long what has already happened may still be told of: the longest time from the arrival of a request to the end
/// of the entry that tells of it, ns. [`ByTime`] has to wait for so long; it takes a pass over the trace to know it.
pub fn delay(entries: impl Iterator<Item = Result<Entry, Error>>) -> Result<u64, Error> {
    let (mut last, mut delay) = (0, 0);
    for entry in entries {
        let (begin, end) = match entry? {
            Entry::Served(served) => (served.submitted, served.ended),
            Entry::Mark { at, .. } => (at, at),
        };
        last = end.max(last);
        delay = delay.max(last - begin);
    }
    Ok(delay)
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Virtual ns.
    pub at: u64,
    /// Which entry of the trace it is from: 0 is the first.
    pub entry: u64,
    pub what: What,
}

/// At one moment: requests end, marks are made, requests arrive, are started, and those end whose service took no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    Submitted(Served),
    Started(Served),
    Ended(Served),
    Mark(String),
}

/// Moment, place within the moment, entry: no two are equal, and what follows is never compared.
type Key = (u64, u8, u64);
const ENDED: u8 = 0;
const MARK: u8 = 1;
const SUBMITTED: u8 = 2;
const STARTED: u8 = 3;
const ENDED_AT_ONCE: u8 = 4;

/// The events of a trace in the order of time. It holds the requests of the last [`delay`] ns, and no more.
///
/// What can be read of a damaged trace comes before the error, which is the last item.
#[derive(Debug)]
pub struct ByTime<I> {
    entries: I,
    delay: u64,
    read: u64,
    /// The latest end so far.
    last: u64,
    /// The next event of each request that is known.
    next: BinaryHeap<Reverse<(Key, Waiting)>>,
    marks: VecDeque<(u64, String)>,
    ended: bool,
    error: Option<Error>,
}

/// A request whose next event is in the queue; never compared, because the keys before it differ.
#[derive(Debug, Clone, Copy)]
struct Waiting(Option<Served>);

impl PartialEq for Waiting {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Waiting {}
impl PartialOrd for Waiting {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Waiting {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}

impl<I: Iterator<Item = Result<Entry, Error>>> ByTime<I> {
    /// `delay` is what [`delay`] says of the same entries.
    pub fn new(entries: I, delay: u64) -> Self {
        Self {
            entries,
            delay,
            read: 0,
            last: 0,
            next: BinaryHeap::new(),
            marks: VecDeque::new(),
            ended: false,
            error: None,
        }
    }

    /// Until the first event is before everything that may still be read.
    fn read(&mut self) {
        while !self.ended {
            if let Some(Reverse(((at, ..), _))) = self.next.peek()
                && self.last - *at.min(&self.last) > self.delay
            {
                return;
            }
            let number = self.read;
            self.read += 1;
            match self.entries.next() {
                None => self.ended = true,
                Some(Err(error)) => (self.ended, self.error) = (true, Some(error)),
                Some(Ok(Entry::Served(served))) => {
                    self.last = self.last.max(served.ended);
                    self.next.push(Reverse(((served.submitted, SUBMITTED, number), Waiting(Some(served)))));
                }
                Some(Ok(Entry::Mark { at, text })) => {
                    self.last = self.last.max(at);
                    self.marks.push_back((number, text));
                    self.next.push(Reverse(((at, MARK, number), Waiting(None))));
                }
            }
        }
    }

    fn mark(&mut self, number: u64) -> String {
        let place = self.marks.iter().position(|(mark, _)| *mark == number);
        place.and_then(|place| self.marks.remove(place)).map(|(_, text)| text).unwrap_or_default()
    }
}

impl<I: Iterator<Item = Result<Entry, Error>>> Iterator for ByTime<I> {
    type Item = Result<Event, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.read();
        let Some(Reverse(((at, rank, entry), Waiting(served)))) = self.next.pop() else {
            return self.error.take().map(Err);
        };
        let what = match (served, rank) {
            (None, _) => What::Mark(self.mark(entry)),
            (Some(served), SUBMITTED) => {
                self.next.push(Reverse(((served.started, STARTED, entry), Waiting(Some(served)))));
                What::Submitted(served)
            }
            (Some(served), STARTED) => {
                let rank = if served.started == served.ended { ENDED_AT_ONCE } else { ENDED };
                self.next.push(Reverse(((served.ended, rank, entry), Waiting(Some(served)))));
                What::Started(served)
            }
            (Some(served), _) => What::Ended(served),
        };
        Some(Ok(Event { at, entry, what }))
    }
}
