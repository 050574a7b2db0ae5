//! The number of requests at a disk when each request arrived there.

use std::collections::BTreeMap;

use crate::by_time::{ByTime, Delay, TraceEventKind};
use crate::entry::{MOST_DISKS, Served, TraceEntry};
use crate::reader::Error;

/// The entries of a trace, in its order, each request with its depth: the requests at its disk
/// right after its arrival, including itself and others of the same moment. The depth of a mark is
/// `None`.
///
/// It keeps the requests that [`ByTime`] keeps, and entries whose turn has not come.
#[derive(Debug)]
pub struct WithDepth<I> {
    events: ByTime<I>,
    /// Requests that have arrived and not ended, by disk.
    present: [u32; MOST_DISKS],
    moment: u64,
    /// Requests that have arrived at this moment, with their place in the trace.
    arrived: Vec<(u64, Served)>,
    /// Entries whose turn has not come, by their place in the trace.
    known: BTreeMap<u64, (TraceEntry, Option<u32>)>,
    given: u64,
}

impl<I: Iterator<Item = Result<TraceEntry, Error>>> WithDepth<I> {
    /// Returns the entries with depths; `delay` must be the result of [`delay`](crate::delay) for
    /// the same entries.
    pub fn new(entries: I, delay: &Delay) -> Self {
        Self {
            events: ByTime::new(entries, delay),
            present: [0; MOST_DISKS],
            moment: 0,
            arrived: Vec::new(),
            known: BTreeMap::new(),
            given: 0,
        }
    }

    fn happened(&mut self, what: TraceEventKind, entry: u64, at: u64) {
        // Arrivals of one moment follow each other; any other event ends them.
        if self.moment != at || !matches!(what, TraceEventKind::Submitted(_)) {
            for (entry, served) in self.arrived.drain(..) {
                self.known
                    .insert(entry, (TraceEntry::Served(served), Some(self.present[served.disk])));
            }
            self.moment = at;
        }
        match what {
            TraceEventKind::Submitted(served) => {
                self.present[served.disk] += 1;
                self.arrived.push((entry, served));
            }
            TraceEventKind::Ended(served) => self.present[served.disk] -= 1,
            TraceEventKind::Mark(text) => {
                self.known.insert(entry, (TraceEntry::Mark { at, text }, None));
            }
            TraceEventKind::Started(_) => {}
        }
    }
}

impl<I: Iterator<Item = Result<TraceEntry, Error>>> Iterator for WithDepth<I> {
    type Item = Result<(TraceEntry, Option<u32>), Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(entry) = self.known.remove(&self.given) {
                self.given += 1;
                return Some(Ok(entry));
            }
            match self.events.next()? {
                Ok(event) => self.happened(event.what, event.entry, event.at),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
