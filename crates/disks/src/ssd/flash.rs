//! The dies and the channels that they share.
//!
//! A die does one operation at a time and holds its data register until the transfer is over. A
//! read is sensed, then waits for the channel and crosses it; a program crosses the channel first.
//! The host's reads go before programs that have not begun, and these before collection, unless
//! room is short ([`super::space`]). Data that collection moves crosses the channel twice, because
//! the controller corrects its errors on the way.

use std::collections::VecDeque;

use disklab_config::device::Ssd;
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};

use super::agenda::{Agenda, FlashEvent};
use super::die::{
    Channel, Die, DieState, InterruptedChange, Long, MediumChange, PageRead, ProgrammedRow, Sensed,
};
use super::home::HomeBlocks;
use super::map::FlashMap;
use super::shape::{BlockId, FlashShape, UNIT};
use super::space::{CollectionStep, SlcBlocks, Space};
use super::write_log::{PADDING, WriteLog};
use crate::event_log::{DieWork, DiskEvent, EventLog};
#[cfg(test)]
use crate::plant::Bug;
use crate::shared::Shared;

#[derive(Clone)]
pub(crate) struct Flash {
    pub agenda: Agenda,
    pub map: Shared<FlashMap>,
    /// The data that waits to be programmed.
    pub log: WriteLog,
    /// The number of bytes that a die reads or programs at once.
    pub row: Bytes,
    read_page: Vec<Nanos>,
    pub(super) times: FlashTimes,
    pub(super) channel_rate: Rate,
    pub(super) dies: Vec<Die>,
    pub(super) channels: Vec<Channel>,
    /// The die at which the search for an idle one starts. It rotates, so that all dies wear
    /// equally.
    next_die: usize,
    /// Whether a write waits for room. Then each die programs a row between two reads.
    pub favour_programs: bool,
    /// Whether the drive rests: it has had no command for a while.
    pub resting: bool,
    working: u32,
    working_since: Nanos,
    busy: Nanos,
    pub work_done: WorkDone,
    pub event_log: EventLog,
}

#[derive(Clone)]
pub(super) struct FlashTimes {
    pub(super) program: Nanos,
    /// The time of a program in the SLC cache.
    pub(super) program_fast: Option<Nanos>,
    read_fast: Option<Nanos>,
    erase: Nanos,
    suspend: Option<Nanos>,
}

impl FlashTimes {
    fn least_program(&self) -> Nanos {
        self.program_fast.map_or(self.program, |fast| fast.min(self.program))
    }
}

/// Totals of the work of all dies.
#[derive(Clone, Default)]
pub(crate) struct WorkDone {
    /// Number of rows programmed, both the host's and those that collection moved.
    pub programs: u64,
    pub moved: Bytes,
    pub erased_blocks: u64,
}

/// The result of an event.
pub(crate) enum FlashOutcome {
    Nothing,
    /// The data of a read has left its die and crossed the channel.
    Out(PageRead),
    /// Another row of the log is on the medium.
    Programmed,
}

impl Flash {
    pub fn new(model: &Ssd, bytes: Bytes, seed: Seed) -> Self {
        let mut random = Random::new(seed.derive("page types"));
        let channels = model.channels.max(1);
        let read_page =
            if model.read_page.is_empty() { vec![Nanos::ZERO] } else { model.read_page.clone() };
        let shape = FlashShape::new(model, bytes);
        let home = HomeBlocks::new(model.preconditioned, &shape, seed);
        let map = FlashMap::new(shape, home);
        let slc = model.slc.as_ref();
        let fast = slc.map(|slc| {
            let rows = (map.shape.rows_per_block / slc.cell_bits).max(1);
            let held = u64::from(map.shape.dies * rows) * model.row().0;
            SlcBlocks { rows, blocks: slc.cache.0.div_ceil(held) as u32 }
        });
        let die = |die| Die {
            state: DieState::Idle,
            since: Nanos::ZERO,
            row_taken: Nanos::ZERO,
            held: None,
            reads: VecDeque::with_capacity(32),
            // Neighbouring rows use different channels.
            channel: die % channels,
            first_type: random.below(read_page.len() as u64),
            programmed_last: false,
            row: Vec::with_capacity(map.shape.units_per_row as usize),
            space: Shared::new(Space::new(die, &map, fast)),
        };
        Self {
            agenda: Agenda::new(map.shape.dies, channels),
            dies: (0..map.shape.dies).map(die).collect(),
            log: WriteLog::new((model.write_buffer.0 / UNIT.0).max(1), map.shape.units_per_row),
            row: model.row(),
            read_page,
            times: FlashTimes {
                program: model.program_page,
                program_fast: slc.map(|slc| slc.program_page),
                read_fast: slc.map(|slc| slc.read_page),
                erase: model.erase_block,
                suspend: model.suspend,
            },
            channel_rate: model.channel,
            channels: (0..channels).map(|_| Channel::default()).collect(),
            next_die: 0,
            favour_programs: false,
            resting: false,
            working: 0,
            working_since: Nanos::ZERO,
            busy: Nanos::ZERO,
            work_done: WorkDone::default(),
            event_log: EventLog::default(),
            map: Shared::new(map),
        }
    }

