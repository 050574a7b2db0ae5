//! A memory card or an eMMC.
//!
//! A card serves one command after another, each of which is done when it is on the medium. Flash
//! is managed by allocation units. To write to a unit, the card opens it: new pages go to an erased
//! unit. The card closes the old one when it opens another and too many are open, or when pages
//! come out of order. Then it copies the pages that were not written anew. Sequential writing
//! therefore has the rate of the speed class, and a small write to a unit that is not open costs
//! the copy of a unit. Measurements of cards show both (A. Bergmann, "Optimizing Linux with cheap
//! flash drives", LWN 2011; flashbench).

use std::ops::Range;

use disklab_config::device::Card;
use disklab_units::{Bytes, Nanos, Sectors};

#[cfg(test)]
use crate::plant::Bug;
use crate::port::{Port, PortSpeed, PortedDrive};
use crate::{Completion, Counters, Op, Request};

#[derive(Clone)]
pub(crate) struct CardDisk {
    model: Card,
    port: Port,
    /// Time at which the previous command is done.
    free: Nanos,
    /// Open units, the one written last at the end.
    open: Vec<OpenUnit>,
    /// The vectors of closed units, kept for reuse.
    spare: Vec<Vec<bool>>,
    /// For each allocation unit, whether all its data was discarded, so that closing it copies
    /// nothing.
    trimmed: Vec<bool>,
    bytes: u64,
    counters: Counters,
}

#[derive(Clone)]
struct OpenUnit {
    unit: u64,
    /// For each page of the unit, whether it was written since the unit was opened.
    written: Vec<bool>,
    /// Pages of the erased unit that are used.
    used: u64,
    /// Offset in the unit, in bytes, behind the last byte written.
    next: u64,
}

impl CardDisk {
    pub fn new(model: &Card, bytes: Bytes) -> Self {
        let units = bytes.0.div_ceil(model.allocation_unit.0);
        Self {
            // The model's rates include the bus.
            port: Port::new(PortSpeed { queued_flush: true, ..PortSpeed::default() }),
            free: Nanos::ZERO,
            open: Vec::with_capacity(model.open_units as usize + 1),
            spare: Vec::with_capacity(model.open_units as usize + 1),
            trimmed: vec![false; units as usize],
            bytes: bytes.0,
            counters: Counters::default(),
            model: model.clone(),
        }
    }

    /// Carries the command out and returns how long it takes.
    fn serve(&mut self, request: Request) -> Nanos {
        let place = |sector: u64| sector.saturating_mul(Sectors::SIZE).min(self.bytes);
        let from = place(request.sector);
        let end = place(request.sector.saturating_add(u64::from(request.sectors)));
        let bytes = Bytes(end - from);
        match request.op {
            Op::Read => {
                self.counters.media_read_sectors += bytes.sectors().0;
                self.model.read_access + self.model.read_rate.time_for(bytes)
            }
            Op::Write | Op::WriteZeroes => self.model.write_access + self.write(from, end),
            Op::Discard => {
                self.trim(from, end);
                self.model.write_access
            }
            Op::Flush => {
                self.counters.flushes += 1;
                self.model.write_access
            }
        }
    }

    fn write(&mut self, from: u64, end: u64) -> Nanos {
        let unit_bytes = self.model.allocation_unit.0;
        let mut time = Nanos::ZERO;
        let mut at = from;
        while at < end {
            let unit = at / unit_bytes;
            let start = unit * unit_bytes;
            let until = end.min(start + unit_bytes);
            time += self.write_to(unit, at - start..until - start);
            at = until;
        }
        time
    }

