//! Facts about a trace that a drawing needs beforehand: its phases, its disks, and the range of
//! their sectors.

use std::ops::Range;

use disklab_disks::Op;
use disklab_protocol::Mark;
use disklab_protocol::mark::MEASURED_PHASE;

use crate::entry::{Served, TraceEntry};
use crate::reader::Error;

/// Largest number of phases that are remembered. A guest has one or two. A trace with more was not
/// written by a guest, and remembering all of them would take memory.
const MOST_PHASES: usize = 64;

/// Whether the trace has reached the measured phases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Measuring {
    NotYet,
    Now,
    /// The measured phases are over, or the trace is between two of them.
    Over,
}

/// A named stretch of a trial. It begins with the first request after its announcement, or later by
/// the ramp in the announcement. It ends with the last request that ended before its end was
/// announced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePhase {
    pub name: String,
    /// Beginning and end in virtual ns.
    pub begin: u64,
    pub end: u64,
    /// Time from the first request to `begin`. If it is zero, `begin` is the arrival of a request.
    /// A request that ends in that moment has ended before, and does not belong to the phase.
    pub ramp: u64,
    /// The places in the trace, counted from 0, of the entries between the two announcements. A
    /// request that ended in the very moment of the end, but whose entry is later, is not included;
    /// nor does the closing record include it.
    pub entries: Range<u64>,
    /// Whether the trace ends within the phase. `end` is then the end of the last request.
    pub cut: bool,
}

/// The sectors of a disk in the whole trace.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Reach {
    /// The first sector that reads and writes touched during the measurement, and one after the
    /// last. Other times are left out, because mounting a filesystem touches places far apart. If
    /// nothing was measured, it is over the whole trace. It is `None` if nothing was touched.
    pub touched: Option<(u64, u64)>,
    /// The longest time from the arrival of a request to the end of its entry, in ns.
    pub(crate) delay: u64,
    last: u64,
}

/// A summary of a trace.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Survey {
    /// The phases in the order of their announcements; the trace may lack the end of the last.
    pub phases: Vec<TracePhase>,
    /// The disks by index, up to the last one that has a request.
    pub disks: Vec<Reach>,
    /// The reason why the trace could not be read to its end. The summary is then of the part
    /// before.
    pub error: Option<String>,
}

impl Survey {
    /// Reads a trace, as far as that is possible.
    pub fn read(entries: impl Iterator<Item = Result<TraceEntry, Error>>) -> Self {
        let mut survey = Self::default();
        let mut announced: Vec<Announced> = Vec::new();
        let mut measuring = Measuring::NotYet;
        // The end of the last request of all disks.
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

    /// Returns the phase of the results: the one with that name, or the time from the beginning of
    /// the first phase to the end of the last.
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
    /// Place of the announcement in the trace.
    place: u64,
    /// Arrival of the first request after the announcement.
    first: Option<u64>,
    /// End of the phase, and the place in the trace where the end was announced.
    end: Option<(u64, u64)>,
}

impl Announced {
    fn request(&mut self, served: &Served) {
        if served.submitted >= self.at {
            let first = self.first.get_or_insert(served.submitted);
            *first = served.submitted.min(*first);
        }
    }

    /// Returns the phase, if anything came of it. `last` is the end of the last request of the
    /// trace.
    fn phase(self, last: u64) -> Option<TracePhase> {
        let begin = self.first?.checked_add(self.ramp)?;
        let (end, place) = self.end.unwrap_or((last, u64::MAX));
        let entries = self.place..place;
        let (ramp, cut) = (self.ramp, self.end.is_none());
        (end > begin).then_some(TracePhase { name: self.name, begin, end, ramp, entries, cut })
    }
}
