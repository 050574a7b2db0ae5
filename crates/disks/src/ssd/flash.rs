//! Dies and the channels they share.
//!
//! A die does one thing at a time and keeps its data register until a transfer is over: a read is
//! sensed, then waits for the channel and crosses it; a program crosses the channel first. The
//! host's reads go before programs that have not begun, and these before collection, unless room is
//! short ([`super::space`]). What collection moves crosses the channel twice: the controller
//! corrects it on the way.

mod channel;
mod die;

use std::collections::VecDeque;

use disklab_config::device::Ssd;
use disklab_units::{Bytes, Nanos, Random, Rate, Seed};

use self::channel::Channel;
use self::die::{Change, Die, Held, Long, Next, Row, Sensed, Work};
use super::Event;
use super::agenda::Agenda;
use super::home::Home;
use super::log::{Log, PADDING};
use super::map::{BlockId, Map, Shape, UNIT};
use super::space::{Fast, Space, Step};
use crate::diary::{Diary, DieWork, Happening};
#[cfg(test)]
use crate::plant::Bug;

pub(crate) struct Flash {
    pub map: Map,
    /// What waits to be programmed.
    pub log: Log,
    row: Bytes,
    read_page: Vec<Nanos>,
    times: Times,
    channel_rate: Rate,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Where the search for an idle die starts, so that all wear alike.
    next_die: usize,
    /// Somebody waits for programs: each die takes one between two reads.
    pub favour_programs: bool,
    /// Nobody asks for anything, for a while now.
    resting: bool,
    working: u32,
    working_since: Nanos,
    busy: Nanos,
    pub work_done: WorkDone,
    pub diary: Diary,
}

struct Times {
    program: Nanos,
    /// Of the SLC cache.
    program_fast: Option<Nanos>,
    read_fast: Option<Nanos>,
    erase: Nanos,
    suspend: Option<Nanos>,
}

impl Times {
    fn least_program(&self) -> Nanos {
        self.program_fast.map_or(self.program, |fast| fast.min(self.program))
    }
}

/// Totals.
#[derive(Default)]
pub(crate) struct WorkDone {
    /// Rows, the host's and what was moved.
    pub programs: u64,
    pub moved: Bytes,
    pub erased_blocks: u64,
}

/// The part of a read that lies in one row.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageRead {
    /// Its slot among the drive's requests.
    pub request: u32,
    pub bytes: Bytes,
    sense: Nanos,
}

/// What an event brought about.
pub(crate) enum Outcome {
    Nothing,
    /// Data is out of its die and across the channel.
    Out(PageRead),
    /// One more of the log's rows is on the medium.
    Programmed,
}

impl Flash {
    pub fn new(model: &Ssd, bytes: Bytes, seed: Seed) -> Self {
        let mut random = Random::new(seed.derive("page types"));
        let channels = model.channels.max(1);
        let read_page =
            if model.read_page.is_empty() { vec![Nanos::ZERO] } else { model.read_page.clone() };
        let shape = shape(model, bytes);
        let home = Home::new(model.preconditioned, &shape, seed);
        let map = Map::new(shape, home);
        let slc = model.slc.as_ref();
        let fast = slc.map(|slc| {
            let rows = (map.shape.rows_per_block / slc.cell_bits).max(1);
            let held = u64::from(map.shape.dies * rows) * model.row().0;
            Fast { rows, blocks: slc.cache.0.div_ceil(held) as u32 }
        });
        let die = |die| Die {
            work: Work::Idle,
            since: Nanos::ZERO,
            row_taken: Nanos::ZERO,
            held: None,
            reads: VecDeque::with_capacity(32),
            // Neighbouring rows go over different channels.
            channel: die % channels,
            first_type: random.below(read_page.len() as u64),
            programmed_last: false,
            row: Vec::with_capacity(map.shape.units_per_row as usize),
            space: Space::new(die, &map, fast),
        };
        Self {
            dies: (0..map.shape.dies).map(die).collect(),
            log: Log::new((model.write_buffer.0 / UNIT.0).max(1), map.shape.units_per_row),
            row: model.row(),
            read_page,
            times: Times {
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
            diary: Diary::default(),
            map,
        }
    }

    /// Of what a die reads or programs at once.
    pub fn row(&self) -> Bytes {
        self.row
    }

    /// Reads `bytes` of a row from `block`; `unit` is the first of them.
    pub fn read(
        &mut self,
        at: Nanos,
        (unit, block): (u32, BlockId),
        (request, bytes): (u32, Bytes),
        agenda: &mut Agenda,
    ) {
        let index = self.map.die(block) as usize;
        let sense = self.sense(unit, block);
        self.dies[index].reads.push_back(PageRead { request, bytes, sense });
        match self.dies[index].work {
            Work::Idle => self.next_work(at, index, agenda),
            Work::Long(long) => self.suspend(at, index, long, agenda),
            _ => {}
        }
    }

    /// How long the cells of `unit` take, which is in `block`: depends on its page's type, and this
    /// on where it is.
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
        self.read_page[((row % types + die.first_type) % types) as usize]
    }

