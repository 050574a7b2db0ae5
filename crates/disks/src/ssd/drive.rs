//! The drive: how it handles commands that arrive, and those under way.

use std::collections::VecDeque;
use std::ops::Range;

use disklab_config::device::Ssd;
use disklab_units::{Bytes, Nanos, Sectors, Seed};

use super::agenda::FlashEvent;
use super::flash::{Flash, FlashOutcome};
use super::map::UnitPlace;
use super::shape::UNIT;
use crate::event_log::EventLog;
#[cfg(test)]
use crate::plant::Bug;
use crate::port::{Port, PortSpeed, PortedDrive, earlier};
use crate::{Completion, Counters, Op, Request};

/// Time without a command after which a drive does the work that it postponed. This is an estimate,
/// because drives do not document it.
const REST_AFTER: Nanos = Nanos::from_millis(100);

#[derive(Clone)]
pub(crate) struct SsdDisk {
    port: Port,
    flash: Flash,
    /// Commands that move data, by slot.
    moving: Vec<DataCommand>,
    free: Vec<u32>,
    /// Writes that wait for room in the buffer.
    stalled: VecDeque<DataCommand>,
    /// Flushes and FUA writes that wait for the medium, in order of the log.
    durable: VecDeque<DurableCommand>,
    /// The link's time for the protocol around the data of a read.
    read_command: Nanos,
    /// Number of units of the buffer that must be free before it takes a write again after it was
    /// full.
    drain: u64,
    /// Number of units that must be free now before a stalled write continues.
    wanted_free: u64,
    /// The time of a flush when there is something to flush.
    flush: Nanos,
    /// Whether data was written since the last flush.
    unflushed: bool,
    /// Whether the buffer survives a power cut, so that nothing needs to wait for the medium.
    power_loss_protection: bool,
    /// Time since which no command has been in service; `None` while one is.
    quiet_since: Option<Nanos>,
    /// Whether a [`FlashEvent::Rest`] is on the agenda.
    rest_planned: bool,
    sectors: u64,
    counters: Counters,
}

#[derive(Debug, Clone, Copy)]
struct DataCommand {
    request: Request,
    started: Nanos,
    bytes: Bytes,
    /// The bytes of a read that have not crossed the link.
    to_send: Bytes,
}

/// A command that completes when all of the log before `place` is on the medium.
#[derive(Debug, Clone, Copy)]
struct DurableCommand {
    place: u64,
    request: Request,
    started: Nanos,
    /// Whether the command is a flush that had something to flush.
    pays: bool,
}

impl DataCommand {
    /// Returns the units of the map that the command touches, or none if it has no bytes.
    fn units(&self) -> Range<u32> {
        let start = self.request.sector * Sectors::SIZE;
        (start / UNIT.0) as u32..(start + self.bytes.0).div_ceil(UNIT.0) as u32
    }
}

impl SsdDisk {
    pub fn new(model: &Ssd, bytes: Bytes, seed: Seed) -> Self {
        Self {
            port: Port::new(PortSpeed {
                decode: model.command_overhead,
                pace: Nanos::ZERO,
                link: model.link,
                link_command: model.link_command,
                depth: model.queue_depth,
                queued_flush: model.queued_flush,
            }),
            flash: Flash::new(model, bytes, seed),
            moving: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            stalled: VecDeque::with_capacity(64),
            durable: VecDeque::with_capacity(16),
            read_command: model.link_command_read.unwrap_or(model.link_command),
            drain: model.write_drain.map_or(0, |bytes| bytes.0 / UNIT.0),
            wanted_free: 0,
            flush: model.flush,
            unflushed: false,
            power_loss_protection: model.power_loss_protection,
            quiet_since: None,
            rest_planned: false,
            sectors: bytes.sectors().0,
            counters: Counters::default(),
        }
    }

    /// Plans a rest if no command is in service. The drive does its postponed work when that has
    /// lasted for [`REST_AFTER`].
    fn plan_rest(&mut self, at: Nanos) {
        // A command that has arrived by now may have come later than this time; the next command
        // makes up for the rest.
        if self.port.in_service() > 0 {
            self.quiet_since = None;
            return;
        }
        let since = *self.quiet_since.get_or_insert(at);
        if !self.rest_planned && self.flash.could_rest() {
            self.rest_planned = true;
            self.flash.agenda.schedule(since.saturating_add(REST_AFTER), FlashEvent::Rest);
        }
    }

    fn accept(&mut self, at: Nanos, request: Request) {
        self.flash.resting = false;
        self.quiet_since = None;
        let Range { start: from, end } = request.sectors_below(self.sectors);
        let bytes = Sectors(end - from).bytes();
        let moving = DataCommand { request, started: at, bytes, to_send: bytes };
        match request.op {
            Op::Read if from < end => self.accept_read(at, moving, from * Sectors::SIZE),
            Op::Write if from < end => {
                if self.stalled.is_empty() && self.flash.log.fits(moving.units().len() as u64) {
                    self.begin_write(at, moving);
                } else {
                    if self.stalled.is_empty() {
                        self.wanted_free = self.drain;
                    }
                    self.stalled.push_back(moving);
                    self.flash.favour_programs = true;
                    self.keep_moving(at);
                }
            }
            Op::Flush => self.accept_flush(at, request),
            // These change only the map: zeroes are recorded there and not written.
            _ => {
                self.trim(from..end);
                self.port.answer(at, request.id, at);
            }
        }
    }

