//! The mechanism's accesses, one at a time, and the choice of the next one.

use std::ops::Range;

use disklab_units::Nanos;

use super::activity::{Access, Activity, Stream};
use super::detailed::LookAheadEnd;
use super::drive::HddDisk;
use super::geometry::Arm;
use super::mechanics::AccessTarget;
use super::queue::Command;
#[cfg(test)]
use crate::plant::Bug;
use crate::{Completion, DiskEvent, Op};

/// The next access, and the time to get there in ns.
enum NextAccess {
    /// A command, by its index in the queue.
    Command(usize, u64),
    /// An extent of the write buffer, by its age.
    Extent(usize, u64),
}

impl NextAccess {
    fn reach(&self) -> u64 {
        match *self {
            Self::Command(_, reach) | Self::Extent(_, reach) => reach,
        }
    }
}

impl HddDisk {
    /// Returns the time at which the present activity ends, if anything waits for that.
    pub(super) fn activity_end(&self) -> Option<Nanos> {
        match &self.activity {
            Activity::Idle => None,
            Activity::Ahead(stream) => {
                self.buffer.has_waiting().then(|| stream.stop.max(self.port.clock))
            }
            Activity::Read { access, .. }
            | Activity::Write { access, .. }
            | Activity::Destage(access) => Some(access.end),
        }
    }

    pub(super) fn finish_activity(&mut self, at: Nanos) {
        self.read_up_to = None;
        match std::mem::replace(&mut self.activity, Activity::Idle) {
            Activity::Idle => {}
            Activity::Ahead(stream) => {
                self.activity = Activity::Ahead(stream);
                self.stop_ahead(at);
            }
            Activity::Read { stream, command, access } => {
                self.leave(&access, command.from..command.end, false, Some(command.request.id));
                self.finish_read(at, stream, &command, access.since);
            }
            Activity::Write { command, access } => {
                self.leave(&access, command.from..command.end, true, Some(command.request.id));
                self.counters.media_written_sectors += command.end - command.from;
                let detail = self.detail.as_ref();
                let done = detail.map_or(at, |detail| detail.write_done(at.max(detail.taken)));
                self.keep_written(command.from..command.end);
                let (id, started) = (command.request.id, access.since);
                self.report(Completion { id, at: done, started });
            }
            Activity::Destage(access) => {
                let extent = self.buffer.finish();
                self.leave(&access, extent.clone(), true, None);
                self.counters.destages += 1;
                self.counters.media_written_sectors += extent.end - extent.start;
                self.admit_stalled(at);
            }
        }
    }

    /// Ends an access: moves the arm, counts its time and logs it. `request` is the id of the
    /// request that needed the access.
    fn leave(&mut self, access: &Access, sectors: Range<u64>, write: bool, request: Option<u32>) {
        self.arm = access.arm;
        let &Access { since, there, end, from, .. } = access;
        self.counters.busy_ns += end.saturating_sub(since).0;
        if write {
            let sectors = sectors.clone();
            self.port.event_log.note(|| DiskEvent::Durable { sectors, taken: since, end });
        }
        let from = from.map(|arm| (since, arm.cylinder, arm.surface));
        let begun = there;
        let event = || DiskEvent::Medium { sectors, write, request, from, begun, end };
        self.port.event_log.note(event);
    }

    fn finish_read(&mut self, at: Nanos, mut stream: Stream, command: &Command, since: Nanos) {
        self.counters.media_read_sectors += self.segments.grow(stream.segment, command.end);
        self.read_up_to = Some(command.end);
        // The drive sent the data on as it came in.
        let done = match &self.detail {
            None => self.port.transfer_along(at, command.bytes()),
            Some(detail) => detail.read_done(at, command.bytes().sectors().0),
        };
        self.report(Completion { id: command.request.id, at: done, started: since });
        self.serve_waiting(at, stream.segment);
        let wanted =
            self.detail.as_ref().map_or(self.look_ahead > 0, |detail| detail.looks_ahead());
        if wanted && self.is_calm() {
            stream.extend(self.read_on_to(stream.segment, command.end), &self.mechanics.geometry);
            self.activity = Activity::Ahead(stream);
        }
    }