    /// Reads `bytes` of a row from `block`, of which `unit` is the first.
    pub fn read(
        &mut self,
        at: Nanos,
        (unit, block): (u32, BlockId),
        (request, bytes): (u32, Bytes),
    ) {
        let index = self.map.die(block) as usize;
        let sense = self.sense(unit, block);
        self.dies[index].reads.push_back(PageRead { request, bytes, sense });
        match self.dies[index].state {
            DieState::Idle => self.next_work(at, index),
            DieState::Long(long) => self.suspend(at, index, long),
            _ => {}
        }
    }

    /// Returns the time to sense `unit`, which is in `block`. It depends on the type of the page,
    /// and the type on the page's place.
    fn sense(&self, unit: u32, block: BlockId) -> Nanos {
        let types = self.read_page.len() as u64;
        let die = &self.dies[self.map.die(block) as usize];
        if let Some(time) = self.times.read_fast
            && die.space.is_fast(block)
        {
            return time;
        }
        let row = u64::from(unit / self.map.shape.units_per_row);
        let row = if self.map.is_home(block) {
            row / u64::from(self.map.shape.dies)
        } else {
            scattered(row << 32 | u64::from(block))
        };
        let time = self.read_page[((row % types + die.first_type) % types) as usize];
        #[cfg(test)]
        let time = if Bug::TimeOfNoPage.is_planted() { time + Nanos(1) } else { time };
        time
    }

    /// Interrupts a die's program or erase for the reads that wait there, if the model allows it.
    pub(super) fn suspend(&mut self, at: Nanos, index: usize, long: Long) {
        let suspend = self.times.suspend;
        #[cfg(test)]
        let suspend = if Bug::DieUsedTwice.is_planted() { Some(Nanos(1)) } else { suspend };
        let Some(time) = suspend else { return };
        let end = at.saturating_add(time);
        if at < long.firm_until && long.firm_until < long.end {
            if !long.asked {
                self.dies[index].state = DieState::Long(Long { asked: true, ..long });
                self.agenda.schedule(long.firm_until, FlashEvent::Firm(index as u32));
            }
            return;
        }
        if end >= long.end || self.favour_programs {
            self.dies[index].state = DieState::Long(Long { asked: false, ..long });
            return;
        }
        self.log_work(index, long.what.into(), at, true);
        let die = &mut self.dies[index];
        die.since = at;
        // Resuming takes as long as interrupting.
        let left = long.end.saturating_sub(at).saturating_add(time);
        die.held = Some(InterruptedChange { what: long.what, left, since: at });
        die.state = DieState::Suspend(end);
        self.agenda.schedule(end, FlashEvent::Die(index as u32));
    }

    /// Programs the rows that the log has, each on the next die that is idle and has room.
    pub fn program(&mut self, at: Nanos) {
        if self.working as usize == self.dies.len() || !self.log.is_ready() {
            return;
        }
        let count = self.dies.len();
        for index in (self.next_die..count).chain(0..self.next_die) {
            if matches!(self.dies[index].state, DieState::Idle) {
                self.next_work(at, index);
                self.next_die = (index + 1) % count;
            }
            if !self.log.is_ready() {
                break;
            }
        }
    }

