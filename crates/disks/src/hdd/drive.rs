//! The drive's state, and how it handles commands that arrive and commands that wait.

use std::collections::VecDeque;
use std::ops::Range;

use disklab_config::device::{Hdd, Retries};
use disklab_units::{Bytes, Nanos, Random, Seed};

use super::activity::Activity;
use super::detailed::{DetailedHdd, DriveDetail};
use super::geometry::Arm;
use super::mechanics::Mechanics;
use super::queue::{Command, CommandQueue};
use super::segments::ReadCache;
use super::write_buffer::WriteBuffer;
#[cfg(test)]
use crate::plant::Bug;
use crate::port::{Port, PortSpeed, PortedDrive, earlier};
use crate::shared::Shared;
use crate::{Completion, Counters, Op, Request};

#[derive(Clone)]
pub(crate) struct HddDisk {
    pub(super) port: Port,
    pub(super) mechanics: Shared<Mechanics>,
    /// The place at which the mechanism's last work left the arm.
    pub(super) arm: Arm,
    pub(super) activity: Activity,
    /// The sector behind the mechanism's last work, if that was a read.
    pub(super) read_up_to: Option<u64>,
    /// Commands that need the medium.
    pub(super) queue: CommandQueue,
    pub(super) segments: ReadCache,
    /// Number of sectors that the drive reads ahead.
    pub(super) look_ahead: u64,
    write_cache: bool,
    pub(super) buffer: WriteBuffer,
    /// Writes that wait for room in the buffer.
    pub(super) stalled: VecDeque<Command>,
    /// The flush in service.
    pub(super) flush: Option<Command>,
    /// Commands that are done and not reported yet. The drive reports `completion_batch` of them at
    /// once.
    unreported: Vec<Completion>,
    completion_batch: usize,
    pub(super) retries: Option<(Retries, Random)>,
    /// The details of a drive that was measured beyond its data sheet.
    pub(super) detail: Option<Box<DriveDetail>>,
    pub(super) counters: Counters,
}

impl HddDisk {
    pub fn new(model: &Hdd, bytes: Bytes, seed: Seed) -> Self {
        let segment = model.cache.sectors().0 / u64::from(model.cache_segments.max(1));
        let segments = ReadCache::new(model.cache_segments, segment);
        let port = Port::new(PortSpeed {
            decode: model.command_overhead,
            pace: model.command_overhead,
            link: model.link,
            link_command: Nanos::ZERO,
            depth: model.queue_depth,
            queued_flush: false,
        });
        let random = Random::new(seed.derive("retries"));
        let mechanics = Mechanics::new(model, bytes, seed);
        Self {
            queue: CommandQueue::new(model, &mechanics, seed),
            look_ahead: model.look_ahead.sectors().0.min(segments.size),
            write_cache: model.write_cache,
            buffer: WriteBuffer::new(model.write_buffer.sectors().0, model.write_window),
            completion_batch: model.completion_batch.max(1) as usize,
            retries: model.retries.clone().map(|retries| (retries, random)),
            ..Self::simple(port, mechanics, segments)
        }
    }

    /// Builds a drive from its measured parameters. `start` is the time since angle 0 passed the
    /// head, at time 0.
    pub fn detailed(model: &DetailedHdd, start: Nanos) -> Self {
        let segments = ReadCache::new(model.cache.segments, model.cache.segment);
        let write_room = u64::from(model.cache.segments.max(1)) * segments.size;
        // The times of a command depend on its kind and are in `detail`, together with the cable's.
        let port = Port::new(PortSpeed::default());
        Self {
            look_ahead: model.cache.look_ahead.sectors,
            write_cache: model.cache.write_cache,
            buffer: WriteBuffer::new(write_room, 1),
            detail: Some(Box::new(DriveDetail::new(model))),
            ..Self::simple(port, Mechanics::detailed(model, start), segments)
        }
    }

    /// Returns a drive that takes one command at a time, and neither reads ahead nor buffers
    /// writes.
    fn simple(port: Port, mechanics: Mechanics, segments: ReadCache) -> Self {
        Self {
            port,
            mechanics: Shared::new(mechanics),
            arm: Arm { cylinder: 0, surface: 0 },
            activity: Activity::Idle,
            read_up_to: None,
            queue: CommandQueue::of_one(),
            segments,
            look_ahead: 0,
            write_cache: false,
            buffer: WriteBuffer::new(0, 1),
            stalled: VecDeque::with_capacity(64),
            flush: None,
            unreported: Vec::with_capacity(16),
            completion_batch: 1,
            retries: None,
            detail: None,
            counters: Counters::default(),
        }
    }

    fn accept(&mut self, at: Nanos, request: Request) {
        let Range { start: from, end } = request.sectors_below(self.mechanics.geometry.sectors);
        let command = Command { request, since: at, from, end };
        match request.op {
            #[cfg(test)]
            Op::Flush if Bug::LostFlush.is_planted() => {
                self.flush = Some(command);
                self.finish_flush(at);
            }
            Op::Flush => self.flush = Some(command),
            Op::Read if from < end => self.accept_read(at, command),
            Op::Write | Op::WriteZeroes if from < end => self.accept_write(at, command),
            // A hard disk does not record which sectors are in use, so a discard has no effect.
            _ => self.port.answer(at, request.id, at),
        }
    }