    /// Writes these bytes of a unit, given as offsets in it, and returns the time that this takes.
    fn write_to(&mut self, unit: u64, bytes: Range<u64>) -> Nanos {
        let page = self.model.page.0;
        let pages = bytes.start / page..bytes.end.div_ceil(page);
        let count = pages.end - pages.start;
        let mut time = Nanos::ZERO;
        if let Some(index) = self.open.iter().position(|open| open.unit == unit) {
            if self.takes(&self.open[index], &bytes, count) {
                self.open[index..].rotate_left(1);
            } else {
                time += self.close(index);
                self.open_unit(unit);
            }
        } else {
            if self.open.len() >= self.model.open_units as usize {
                time += self.close(0);
            }
            self.open_unit(unit);
        }
        let Some(open) = self.open.last_mut() else { return time };
        let skipped =
            if self.model.any_order { 0..0 } else { open.next.div_ceil(page)..pages.start };
        let copied = skipped.end.saturating_sub(skipped.start);
        skipped.chain(pages).for_each(|page| open.written[page as usize] = true);
        open.used += copied + count;
        open.next = bytes.end;
        self.counters.media_written_sectors += (self.model.page * count).sectors().0;
        time + self.copy(unit, copied) + self.model.write_rate.time_for(self.model.page) * count
    }

    /// Returns whether an open unit can take these bytes, which are `pages` pages, without a copy
    /// of the whole unit.
    fn takes(&self, open: &OpenUnit, bytes: &Range<u64>, pages: u64) -> bool {
        if self.model.any_order {
            (open.used + pages) * self.model.page.0 <= self.model.allocation_unit.0
        } else {
            // Writing may continue in the page written last.
            bytes.start >= open.next
        }
    }

    fn open_unit(&mut self, unit: u64) {
        let pages = self.model.allocation_unit.0.div_ceil(self.model.page.0);
        let mut written = self.spare.pop().unwrap_or_default();
        written.clear();
        written.resize(pages as usize, false);
        self.open.push(OpenUnit { unit, written, used: 0, next: 0 });
    }

    /// Copies the pages of a unit that were not written anew, erases the old unit, and returns the
    /// time that this takes.
    fn close(&mut self, index: usize) -> Nanos {
        let OpenUnit { unit, written, .. } = self.open.remove(index);
        let anew = written.iter().filter(|&&written| written).count() as u64;
        self.spare.push(written);
        let start = unit * self.model.allocation_unit.0;
        let pages =
            self.model.allocation_unit.0.min(self.bytes - start).div_ceil(self.model.page.0);
        let time = self.copy(unit, pages.saturating_sub(anew));
        self.trimmed[unit as usize] = false;
        self.counters.erased_blocks += 1;
        time + self.model.erase_unit
    }

    fn copy(&mut self, unit: u64, pages: u64) -> Nanos {
        if self.trimmed[unit as usize] {
            return Nanos::ZERO;
        }
        let bytes = self.model.page * pages;
        self.counters.moved_sectors += bytes.sectors().0;
        self.counters.media_written_sectors += bytes.sectors().0;
        self.model.copy_rate.time_for(bytes)
    }

    /// Discards the data of the units that lie wholly within the range.
    fn trim(&mut self, from: u64, end: u64) {
        let unit_bytes = self.model.allocation_unit.0;
        let end = if end == self.bytes { end.next_multiple_of(unit_bytes) } else { end };
        let units = from.div_ceil(unit_bytes)..end / unit_bytes;
        units.clone().for_each(|unit| self.trimmed[unit as usize] = true);
        self.open.retain(|open| !units.contains(&open.unit));
    }
}

impl PortedDrive for CardDisk {
    fn port(&self) -> &Port {
        &self.port
    }

    fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    fn next_step(&self) -> Option<Nanos> {
        self.port.next_command()
    }

    fn step(&mut self, at: Nanos) {
        let Some(request) = self.port.take() else { return };
        let started = at.max(self.free);
        let time = self.serve(request);
        #[cfg(test)]
        let time = if Bug::HalfATransfer.is_planted() { Nanos(time.0 / 2) } else { time };
        self.free = started.saturating_add(time);
        self.counters.busy_ns += time.0;
        self.port.finish(Completion { id: request.id, at: self.free, started });
    }

    fn totals(&self) -> Counters {
        self.counters
    }
}