    /// Starts the work that the dies postponed until a time without commands.
    pub fn rest(&mut self, at: Nanos) {
        self.resting = true;
        for index in 0..self.dies.len() {
            if matches!(self.dies[index].state, DieState::Idle) {
                self.next_work(at, index);
            }
        }
    }

    /// Returns whether [`Flash::rest`] would do any work.
    pub fn could_rest(&self) -> bool {
        !self.resting
            && self.times.program_fast.is_some()
            && self.dies.iter().any(|die| die.space.has_fast_blocks())
    }

    /// Gives an idle die its next work, if there is any.
    fn next_work(&mut self, at: Nanos, index: usize) {
        let next = self.choose(at, index).unwrap_or(DieState::Idle);
        let die = &mut self.dies[index];
        (die.state, die.since) = (next, at);
        match next {
            DieState::Idle => return,
            DieState::Sense(_, end) | DieState::Long(Long { end, .. }) => {
                self.agenda.schedule(end, FlashEvent::Die(index as u32));
            }
            DieState::TakeIn(..) => {
                die.row_taken = at;
                self.want_channel(at, index);
            }
            // A die reaches these states only from other states.
            DieState::SendOut(_) | DieState::Suspend(_) => {}
        }
        if self.working == 0 {
            self.working_since = at;
        }
        self.working += 1;
    }

    fn choose(&mut self, at: Nanos, index: usize) -> Option<DieState> {
        let die = &mut self.dies[index];
        if let Some(held) = &die.held {
            // A continuous sequence of reads delays the operation by no more than the time that it
            // still needs.
            let stood = at.saturating_sub(held.since);
            let impatient = stood >= held.left || self.favour_programs;
            if (impatient || die.reads.is_empty())
                && let Some(held) = die.held.take()
            {
                let left = held.left;
                // The planted bug: the operation continued while the die read.
                #[cfg(test)]
                let left =
                    if Bug::DieUsedTwice.is_planted() { left.saturating_sub(stood) } else { left };
                let firm_until = at.saturating_add(stood);
                let long = Long::new(held.what, at, left);
                return Some(DieState::Long(Long { firm_until, ..long }));
            }
        }
        let programs_due = self.favour_programs && !die.programmed_last;
        if !programs_due && let Some(read) = die.reads.pop_front() {
            die.programmed_last = false;
            return Some(DieState::sense(read, at));
        }
        if self.log.is_ready()
            && die.space.takes_row(&self.map)
            && let Some(target) = die.space.host_target(&self.map)
        {
            die.programmed_last = true;
            let row = ProgrammedRow::Host(self.log.take(&mut die.row));
            return Some(DieState::TakeIn(row, target));
        }
        if die.space.may_collect(self.resting)
            && let Some(step) = die.space.collect(&mut self.map, self.resting)
        {
            die.programmed_last = true;
            return self.collect(at, index, step);
        }
        Some(DieState::sense(die.reads.pop_front()?, at))
    }

    fn collect(&mut self, at: Nanos, index: usize, step: CollectionStep) -> Option<DieState> {
        Some(match step {
            CollectionStep::Read { block, unit, bytes } => {
                let end = at.saturating_add(self.sense(unit, block));
                DieState::Sense(Sensed::Moved(bytes), end)
            }
            CollectionStep::Write => {
                let target = self.dies[index].space.target(&self.map)?;
                DieState::TakeIn(ProgrammedRow::Moved, target)
            }
            CollectionStep::Erase => {
                DieState::Long(Long::new(MediumChange::Erase, at, self.times.erase))
            }
        })
    }

    pub(super) fn end_work(&mut self, at: Nanos, die: usize) {
        self.dies[die].state = DieState::Idle;
        self.working -= 1;
        self.next_work(at, die);
        if self.working == 0 {
            self.busy += at.saturating_sub(self.working_since);
        }
    }