    /// Interrupts what a die does for the reads that wait there, if it can.
    fn suspend(&mut self, at: Nanos, index: usize, long: Long, agenda: &mut Agenda) {
        let suspend = self.times.suspend;
        #[cfg(test)]
        let suspend = if Bug::DieUsedTwice.is_planted() { Some(Nanos(1)) } else { suspend };
        let Some(time) = suspend else { return };
        let end = at.saturating_add(time);
        if at < long.firm_until && long.firm_until < long.end {
            if !long.asked {
                self.dies[index].work = Work::Long(Long { asked: true, ..long });
                agenda.schedule(long.firm_until, Event::Firm(index as u32));
            }
            return;
        }
        if end >= long.end || self.favour_programs {
            self.dies[index].work = Work::Long(Long { asked: false, ..long });
            return;
        }
        self.tell_work(index, long.what.into(), at, true);
        let die = &mut self.dies[index];
        die.since = at;
        // To go on takes as long as to stop.
        let left = long.end.saturating_sub(at).saturating_add(time);
        die.held = Some(Held { what: long.what, left, since: at });
        die.work = Work::Suspend(end);
        agenda.schedule(end, Event::Die(index as u32));
    }

    /// Something is in the log: programs what makes rows, each on the next die that is idle and has
    /// room.
    pub fn program(&mut self, at: Nanos, agenda: &mut Agenda) {
        if self.working as usize == self.dies.len() || !self.log.is_ready() {
            return;
        }
        let count = self.dies.len();
        for index in (self.next_die..count).chain(0..self.next_die) {
            if matches!(self.dies[index].work, Work::Idle) {
                self.next_work(at, index, agenda);
                self.next_die = (index + 1) % count;
            }
            if !self.log.is_ready() {
                break;
            }
        }
    }

    /// Nobody has asked for anything for a while: the dies do what they left for such a time.
    pub fn rest(&mut self, at: Nanos, agenda: &mut Agenda) {
        self.resting = true;
        for index in 0..self.dies.len() {
            if matches!(self.dies[index].work, Work::Idle) {
                self.next_work(at, index, agenda);
            }
        }
    }

    pub fn stop_resting(&mut self) {
        self.resting = false;
    }

    /// Whether [`Flash::rest`] would be of use.
    pub fn could_rest(&self) -> bool {
        !self.resting
            && self.times.program_fast.is_some()
            && self.dies.iter().any(|die| die.space.has_fast_blocks())
    }