    /// Removes the data of the units that lie wholly within these sectors.
    fn trim(&mut self, sectors: Range<u64>) {
        let unit = UNIT.sectors().0;
        self.flash.map.trim(sectors.start.div_ceil(unit) as u32..(sectors.end / unit) as u32);
    }

    fn accept_read(&mut self, at: Nanos, moving: DataCommand, start: u64) {
        let slot = self.slot(moving);
        let row = self.flash.map.shape.units_per_row;
        let Range { start: mut unit, end } = moving.units();
        let mut in_memory = Bytes::ZERO;
        while unit < end {
            let place = self.flash.map.place(unit);
            let row_end = end.min((unit / row + 1).saturating_mul(row));
            let elsewhere = |&unit: &u32| self.flash.map.place(unit) != place;
            let next = (unit + 1..row_end).find(elsewhere).unwrap_or(row_end);
            let bytes = (UNIT * u64::from(next)).0.min(start + moving.bytes.0)
                - (UNIT * u64::from(unit)).0.max(start);
            match place {
                UnitPlace::Block(block) => {
                    self.flash.read(at, (unit, block), (slot, Bytes(bytes)));
                }
                // A unit that is nowhere reads as zeroes.
                UnitPlace::Buffer | UnitPlace::Nowhere => in_memory += Bytes(bytes),
            }
            unit = next;
        }
        if in_memory > Bytes::ZERO {
            self.counters.cache_hits += u64::from(in_memory == moving.bytes);
            self.send(at, slot, in_memory);
        }
    }