    /// Handles the end of a die's sensing, programming, erasing or interrupting.
    pub fn die_event(&mut self, at: Nanos, die: u32) -> FlashOutcome {
        let index = die as usize;
        match self.dies[index].state {
            DieState::Sense(read, end) if end == at => {
                self.log_work(index, DieWork::Sense, at, false);
                self.dies[index].state = DieState::SendOut(read);
                self.want_channel(at, index);
            }
            DieState::Suspend(end) if end == at => {
                self.log_work(index, DieWork::Suspend, at, false);
                self.end_work(at, index);
            }
            DieState::Long(Long { what, end, .. }) if end == at => {
                self.log_work(index, what.into(), at, false);
                let outcome = self.finish_change(at, index, what);
                self.end_work(at, index);
                return outcome;
            }
            _ => {}
        }
        FlashOutcome::Nothing
    }

    /// Interrupts a die's work if it is still in progress and reads have waited for this time.
    pub fn firm_event(&mut self, at: Nanos, die: u32) {
        let index = die as usize;
        if let DieState::Long(long) = self.dies[index].state
            && long.asked
            && long.firm_until == at
        {
            let long = Long { asked: false, ..long };
            self.dies[index].state = DieState::Long(long);
            self.suspend(at, index, long);
        }
    }

    fn finish_change(&mut self, at: Nanos, index: usize, what: MediumChange) -> FlashOutcome {
        let die = &mut self.dies[index];
        match what {
            MediumChange::Erase => {
                die.space.erased(&mut self.map);
                self.work_done.erased_blocks += 1;
                return FlashOutcome::Nothing;
            }
            MediumChange::Program(ProgrammedRow::Moved, target) => {
                die.space.collected_row(&mut self.map, target);
            }
            MediumChange::Program(ProgrammedRow::Host(number), target) => {
                let (taken, size) = (die.row_taken, UNIT.sectors().0);
                for &unit in die.row.iter().filter(|&&unit| unit != PADDING) {
                    let first = u64::from(unit) * size;
                    let sectors = first..first + size;
                    self.event_log.note(|| DiskEvent::Durable { sectors, taken, end: at });
                }
                die.space.host_row(&mut self.map, target, &die.row);
                self.log.programmed(number);
                self.work_done.programs += 1;
                return FlashOutcome::Programmed;
            }
        }
        self.work_done.programs += 1;
        FlashOutcome::Nothing
    }

    /// Logs a die's work up to now.
    fn log_work(&mut self, index: usize, what: DieWork, end: Nanos, interrupted: bool) {
        let begun = self.dies[index].since;
        self.event_log.note(|| DiskEvent::Die { die: index as u32, what, begun, end, interrupted });
    }

    /// Returns a time before which no data of a read leaves the flash, or `None` if no operation in
    /// progress could provide any.
    pub fn earliest_out(&self) -> Option<Nanos> {
        let dies = self.dies.iter().filter_map(|die| match die.state {
            DieState::Sense(sensed, end) => {
                Some(end.saturating_add(self.channel_rate.time_for(sensed.bytes())))
            }
            DieState::Long(long) if !die.reads.is_empty() => {
                Some(if long.asked { long.firm_until } else { long.end })
            }
            DieState::Suspend(end) if !die.reads.is_empty() => Some(end),
            _ => None,
        });
        let channels = self.channels.iter().filter_map(|channel| channel.current);
        dies.chain(channels.map(|(_, end)| end)).min()
    }

    /// Returns a time before which no row of the host's data is programmed. `next` is the time of
    /// the next event; without one the answer is `None`.
    pub fn earliest_programmed(&self, next: Option<Nanos>) -> Option<Nanos> {
        let next = next?;
        let begun = self.dies.iter().filter_map(|die| match (die.state, &die.held) {
            (DieState::Long(Long { what, end, .. }), _) if what.is_hosts() => Some(end),
            (_, Some(held)) if held.what.is_hosts() => Some(next.saturating_add(held.left)),
            _ => None,
        });
        begun.chain([next.saturating_add(self.times.least_program())]).min()
    }

    /// Returns the time in which any die worked, up to `now`.
    pub fn busy(&self, now: Nanos) -> Nanos {
        if self.working == 0 {
            self.busy
        } else {
            self.busy + now.saturating_sub(self.working_since)
        }
    }
}

/// Returns a pseudo-random number that depends only on `number`.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