    /// Returns the sector at which a stream stops that reads ahead behind a read up to `end`.
    fn read_on_to(&self, segment: usize, end: u64) -> u64 {
        let limit = end + self.look_ahead;
        let Some(detail) = &self.detail else { return limit };
        let geometry = &self.mechanics.geometry;
        let last = end.saturating_sub(1);
        let within = |cylinder| limit.min(geometry.end_of_track(last, cylinder));
        match detail.cache.look_ahead.up_to {
            LookAheadEnd::Anywhere => limit,
            LookAheadEnd::Track => within(false),
            LookAheadEnd::Cylinder => within(true),
            LookAheadEnd::NextTrack => {
                let track = geometry.end_of_track(end, false);
                let held = self.segments.range(segment).start;
                let followed = geometry.end_of_track(held, false) <= end;
                limit.min(if followed { geometry.end_of_track(track, false) } else { track })
            }
        }
    }

    /// Completes or shortens other reads that wait for the data that has come into a segment.
    fn serve_waiting(&mut self, at: Nanos, segment: usize) {
        let held = self.segments.range(segment);
        while let Some(index) = self.queue.find_read_in(&held) {
            if self.queue.commands[index].end <= held.end {
                let (command, _) = self.queue.remove(index);
                self.hit(at, &command);
            } else {
                let target = self.mechanics.target(self.mechanics.geometry.place(held.end), false);
                self.queue.shorten(index, held.end, target);
            }
        }
    }

    /// Returns whether no command waits for the mechanism.
    fn is_calm(&self) -> bool {
        self.queue.commands.is_empty() && self.stalled.is_empty()
    }

    /// Gives a mechanism that serves no command its next access.
    pub(super) fn choose(&mut self, at: Nanos) {
        match &self.activity {
            Activity::Idle => {}
            Activity::Ahead(stream) => {
                if self.is_calm() && self.flush.is_none() && at < stream.stop {
                    return;
                }
                self.catch_up(at);
            }
            _ => return,
        }
        // Until this time the drive is busy with the command itself.
        let begins = self.detail.as_ref().map_or(at, |detail| detail.begins.max(at));
        let busy = (begins - at).0;
        match self.pick(begins) {
            Some(NextAccess::Command(index, reach)) => {
                let reach = busy + reach;
                let (command, target) = self.queue.remove(index);
                if command.request.op == Op::Read {
                    self.begin_read(at, command, &target, reach);
                } else {
                    let access = self.begin_write(at, reach, &target, command.from..command.end);
                    self.activity = Activity::Write { command, access };
                }
            }
            Some(NextAccess::Extent(age, reach)) => {
                if let Some((extent, target)) = self.buffer.begin(age) {
                    let access = self.begin_write(at, busy + reach, &target, extent);
                    self.activity = Activity::Destage(access);
                }
            }
            None => self.finish_flush(at),
        }
    }

    /// Returns the access with the lowest cost: the time to get there, plus the cost of a later
    /// arrival. The write buffer is emptied when no command waits for the medium. It competes with
    /// the commands when a write waits for room in it. The arm moves from `begins` on.
    fn pick(&mut self, begins: Nanos) -> Option<NextAccess> {
        let angle = self.mechanics.angle_at(begins);
        let extent = |disk: &Self| {
            let (age, reach) = disk.buffer.nearest(&disk.mechanics, disk.arm, angle)?;
            Some(NextAccess::Extent(age, reach))
        };
        let command = |disk: &Self, index| {
            let reach = disk.queue.reach(index, &disk.mechanics, disk.arm, angle);
            Some(NextAccess::Command(index, reach))
        };
        let Some(first) = self.queue.commands.first().map(|command| command.since) else {
            return extent(self);
        };
        let stalled = self.stalled.front().map(|command| command.since);
        let oldest = stalled.map_or(first, |stalled| stalled.min(first));
        // The read that continues the last one is next, even if a change of track makes another
        // command a little nearer: to leave a stream and return to it costs more.
        let sequel =
            self.read_up_to.and_then(|sector| self.queue.find_read_in(&(sector..sector + 1)));
        let ageing = &self.queue.ageing;
        let in_turn = |&index: &usize| {
            let later = self.queue.commands[index].since.saturating_sub(oldest);
            later < ageing.patience
        };
        if let Some(index) = sequel.filter(in_turn) {
            return command(self, index);
        }
        let (index, cost) = self.queue.cheapest(&self.mechanics, self.arm, angle, oldest)?;
        let rival = stalled.and_then(|since| {
            let late = self.queue.ageing.cost(since.saturating_sub(oldest));
            extent(self).filter(|access| access.reach() + late < cost)
        });
        rival.or_else(|| command(self, index))
    }