    fn slot(&mut self, moving: DataCommand) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.moving[slot as usize] = moving;
            return slot;
        }
        self.moving.push(moving);
        self.moving.len() as u32 - 1
    }

    /// Transfers a write's data to the buffer, which has room for it. The write completes when the
    /// data has arrived, unless it must be on the medium.
    fn begin_write(&mut self, at: Nanos, write: DataCommand) {
        self.unflushed = true;
        self.flash.log.expect(write.units());
        for unit in write.units() {
            self.flash.map.buffer(unit);
        }
        let there = self.port.last_transfer(at, write.bytes);
        if !self.waits_for_medium(&write) {
            let DataCommand { request, started, .. } = write;
            self.port.finish(Completion { id: request.id, at: there, started });
        }
        let slot = self.slot(DataCommand { to_send: Bytes::ZERO, ..write });
        self.flash.agenda.schedule(there, FlashEvent::Written(slot));
    }

    /// Returns whether a write completes only when it is on the medium.
    fn waits_for_medium(&self, write: &DataCommand) -> bool {
        let waits = write.request.fua && !self.power_loss_protection;
        #[cfg(test)]
        let waits = waits && !Bug::LostFua.is_planted();
        waits
    }

    fn accept_flush(&mut self, at: Nanos, request: Request) {
        let pays = std::mem::take(&mut self.unflushed);
        let waits = !self.power_loss_protection;
        #[cfg(test)]
        let waits = waits && !Bug::LostFlush.is_planted();
        let place = if waits { self.flash.log.force() } else { 0 };
        self.durable.push_back(DurableCommand { place, request, started: at, pays });
        self.flash.program(at);
        self.finish_durable(at);
    }

    fn handle(&mut self, at: Nanos, event: FlashEvent) {
        let outcome = match event {
            FlashEvent::Die(die) => self.flash.die_event(at, die),
            FlashEvent::Channel(channel) => self.flash.channel_event(at, channel),
            FlashEvent::Firm(die) => return self.flash.firm_event(at, die),
            FlashEvent::Written(slot) => return self.finish_write(at, slot),
            FlashEvent::Rest => {
                self.rest_planned = false;
                if self.quiet_since.is_some_and(|since| since.saturating_add(REST_AFTER) <= at) {
                    self.flash.rest(at);
                }
                return;
            }
        };
        match outcome {
            FlashOutcome::Nothing => {}
            FlashOutcome::Out(read) => {
                self.counters.media_read_sectors += read.bytes.sectors().0;
                self.send(at, read.request, read.bytes);
            }
            FlashOutcome::Programmed => {
                self.finish_durable(at);
                self.admit_stalled(at);
            }
        }
    }

    /// Sends a part of a read's data over the link, and completes the read after the last part.
    fn send(&mut self, at: Nanos, slot: u32, bytes: Bytes) {
        let read = &mut self.moving[slot as usize];
        read.to_send = read.to_send.saturating_sub(bytes);
        if read.to_send > Bytes::ZERO {
            self.port.transfer(at, bytes);
            return;
        }
        let (id, started) = (read.request.id, read.started);
        let done = self.port.last_transfer_with(at, bytes, self.read_command);
        self.port.finish(Completion { id, at: done, started });
        self.free.push(slot);
    }

    /// Notes that a write's data is in the buffer.
    fn finish_write(&mut self, at: Nanos, slot: u32) {
        let write = self.moving[slot as usize];
        self.free.push(slot);
        self.flash.log.arrive(write.units().len() as u64);
        if self.waits_for_medium(&write) {
            let DataCommand { request, started, .. } = write;
            let place = self.flash.log.force();
            self.durable.push_back(DurableCommand { place, request, started, pays: false });
        }
        self.flash.program(at);
        self.keep_moving(at);
    }

    fn admit_stalled(&mut self, at: Nanos) {
        if self.flash.log.free() >= self.wanted_free {
            self.wanted_free = 0;
        }
        while self.wanted_free == 0
            && let Some(&write) = self.stalled.front()
        {
            if !self.flash.log.fits(write.units().len() as u64) {
                self.wanted_free = self.drain;
                break;
            }
            self.stalled.pop_front();
            self.begin_write(at, DataCommand { started: at, ..write });
        }
        // The prefetched writes are as many as the next programmed row makes room for.
        for write in self.stalled.iter().take(self.flash.map.shape.units_per_row as usize) {
            self.flash.map.expect_write(write.units().start);
        }
        self.flash.favour_programs = !self.stalled.is_empty();
        self.keep_moving(at);
    }

    /// Programs an incomplete row if a write waits for room and no other event would fill the row.
    fn keep_moving(&mut self, at: Nanos) {
        if !self.stalled.is_empty() && self.flash.log.is_still() {
            self.flash.log.force();
            self.flash.program(at);
        }
    }

    /// Completes the commands that waited for data that is on the medium by now.
    fn finish_durable(&mut self, at: Nanos) {
        while let Some(&DurableCommand { place, request, started, pays }) = self.durable.front() {
            if place > self.flash.log.safe {
                break;
            }
            self.durable.pop_front();
            self.counters.flushes += u64::from(request.op == Op::Flush);
            let done = self.port.last_transfer(at, Bytes::ZERO);
            let done = done.saturating_add(if pays { self.flush } else { Nanos::ZERO });
            self.port.finish(Completion { id: request.id, at: done, started });
        }
    }

    /// Returns a time before which no command in service completes. A read's last data must leave a
    /// die, and the rest of it must cross the link. A write or flush whose end is not known waits
    /// for a row to be programmed.
    fn earliest_end(&self) -> Option<Nanos> {
        let reads =
            || self.moving.iter().map(|read| read.to_send).filter(|&bytes| bytes > Bytes::ZERO);
        let read = reads().min().zip(self.flash.earliest_out());
        let read =
            read.map(|(to_send, out)| self.port.earliest_transfer(out, to_send, self.read_command));
        let others = self.port.in_service() as usize > reads().count();
        let other =
            if others { self.flash.earliest_programmed(self.flash.agenda.next_at()) } else { None };
        earlier(read, other)
    }
}

impl PortedDrive for SsdDisk {
    fn port(&self) -> &Port {
        &self.port
    }

    fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    fn next_step(&self) -> Option<Nanos> {
        earlier(self.port.next_command(), self.flash.agenda.next_at())
    }

    /// Handles events before commands, so that the data of a write counts for a flush that follows
    /// it at once.
    fn step(&mut self, at: Nanos) {
        if let Some(event) = self.flash.agenda.pop_due(at) {
            self.handle(at, event);
        } else if let Some(request) = self.port.take() {
            self.accept(at, request);
        }
        self.plan_rest(at);
    }

    fn expect(&self, request: &Request) {
        if request.sector < self.sectors {
            self.flash.map.expect((request.sector * Sectors::SIZE / UNIT.0) as u32);
        }
    }

    fn next_end(&self, settled: Option<Nanos>) -> Option<Nanos> {
        let sure = earlier(settled, self.port.next_command());
        // No completion becomes known before the next event inside the drive.
        match self.flash.agenda.next_at() {
            Some(next) if sure.is_none_or(|sure| next < sure) => earlier(sure, self.earliest_end()),
            _ => sure,
        }
    }

    fn totals(&self) -> Counters {
        let done = &self.flash.work_done;
        Counters {
            busy_ns: self.flash.busy(self.port.clock).0,
            destages: done.programs,
            media_written_sectors: (self.flash.row * done.programs).sectors().0,
            moved_sectors: done.moved.sectors().0,
            erased_blocks: done.erased_blocks,
            ..self.counters
        }
    }

    fn for_each_log(&mut self, mut visit: impl FnMut(&mut EventLog)) {
        visit(&mut self.port.event_log);
        visit(&mut self.flash.event_log);
    }
}
