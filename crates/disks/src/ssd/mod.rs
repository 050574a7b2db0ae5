//! A solid-state disk.
//!
//! A command is decoded, cut into pages that are read in parallel from the dies ([`flash`]), and its data leaves over
//! the one link, page by page. A write is done for the host once it is in the buffer, which the dies empty as a
//! [`log`] by whole pages.
//!
//! Placement is the simplest there is: reads find a page on the die that its address names, programs take the next
//! idle die. Not modelled yet: mapping of addresses and collection of garbage (so writing never slows down with age),
//! erasing, suspending a program for a read, reading from the write buffer, pages without data.

mod flash;
mod log;

use std::collections::VecDeque;

use disklab_des::Calendar;
use disklab_spec::device::Ssd;
use disklab_units::{Bytes, Nanos, Sectors, Seed};

use self::flash::{Flash, Outcome};
use self::log::Log;
use crate::port::{Port, PortSpeed};
use crate::{Completion, Counters, Disk, Op, Request};

/// What happens inside the drive.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Event {
    /// A die has sensed or programmed a page.
    Die(u32),
    /// A transfer over a channel is over.
    Channel(u32),
    /// A write's data, by its slot, is in the buffer.
    Written(u32),
}

pub(crate) struct SsdDisk {
    port: Port,
    flash: Flash,
    calendar: Calendar<Event>,
    log: Log,
    /// Commands that move data, by slot.
    moving: Vec<Moving>,
    free: Vec<u32>,
    /// Writes that wait for room in the buffer.
    stalled: VecDeque<Moving>,
    /// Flushes and writes that must be on the medium, in order of the log.
    durable: VecDeque<Durable>,
    /// What a flush takes when there was something to flush.
    flush: Nanos,
    /// Something was written since the last flush.
    unflushed: bool,
    sectors: u64,
    clock: Nanos,
    counters: Counters,
}

#[derive(Debug, Clone, Copy)]
struct Moving {
    request: Request,
    started: Nanos,
    bytes: Bytes,
    /// Of a read: what has not crossed the link.
    to_send: Bytes,
}

/// Completes when the log's pages before `page` are on the medium.
#[derive(Debug, Clone, Copy)]
struct Durable {
    page: u64,
    request: Request,
    started: Nanos,
}

impl SsdDisk {
    pub fn new(model: &Ssd, bytes: Bytes, seed: Seed) -> Self {
        let flash = Flash::new(model, seed);
        Self {
            port: Port::new(PortSpeed {
                decode: model.command_overhead,
                pace: Nanos::ZERO,
                link: model.link,
                link_command: model.link_command,
                depth: model.queue_depth,
                queued_flush: model.queued_flush,
            }),
            log: Log::new(model.write_buffer, flash.page()),
            flash,
            calendar: Calendar::with_capacity(256),
            moving: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            stalled: VecDeque::with_capacity(64),
            durable: VecDeque::with_capacity(16),
            flush: model.flush,
            unflushed: false,
            sectors: bytes.sectors().0,
            clock: Nanos::ZERO,
            counters: Counters::default(),
        }
    }

    /// Lets everything happen up to `now`, and beyond that whatever no later command could change.
    fn run(&mut self, now: Nanos) {
        let sure_before = self.port.next_decoded(now);
        while let Some(at) = self.next_step() {
            if at > now && at >= sure_before {
                break;
            }
            self.clock = at;
            if let Some((_, event)) = self.calendar.pop_due(at) {
                self.handle(at, event);
            } else if let Some(request) = self.port.take() {
                self.accept(at, request);
            }
        }
    }

    /// Events before commands: what a write brought in is there for a flush that follows it at once.
    fn next_step(&self) -> Option<Nanos> {
        [self.next_command(), self.calendar.next_at()].into_iter().flatten().min()
    }

    fn next_command(&self) -> Option<Nanos> {
        self.port.next_command().map(|at| at.max(self.clock))
    }

    fn accept(&mut self, at: Nanos, request: Request) {
        let from = request.sector.min(self.sectors);
        let end = request.sector.saturating_add(u64::from(request.sectors)).min(self.sectors);
        let bytes = Sectors(end - from).bytes();
        let moving = Moving { request, started: at, bytes, to_send: bytes };
        match request.op {
            Op::Read if from < end => self.accept_read(at, moving, from * Sectors::SIZE),
            Op::Write if from < end => {
                if self.stalled.is_empty() && self.log.fits(bytes) {
                    self.begin_write(at, moving);
                } else {
                    self.stalled.push_back(moving);
                    self.flash.favour_programs = true;
                    self.keep_moving(at);
                }
            }
            Op::Flush => self.accept_flush(at, request),
            // Discards and zeroes change the mapping only.
            _ => {
                let done = self.port.last_transfer(at, Bytes::ZERO);
                self.port.finish(Completion { id: request.id, at: done, started: at });
            }
        }
    }

    fn accept_read(&mut self, at: Nanos, moving: Moving, start: u64) {
        let slot = self.slot(moving);
        let page = self.flash.page().0;
        let end = start + moving.bytes.0;
        let mut from = start;
        while from < end {
            let to = end.min((from / page + 1) * page);
            self.flash.read(at, from / page, slot, Bytes(to - from), &mut self.calendar);
            from = to;
        }
    }