    fn begin_read(&mut self, at: Nanos, command: Command, target: &AccessTarget, reach: u64) {
        let geometry = &self.mechanics.geometry;
        let from = geometry.place(command.from).tape;
        let end = geometry.end_place(command.end);
        // If the stream that reads ahead reaches the data as soon as an access of its own would, it
        // continues, and the sectors in between are cached.
        let ahead = match std::mem::replace(&mut self.activity, Activity::Idle) {
            Activity::Ahead(stream)
                if at < stream.stop
                    && self.segments.range(stream.segment).end <= command.from
                    && stream.when(from).saturating_sub(at).0 <= reach =>
            {
                Some(stream)
            }
            _ => None,
        };
        let (stream, access) = if let Some(mut stream) = ahead {
            self.counters.cache_hits += 1;
            stream.extend(command.end, geometry);
            let (there, end_at) = (stream.when(from), stream.when(end.tape).max(at));
            (stream, Access { since: at, there, end: end_at, from: None, arm: end.arm })
        } else {
            let reach = reach + self.retries();
            let mut access = self.access(at, reach, target, from..end.tape, end.arm);
            if let Some(sooner) = self.read_on_arrival(at, reach, target, &command) {
                access.end = access.end.min(sooner);
            }
            let segment = self.segments.open(command.from);
            let there = at.saturating_add(Nanos(reach));
            (Stream::new(segment, there, from, command.end, &self.mechanics.geometry), access)
        };
        if let Some(detail) = &mut self.detail {
            let geometry = &self.mechanics.geometry;
            let end = access.end;
            detail.sends_from(command.end - command.from, |sectors| {
                stream.when(geometry.end_place(command.from + sectors).tape).min(end)
            });
        }
        self.activity = Activity::Read { stream, command, access };
    }

    /// Returns the time of this read's retries, in whole turns, or 0 for most reads, as chance
    /// decides.
    fn retries(&mut self) -> u64 {
        let Some((retries, random)) = &mut self.retries else { return 0 };
        if random.below(retries.one_in) > 0 {
            return 0;
        }
        (1 + random.below(u64::from(retries.turns))) * self.mechanics.turn
    }

    /// Returns the time at which a read is wholly in the cache if the head arrives in the middle of
    /// it and begins right there, which takes one whole turn. A head that does not do so waits for
    /// the first sector and then reads all others.
    fn read_on_arrival(
        &self,
        at: Nanos,
        reach: u64,
        target: &AccessTarget,
        command: &Command,
    ) -> Option<Nanos> {
        let detail = self.detail.as_ref().filter(|detail| detail.cache.reads_on_arrival)?;
        if self.mechanics.geometry.end_of_track(command.from, false) < command.end {
            return None;
        }
        let takes = Nanos(self.mechanics.travel(self.arm, target) + self.mechanics.turn);
        (reach > 0).then(|| detail.begins.max(at) + takes)
    }

    fn begin_write(
        &mut self,
        at: Nanos,
        reach: u64,
        target: &AccessTarget,
        sectors: Range<u64>,
    ) -> Access {
        self.stop_ahead(at);
        let geometry = &self.mechanics.geometry;
        let (start, end) = (geometry.place(sectors.start), geometry.end_place(sectors.end));
        let reach = self.detail.as_ref().map_or(reach, |detail| {
            (detail.first_turn_with_data(at + Nanos(reach), self.mechanics.turn) - at).0
        });
        self.access(at, reach, target, start.tape..end.tape, end.arm)
    }

