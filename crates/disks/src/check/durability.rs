//! Checks that all data written before a flush is on the medium when the flush completes. Checks
//! the same of the data of a write with FUA when the write completes.

use std::collections::BTreeMap;
use std::ops::Range;

use disklab_units::{Bytes, Nanos};

use super::law::{Answered, Broken, Law};
use crate::event_log::DiskEvent;
use crate::{Op, Request};

/// 4 KiB, in sectors. The checker does not follow writes of less than a whole unit.
const UNIT: u64 = 8;

/// Least number of units at which the checker looks for clean units to forget.
const MANY: usize = 1 << 16;

#[derive(Default)]
pub(super) struct Durability {
    sectors: u64,
    /// The state of each unit that was written.
    units: BTreeMap<u64, UnitState>,
    /// Data on its way to the medium: the time at which it arrives there, the time at which it was
    /// taken from the buffer, and its units.
    coming: Vec<(Nanos, Nanos, Range<u64>)>,
    /// Submission times of the writes under way.
    under_way: Vec<Nanos>,
    look_at: usize,
}

#[derive(Default)]
struct UnitState {
    /// Submission and completion time of the write that was completed last.
    written: Option<(Nanos, Nanos)>,
    /// The time at which the data on the medium was taken from the buffer.
    taken: Option<Nanos>,
}

impl UnitState {
    fn is_clean(&self) -> bool {
        self.written.is_none_or(|(submitted, _)| self.taken.is_some_and(|taken| taken >= submitted))
    }
}

impl Durability {
    pub fn new(bytes: Bytes) -> Self {
        Self { sectors: bytes.sectors().0, look_at: MANY, ..Self::default() }
    }

    /// Returns the units that lie wholly within the request.
    fn whole(&self, request: &Request) -> Range<u64> {
        let Range { start, end } = request.sectors_below(self.sectors);
        let first = start.div_ceil(UNIT);
        first..(end / UNIT).max(first)
    }

    /// Notes the data that has reached the medium by now.
    fn catch_up(&mut self, now: Nanos) {
        let units = &mut self.units;
        self.coming.retain(|(end, taken, range)| {
            let due = *end <= now;
            if due {
                for unit in range.clone() {
                    let unit = units.entry(unit).or_default();
                    unit.taken = unit.taken.max(Some(*taken));
                }
            }
            !due
        });
        if self.units.len() > self.look_at {
            self.forget();
            self.look_at = (2 * self.units.len()).max(MANY);
        }
    }

    /// Forgets the clean units, except those of a write that may not be done yet.
    fn forget(&mut self) {
        let since = self.under_way.iter().min().copied().unwrap_or(Nanos::MAX);
        self.units
            .retain(|_, unit| !unit.is_clean() || unit.taken.is_some_and(|taken| taken >= since));
    }

    fn flushed(&mut self, submitted: Nanos) -> Broken {
        let is_lost = |unit: &UnitState| {
            unit.written.is_some_and(|(_, completed)| completed <= submitted) && !unit.is_clean()
        };
        let lost = self.units.iter().find(|(_, unit)| is_lost(unit)).map(|(unit, _)| unit * UNIT);
        self.forget();
        lost.map_or(Ok(()), |sector| {
            Err(format!(
                "a flush is done, and sector {sector} was written before it and is not on the \
                 medium"
            ))
        })
    }
}

impl Law for Durability {
    fn submitted(&mut self, now: Nanos, request: &Request) {
        if request.op == Op::Write {
            self.under_way.push(now);
        }
    }

    fn happened(&mut self, event: &DiskEvent) -> Broken {
        if let DiskEvent::Durable { sectors, taken, end } = event {
            let units = sectors.start.div_ceil(UNIT)..sectors.end / UNIT;
            self.coming.push((*end, *taken, units));
        }
        Ok(())
    }

    fn answered(&mut self, answered: &Answered) -> Broken {
        let &Answered { ref request, submitted, at, .. } = answered;
        self.catch_up(at);
        match request.op {
            Op::Read => Ok(()),
            Op::Flush => self.flushed(submitted),
            Op::Write => {
                if let Some(index) = self.under_way.iter().position(|&other| other == submitted) {
                    self.under_way.swap_remove(index);
                }
                let mut lost = None;
                for index in self.whole(request) {
                    let unit = self.units.entry(index).or_default();
                    unit.written = Some((submitted, at));
                    lost = lost.or((request.fua && !unit.is_clean()).then_some(index));
                }
                lost.map_or(Ok(()), |unit| {
                    Err(format!(
                        "a write with FUA is done, and sector {} is not on the medium",
                        unit * UNIT
                    ))
                })
            }
            Op::Discard | Op::WriteZeroes => {
                // Data on its way to the medium stays noted: it may belong to a write whose
                // completion is still to be reported.
                let range = self.whole(request);
                self.units.range_mut(range).for_each(|(_, unit)| unit.written = None);
                Ok(())
            }
        }
    }
}