    /// Gives an idle die something to do.
    fn next_work(&mut self, at: Nanos, index: usize, agenda: &mut Agenda) {
        let next = self.choose(at, index);
        let die = &mut self.dies[index];
        die.since = at;
        match next {
            None => {
                die.work = Work::Idle;
                return;
            }
            Some(Next::Sense(sensed, end)) => {
                die.work = Work::Sense(sensed, end);
                agenda.schedule(end, Event::Die(index as u32));
            }
            Some(Next::Long(long)) => {
                die.work = Work::Long(long);
                agenda.schedule(long.end, Event::Die(index as u32));
            }
            Some(Next::TakeIn(row, target)) => {
                (die.work, die.row_taken) = (Work::TakeIn(row, target), at);
                self.want_channel(at, index, agenda);
            }
        }
        if self.working == 0 {
            self.working_since = at;
        }
        self.working += 1;
    }

    fn choose(&mut self, at: Nanos, index: usize) -> Option<Next> {
        let die = &mut self.dies[index];
        if let Some(held) = &die.held {
            // Reads that keep coming do not hold it up for longer than it takes by itself.
            let stood = at.saturating_sub(held.since);
            let impatient = stood >= held.left || self.favour_programs;
            if (impatient || die.reads.is_empty())
                && let Some(held) = die.held.take()
            {
                let left = held.left;
                // It went on while the die read.
                #[cfg(test)]
                let left =
                    if Bug::DieUsedTwice.is_planted() { left.saturating_sub(stood) } else { left };
                return Some(Next::Long(Long {
                    what: held.what,
                    end: at.saturating_add(left),
                    firm_until: at.saturating_add(stood),
                    asked: false,
                }));
            }
        }
        let programs_due = self.favour_programs && !die.programmed_last;
        if !programs_due && let Some(read) = die.reads.pop_front() {
            die.programmed_last = false;
            return Some(Next::Sense(Sensed::Host(read), at.saturating_add(read.sense)));
        }
        if self.log.is_ready()
            && die.space.takes_row(&self.map)
            && let Some(target) = die.space.host_target(&self.map)
        {
            die.programmed_last = true;
            return Some(Next::TakeIn(Row::Host(self.log.take(&mut die.row)), target));
        }
        if let Some(step) = die.space.collect(&mut self.map, self.resting) {
            die.programmed_last = true;
            return self.collect(at, index, step);
        }
        let read = die.reads.pop_front()?;
        Some(Next::Sense(Sensed::Host(read), at.saturating_add(read.sense)))
    }

    fn collect(&mut self, at: Nanos, index: usize, step: Step) -> Option<Next> {
        let sense = match step {
            Step::Read { block, unit, .. } => self.sense(unit, block),
            _ => Nanos::ZERO,
        };
        let die = &mut self.dies[index];
        Some(match step {
            Step::Read { bytes, .. } => Next::Sense(Sensed::Moved(bytes), at.saturating_add(sense)),
            Step::Write => Next::TakeIn(Row::Moved, die.space.target(&self.map)?),
            Step::Erase => {
                let end = at.saturating_add(self.times.erase);
                Next::Long(Long { what: Change::Erase, end, firm_until: at, asked: false })
            }
        })
    }

    fn end_work(&mut self, at: Nanos, die: usize, agenda: &mut Agenda) {
        self.dies[die].work = Work::Idle;
        self.working -= 1;
        self.next_work(at, die, agenda);
        if self.working == 0 {
            self.busy += at.saturating_sub(self.working_since);
        }
    }

    /// A die has sensed, programmed or erased, or stopped to.
    pub fn die_event(&mut self, at: Nanos, die: u32, agenda: &mut Agenda) -> Outcome {
        let index = die as usize;
        match self.dies[index].work {
            Work::Sense(read, end) if end == at => {
                self.tell_work(index, DieWork::Sense, at, false);
                self.dies[index].work = Work::SendOut(read);
                self.want_channel(at, index, agenda);
                Outcome::Nothing
            }
            Work::Suspend(end) if end == at => {
                self.tell_work(index, DieWork::Suspend, at, false);
                self.end_work(at, index, agenda);
                Outcome::Nothing
            }
            Work::Long(Long { what, end, .. }) if end == at => {
                self.tell_work(index, what.into(), at, false);
                let outcome = self.finish_change(at, index, what);
                self.end_work(at, index, agenda);
                outcome
            }
            _ => Outcome::Nothing,
        }
    }