    fn slot(&mut self, moving: Moving) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.moving[slot as usize] = moving;
            return slot;
        }
        self.moving.push(moving);
        self.moving.len() as u32 - 1
    }

    /// Data leaves for the buffer, which has room for it. Unless it must be on the medium, the write is done when the
    /// data has arrived.
    fn begin_write(&mut self, at: Nanos, write: Moving) {
        self.unflushed = true;
        self.log.expect(write.bytes);
        let there = self.port.last_transfer(at, write.bytes);
        if !write.request.fua {
            self.port.finish(Completion { id: write.request.id, at: there, started: write.started });
        }
        let slot = self.slot(Moving { to_send: Bytes::ZERO, ..write });
        self.calendar.schedule(there, Event::Written(slot));
    }

    fn accept_flush(&mut self, at: Nanos, request: Request) {
        self.log.pad();
        self.durable.push_back(Durable { page: self.log.end_page(), request, started: at });
        self.program(at);
        self.finish_durable(at);
    }

    fn handle(&mut self, at: Nanos, event: Event) {
        let outcome = match event {
            Event::Die(die) => self.flash.die_event(at, die, &mut self.calendar),
            Event::Channel(channel) => self.flash.channel_event(at, channel, &mut self.calendar),
            Event::Written(slot) => {
                self.finish_write(at, slot);
                Outcome::Nothing
            }
        };
        match outcome {
            Outcome::Nothing => {}
            Outcome::Out(read) => self.send(at, read.request, read.bytes),
            Outcome::Programmed => {
                self.counters.destages += 1;
                self.counters.media_written_sectors += self.flash.page().sectors().0;
                self.log.programmed();
                self.finish_durable(at);
                self.admit_stalled(at);
            }
        }
    }

    /// A part of a read's data goes over the link.
    fn send(&mut self, at: Nanos, slot: u32, bytes: Bytes) {
        self.counters.media_read_sectors += bytes.sectors().0;
        let read = &mut self.moving[slot as usize];
        read.to_send = read.to_send.saturating_sub(bytes);
        if read.to_send > Bytes::ZERO {
            self.port.transfer(at, bytes);
            return;
        }
        let (id, started) = (read.request.id, read.started);
        let done = self.port.last_transfer(at, bytes);
        self.port.finish(Completion { id, at: done, started });
        self.free.push(slot);
    }

    /// A write's data is in the buffer.
    fn finish_write(&mut self, at: Nanos, slot: u32) {
        let Moving { request, started, bytes, .. } = self.moving[slot as usize];
        self.free.push(slot);
        self.log.write(bytes);
        if request.fua {
            self.log.pad();
            self.durable.push_back(Durable { page: self.log.end_page(), request, started });
        }
        self.program(at);
        self.keep_moving(at);
    }

    fn program(&mut self, at: Nanos) {
        let pages = self.log.hand_over();
        self.flash.program(at, pages, &mut self.calendar);
    }

    fn admit_stalled(&mut self, at: Nanos) {
        while let Some(&write) = self.stalled.front() {
            if !self.log.fits(write.bytes) {
                break;
            }
            self.stalled.pop_front();
            self.begin_write(at, Moving { started: at, ..write });
        }
        self.flash.favour_programs = !self.stalled.is_empty();
        self.keep_moving(at);
    }

    /// A write that waits for room must not wait for a page that nothing would fill.
    fn keep_moving(&mut self, at: Nanos) {
        if !self.stalled.is_empty() && self.log.is_still() {
            self.log.pad();
            self.program(at);
        }
    }

    /// Completes what waited for pages that are on the medium by now.
    fn finish_durable(&mut self, at: Nanos) {
        if self.durable.is_empty() {
            return;
        }
        let safe = self.flash.durable();
        while let Some(&Durable { page, request, started }) = self.durable.front() {
            if page > safe {
                break;
            }
            self.durable.pop_front();
            let mut done = self.port.last_transfer(at, Bytes::ZERO);
            if request.op == Op::Flush {
                self.counters.flushes += 1;
                if std::mem::take(&mut self.unflushed) {
                    done = done.saturating_add(self.flush);
                }
            }
            self.port.finish(Completion { id: request.id, at: done, started });
        }
    }

    /// No command in service completes before. A read's last data must come out of a die, and all that is left of it
    /// cross the link; a write or flush whose end is not settled waits for some event.
    fn earliest_end(&self) -> Option<Nanos> {
        let reads = || self.moving.iter().map(|read| read.to_send).filter(|&bytes| bytes > Bytes::ZERO);
        let read = reads().min().zip(self.flash.earliest_out());
        let read = read.map(|(to_send, out)| self.port.earliest_transfer(out, to_send));
        let others = self.port.in_service() as usize > reads().count();
        let other = if others { self.calendar.next_at() } else { None };
        [read, other].into_iter().flatten().min()
    }
}

impl Disk for SsdDisk {
    fn submit(&mut self, now: Nanos, request: Request) {
        self.port.submit(now, request);
        self.run(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        let settled = self.port.next_completion();
        if self.port.is_quiet() {
            return settled;
        }
        [settled, self.next_command(), self.earliest_end()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        self.port.deliver(now, done);
    }

    fn counters(&self) -> Counters {
        Counters { busy_ns: self.flash.busy(self.clock).0, ..self.counters }
    }
}