    /// Serves a read from memory, or queues it for the medium. A read that is only partly in the
    /// write buffer is read from the medium as a whole.
    fn accept_read(&mut self, at: Nanos, mut command: Command) {
        if let Some(detail) = &mut self.detail {
            detail.read_arrives(at, command.from, command.end);
        }
        if self.buffer.holds(command.from, command.end) {
            return self.hit(at, &command);
        }
        self.catch_up_for(at, command.from);
        while let Some(segment) = self.segments.find(command.from) {
            command.from = self.segments.range(segment).end;
            if command.from >= command.end {
                self.hit(at, &command);
                return self.keep_ahead(at, segment, command.end);
            }
            if let Some(detail) = &mut self.detail {
                detail.sends_at_once();
            }
        }
        self.enqueue(command, false);
    }

    /// Completes a read whose data is in the drive's memory.
    pub(super) fn hit(&mut self, at: Nanos, command: &Command) {
        self.counters.cache_hits += 1;
        let done = match &self.detail {
            None => self.port.last_transfer(at, command.bytes()),
            Some(detail) => detail.hit_done(command.bytes().sectors().0),
        };
        self.port.finish(Completion { id: command.request.id, at: done, started: at });
    }

    fn accept_write(&mut self, at: Nanos, command: Command) {
        let sectors = command.end - command.from;
        if let Some(detail) = &mut self.detail {
            let medium = self.mechanics.geometry.sector_time(command.from);
            detail.write_arrives(at, command.from, sectors, medium);
            self.stop_ahead(at);
            self.segments.forget(&(command.from..command.end));
        }
        // The host sends no zeroes; the drive writes them like data, straight to the medium.
        let zeroes = command.request.op == Op::WriteZeroes;
        let fua = command.request.fua;
        #[cfg(test)]
        let fua = fua && !Bug::LostFua.is_planted();
        let through = !self.write_cache || fua || zeroes || !self.buffer.could_fit(sectors);
        if through {
            if !zeroes && self.detail.is_none() {
                // The link is faster than the medium, so the data is in memory before the arm is in
                // place.
                self.port.transfer(at, command.bytes());
            }
            self.enqueue(command, true);
        } else if self.stalled.is_empty() && self.buffer.fits(sectors) {
            self.buffer_write(at, &command);
        } else {
            self.stalled.push_back(command);
        }
    }

    fn enqueue(&mut self, command: Command, write: bool) {
        let place = self.mechanics.geometry.place(command.from);
        self.queue.push(command, self.mechanics.target(place, write));
    }

    /// Takes a write into the buffer, which has room for it. Read segments that hold the same
    /// sectors stay, because the model assumes that the drive updates them.
    fn buffer_write(&mut self, at: Nanos, command: &Command) {
        let mechanics = &self.mechanics;
        let target = |sector| mechanics.target(mechanics.geometry.place(sector), true);
        self.buffer.insert(command.from, command.end, target);
        let done = match &self.detail {
            None => self.port.last_transfer(at, command.bytes()),
            Some(detail) => detail.cached_write_done(at.max(detail.taken)),
        };
        self.keep_written(command.from..command.end);
        self.port.finish(Completion { id: command.request.id, at: done, started: at });
    }

    /// Keeps written data in a segment like data that was read, if the drive does so.
    pub(super) fn keep_written(&mut self, sectors: Range<u64>) {
        if self.detail.as_ref().is_some_and(|detail| detail.cache.keeps_written) {
            let segment = self.segments.open(sectors.start);
            self.segments.grow(segment, sectors.end);
        }
    }

    /// Reports a command that needed the medium and is done, or keeps it for its batch.
    pub(super) fn report(&mut self, completion: Completion) {
        #[cfg(test)]
        let completion = match completion {
            Completion { id, at, started } if Bug::EarlyAnswer.is_planted() => {
                Completion { id, at: started + Nanos((at - started).0 / 2), started }
            }
            _ => completion,
        };
        if self.completion_batch > 1 {
            self.unreported.push(completion);
        } else {
            self.port.finish(completion);
        }
    }

    /// Reports the completed commands if they fill a batch, or if no other command waits.
    fn report_batch(&mut self, at: Nanos) {
        let whole = self.unreported.len() >= self.completion_batch;
        #[cfg(test)]
        let whole = whole && !Bug::EndlessBatch.is_planted();
        let last = self.queue.commands.is_empty();
        #[cfg(test)]
        let last = last && !Bug::KeptBatch.is_planted();
        if whole || last {
            for completion in self.unreported.drain(..) {
                self.port.finish(Completion { at: completion.at.max(at), ..completion });
            }
        }
    }

    /// Admits writes that waited for room in the buffer, as far as there is room now.
    pub(super) fn admit_stalled(&mut self, at: Nanos) {
        while let Some(&command) = self.stalled.front() {
            if !self.buffer.fits(command.end - command.from) {
                break;
            }
            self.stalled.pop_front();
            self.buffer_write(at, &command);
        }
    }

    /// Completes a flush that waited for the buffer to become empty.
    pub(super) fn finish_flush(&mut self, at: Nanos) {
        if let Some(Command { request, since, .. }) = self.flush.take() {
            self.counters.flushes += 1;
            self.port.answer(at, request.id, since);
        }
    }
}

impl PortedDrive for HddDisk {
    fn port(&self) -> &Port {
        &self.port
    }

    fn port_mut(&mut self) -> &mut Port {
        &mut self.port
    }

    /// A command that is decoded at the very time at which the mechanism becomes free takes part in
    /// the choice.
    fn next_step(&self) -> Option<Nanos> {
        earlier(self.port.next_command(), self.activity_end())
    }

    fn step(&mut self, at: Nanos) {
        let command = if self.port.next_command() == Some(at) { self.port.take() } else { None };
        if let Some(request) = command {
            self.accept(at, request);
        } else {
            self.finish_activity(at);
            self.report_batch(at);
        }
        self.choose(at);
    }

    fn totals(&self) -> Counters {
        self.counters
    }
}