    /// What a die does may be interrupted, if it still does it.
    pub fn firm_event(&mut self, at: Nanos, die: u32, agenda: &mut Agenda) -> Outcome {
        let index = die as usize;
        if let Work::Long(long) = self.dies[index].work
            && long.asked
            && long.firm_until == at
        {
            let long = Long { asked: false, ..long };
            self.dies[index].work = Work::Long(long);
            self.suspend(at, index, long, agenda);
        }
        Outcome::Nothing
    }

    fn finish_change(&mut self, at: Nanos, index: usize, what: Change) -> Outcome {
        let die = &mut self.dies[index];
        match what {
            Change::Erase => {
                die.space.erased(&mut self.map);
                self.work_done.erased_blocks += 1;
                Outcome::Nothing
            }
            Change::Program(Row::Host(number), target) => {
                let (taken, unit) = (die.row_taken, UNIT.sectors().0);
                for first in die
                    .row
                    .iter()
                    .filter(|&&unit| unit != PADDING)
                    .map(|&row| u64::from(row) * unit)
                {
                    self.diary.note(|| Happening::Durable {
                        sectors: first..first + unit,
                        taken,
                        end: at,
                    });
                }
                die.space.host_row(&mut self.map, target, &die.row);
                self.log.programmed(number);
                self.work_done.programs += 1;
                Outcome::Programmed
            }
            Change::Program(Row::Moved, target) => {
                die.space.collected_row(&mut self.map, target);
                self.work_done.programs += 1;
                Outcome::Nothing
            }
        }
    }

    /// What a die has done until now.
    fn tell_work(&mut self, index: usize, what: DieWork, end: Nanos, interrupted: bool) {
        let begun = self.dies[index].since;
        self.diary.note(|| Happening::Die { die: index as u32, what, begun, end, interrupted });
    }

    /// No data of a read comes out before; `None` if nothing goes on that it could come from.
    pub fn earliest_out(&self) -> Option<Nanos> {
        let dies = self.dies.iter().filter_map(|die| match die.work {
            Work::Sense(sensed, end) => {
                Some(end.saturating_add(self.channel_rate.time_for(sensed.bytes())))
            }
            Work::Long(long) if !die.reads.is_empty() => {
                Some(if long.asked { long.firm_until } else { long.end })
            }
            Work::Suspend(end) if !die.reads.is_empty() => Some(end),
            _ => None,
        });
        let channels =
            self.channels.iter().filter_map(|channel| channel.current.map(|(_, end)| end));
        dies.chain(channels).min()
    }

    /// No row of the host's is programmed before; `next` is when anything happens next, and `None`
    /// without that.
    pub fn earliest_programmed(&self, next: Option<Nanos>) -> Option<Nanos> {
        let next = next?;
        let begun = self.dies.iter().filter_map(|die| match (die.work, &die.held) {
            (Work::Long(Long { what: Change::Program(Row::Host(_), _), end, .. }), _) => Some(end),
            (_, Some(Held { what: Change::Program(Row::Host(_), _), left, .. })) => {
                Some(next.saturating_add(*left))
            }
            _ => None,
        });
        begun.chain([next.saturating_add(self.times.least_program())]).min()
    }

    /// Time in which any die worked, up to `now`.
    pub fn busy(&self, now: Nanos) -> Nanos {
        if self.working == 0 {
            self.busy
        } else {
            self.busy + now.saturating_sub(self.working_since)
        }
    }
}

fn shape(model: &Ssd, bytes: Bytes) -> Shape {
    let dies = model.dies();
    Shape {
        units: (bytes.0 / UNIT.0) as u32,
        dies,
        blocks_per_die: (model.raw_size.0 / model.block().0 / u64::from(dies)) as u32,
        rows_per_block: model.pages_per_block,
        units_per_row: (model.row().0 / UNIT.0) as u32,
    }
}

/// A number that looks random.
fn scattered(number: u64) -> u64 {
    number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32
}
