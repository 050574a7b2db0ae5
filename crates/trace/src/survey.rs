//! What has to be known of a trace before it can be drawn: its phases, its disks, how far they
//! reach.

use std::ops::Range;

use disklab_disks::Op;
use disklab_protocol::Mark;
use disklab_protocol::mark::MEASURED_PHASE;

use crate::entry::{Served, TraceEntry};
use crate::reader::Error;

/// A guest has one or two; a trace with more was not written by one, and remembering them all would
/// take memory.
const MOST_PHASES: usize = 64;

/// Whether the trace has come to what is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measuring {
    NotYet,
    Now,
    /// Or between two phases.
    Over,
}

/// A named stretch of a trial. It begins so long after the first request that follows its
/// announcement as the announcement says, and ends with the last request that ended before its end
/// was announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePhase {
    pub name: String,
    /// Virtual ns.
    pub begin: u64,
    pub end: u64,
    /// From its first request to `begin`. Where that is nothing, `begin` is the arrival of a
    /// request, and what ends in that moment has ended before: it is not of the phase.
    pub ramp: u64,
    /// The places in the trace, counted from 0, of the entries between its two announcements. What
    /// ended in the very moment of its end, but was told of later, is not of it; nor is it for the
    /// closing record.
    pub entries: Range<u64>,
    /// The trace ends within it: `end` is the last that it tells of.
    pub cut: bool,
}

/// One disk, over the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// The first sector that reads and writes touched and one after the last, while it was
    /// measured: a filesystem that is mounted touches places far apart. Of the whole trace where
    /// nothing was measured; `None`: none.
    pub touched: Option<(u64, u64)>,
    /// The longest time from the arrival of a request to the end of the entry that tells of it, ns.
    pub(crate) delay: u64,
    last: u64,
}

/// A trace at a glance.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// In the order in which they were announced; of the last one the trace may lack the end.
    pub phases: Vec<TracePhase>,
    /// By disk, up to the last one that has a request.
    pub disks: Vec<Reach>,
    /// Why it could not be read to its end: it is of what comes before that.
    pub error: Option<String>,
}

impl Survey {
    /// Passes over a trace, as far as it can be read.
    pub fn read(entries: impl Iterator<Item = Result<TraceEntry, Error>>) -> Self {
        let mut survey = Self::default();
        let mut announced: Vec<Announced> = Vec::new();
        let mut measuring = Measuring::NotYet;
        // The last request's end, of all disks.
        let mut last = 0;
        for (place, entry) in (0..).zip(entries) {
            match entry {
                Err(error) => {
                    survey.error = Some(error.to_string());
                    break;
                }
                Ok(TraceEntry::Served(served)) => {
                    last = served.ended;
                    for phase in &mut announced {
                        phase.request(&served);
                    }
                    survey.request(&served, measuring != Measuring::Over);
                }
                Ok(TraceEntry::Mark { at, text }) => match text.parse() {
                    Ok(Mark::Begin { phase: name, ramp_ns: ramp })
                        if announced.len() < MOST_PHASES =>
                    {
                        let known = || announced.iter().any(|phase| phase.name == MEASURED_PHASE);
                        if announced.is_empty() || (name == MEASURED_PHASE && !known()) {
                            survey.disks.iter_mut().for_each(|disk| disk.touched = None);
                        }
                        if name == MEASURED_PHASE || !known() {
                            measuring = Measuring::Now;
                        }
                        announced.push(Announced { name, at, ramp, place, first: None, end: None });
                    }
                    Ok(Mark::End) => {
                        if let Some(phase) = announced.last_mut() {
                            phase.end.get_or_insert((last, place));
                        }
                        if measuring == Measuring::Now {
                            measuring = Measuring::Over;
                        }
                    }
                    _ => {}
                },
            }
        }
        survey.phases = announced.into_iter().filter_map(|phase| phase.phase(last)).collect();
        survey
    }

    /// Returns what results are taken from: the phase of that name, or from the begin of the first
    /// phase to the end of the last.
    pub fn measure(&self) -> Option<TracePhase> {
        if let Some(phase) = self.phases.iter().find(|phase| phase.name == MEASURED_PHASE) {
            return Some(phase.clone());
        }
        let (first, last) = (self.phases.first()?, self.phases.last()?);
        let entries = first.entries.start..last.entries.end;
        Some(TracePhase { end: last.end, entries, cut: last.cut, ..first.clone() })
    }

    fn request(&mut self, served: &Served, counts: bool) {
        if self.disks.len() <= served.disk {
            self.disks.resize(served.disk + 1, Reach::default());
        }
        let disk = &mut self.disks[served.disk];
        disk.last = disk.last.max(served.ended);
        disk.delay = disk.delay.max(disk.last - served.submitted);
        if counts && moves_data(served.op) {
            let end = served.sector.saturating_add(u64::from(served.sectors));
            let (first, last) = disk.touched.unwrap_or((served.sector, end));
            disk.touched = Some((first.min(served.sector), last.max(end)));
        }
    }
}

pub(crate) fn moves_data(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::WriteZeroes)
}

#[derive(Debug)]
struct Announced {
    name: String,
    at: u64,
    ramp: u64,
    /// Of the announcement, in the trace.
    place: u64,
    /// When the first request after it arrived.
    first: Option<u64>,
    /// When it ended, and where in the trace that was announced.
    end: Option<(u64, u64)>,
}

impl Announced {
    fn request(&mut self, served: &Served) {
        if served.submitted >= self.at {
            let first = self.first.get_or_insert(served.submitted);
            *first = served.submitted.min(*first);
        }
    }

    /// `last` is the end of the last request of the trace.
    fn phase(self, last: u64) -> Option<TracePhase> {
        let begin = self.first?.checked_add(self.ramp)?;
        let (end, place) = self.end.unwrap_or((last, u64::MAX));
        let entries = self.place..place;
        let (ramp, cut) = (self.ramp, self.end.is_none());
        (end > begin).then_some(TracePhase { name: self.name, begin, end, ramp, entries, cut })
    }
}