    /// Returns an access to the medium that reaches its target after `reach` and covers the range
    /// `tape`.
    fn access(
        &mut self,
        at: Nanos,
        reach: u64,
        target: &AccessTarget,
        tape: Range<u64>,
        end: Arm,
    ) -> Access {
        let distance = self.arm.cylinder.abs_diff(target.arm.cylinder);
        self.counters.seeks += u64::from(distance > 0);
        self.counters.seek_cylinders += u64::from(distance);
        #[cfg(test)]
        let reach = self.plant_reach(at, reach, target);
        let there = at.saturating_add(Nanos(reach));
        let done = there.saturating_add(Nanos(tape.end - tape.start));
        Access { since: at, there, end: done, from: Some(self.arm), arm: end }
    }

    #[cfg(test)]
    fn plant_reach(&self, at: Nanos, reach: u64, target: &AccessTarget) -> u64 {
        let turn = self.mechanics.turn;
        match () {
            () if Bug::SkippedRotation.is_planted() => reach.saturating_sub(turn / 2),
            () if Bug::InstantSeek.is_planted() => {
                (u64::from(target.angle) + turn - self.mechanics.angle_at(at)) % turn
            }
            () => reach,
        }
    }

    /// Updates the segment of a stream that may have read this sector by now.
    pub(super) fn catch_up_for(&mut self, at: Nanos, sector: u64) {
        if let Activity::Ahead(stream) | Activity::Read { stream, .. } = &self.activity {
            let start = self.segments.range(stream.segment).start;
            if (start..stream.limit).contains(&sector) {
                self.catch_up(at);
            }
        }
    }

    /// Adds to a stream's segment the sectors that the stream has read by now.
    fn catch_up(&mut self, at: Nanos) {
        if let Activity::Ahead(stream) | Activity::Read { stream, .. } = &self.activity {
            let (place, sector) = self.mechanics.geometry.head_at(stream.tape_at(at));
            self.counters.media_read_sectors += self.segments.grow(stream.segment, sector);
            self.arm = place.arm;
            self.port.event_log.note(|| DiskEvent::Ahead);
        }
    }

    pub(super) fn stop_ahead(&mut self, at: Nanos) {
        if matches!(self.activity, Activity::Ahead(_)) {
            self.catch_up(at);
            self.activity = Activity::Idle;
        }
    }

    /// Keeps data ready for the next read after a read up to `end` was served from this segment. A
    /// stream that has stopped starts again when half of the data read ahead is used, so that a
    /// slow sequential reader never waits.
    pub(super) fn keep_ahead(&mut self, at: Nanos, segment: usize, end: u64) {
        let limit = self.read_on_to(segment, end);
        let geometry = &self.mechanics.geometry;
        if let Activity::Ahead(stream) = &mut self.activity {
            if at < stream.stop {
                // A stream of another segment is left to finish: to alternate between two streams
                // would serve neither.
                if stream.segment == segment {
                    stream.extend(limit, geometry);
                }
                return;
            }
        } else if !matches!(self.activity, Activity::Idle) {
            return;
        }
        let held = self.segments.range(segment).end;
        let wanted = match &self.detail {
            None => held.saturating_sub(end) * 2 < self.look_ahead && held < geometry.sectors,
            Some(detail) => detail.cache.look_ahead.on_hit && held < limit.min(geometry.sectors),
        };
        if wanted && self.queue.commands.is_empty() && !self.buffer.has_waiting() {
            self.stop_ahead(at);
            self.begin_ahead(at, segment, held, limit);
        }
    }

    fn begin_ahead(&mut self, at: Nanos, segment: usize, from: u64, limit: u64) {
        let place = self.mechanics.geometry.place(from);
        let target = self.mechanics.target(place, false);
        let reach = self.mechanics.reach(self.arm, self.mechanics.angle_at(at), &target);
        let there = at.saturating_add(Nanos(reach));
        let stream = Stream::new(segment, there, place.tape, limit, &self.mechanics.geometry);
        self.activity = Activity::Ahead(stream);
    }
}
