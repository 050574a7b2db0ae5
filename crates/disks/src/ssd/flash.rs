//! Dies and the channels they share.
//!
//! A die does one thing at a time and keeps its data register until a transfer is over: a read is sensed, then waits
//! for the channel and crosses it; a program crosses the channel first. Reads go before programs that have not begun.

use std::collections::VecDeque;

use disklab_des::{Calendar, Random};
use disklab_spec::device::Ssd;
use disklab_units::{Bytes, Nanos, Rate, Sectors, Seed};

use super::Event;

pub(crate) struct Flash {
    page: Bytes,
    read_page: Vec<Nanos>,
    program_page: Nanos,
    channel_rate: Rate,
    dies: Vec<Die>,
    channels: Vec<Channel>,
    /// Pages that wait for a die.
    to_program: u64,
    /// Pages that a die has taken: the number of the next one.
    dispatched: u64,
    /// Where the search for an idle die starts, so that all wear alike.
    next_die: usize,
    /// Somebody waits for programs: each die takes one between two reads.
    pub favour_programs: bool,
    working: u32,
    working_since: Nanos,
    busy: Nanos,
}

struct Die {
    work: Work,
    reads: VecDeque<PageRead>,
    channel: u32,
    /// Which of the page types its first page has.
    first_type: usize,
    programmed_last: bool,
}

#[derive(Clone, Copy)]
enum Work {
    Idle,
    /// Reads from the cells, until then.
    Sense(PageRead, Nanos),
    /// Waits for the channel or uses it.
    SendOut(PageRead),
    /// As well, with the page of this number.
    TakeIn(u64),
    /// Programs it, until then.
    Program(u64, Nanos),
}

#[derive(Default)]
struct Channel {
    /// The die whose transfer goes on, and until when.
    current: Option<(u32, Nanos)>,
    waiting: VecDeque<u32>,
}

/// The part of a read that lies on one page.
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
    /// One more page is on the medium.
    Programmed,
}

impl Flash {
    pub fn new(model: &Ssd, seed: Seed) -> Self {
        let mut random = Random::new(seed.derive("page types"));
        let channels = model.channels.max(1);
        let read_page = if model.read_page.is_empty() { vec![Nanos::ZERO] } else { model.read_page.clone() };
        let die = |die| Die {
            work: Work::Idle,
            reads: VecDeque::with_capacity(32),
            // Neighbouring pages go over different channels.
            channel: die % channels,
            first_type: random.below(read_page.len() as u64) as usize,
            programmed_last: false,
        };
        Self {
            dies: (0..channels * model.dies_per_channel.max(1)).map(die).collect(),
            page: model.page.max(Sectors(1).bytes()),
            read_page,
            program_page: model.program_page,
            channel_rate: model.channel,
            channels: (0..channels).map(|_| Channel::default()).collect(),
            to_program: 0,
            dispatched: 0,
            next_die: 0,
            favour_programs: false,
            working: 0,
            working_since: Nanos::ZERO,
            busy: Nanos::ZERO,
        }
    }

    pub fn page(&self) -> Bytes {
        self.page
    }

    /// Reads `bytes` of a logical page. Pages are striped over the dies.
    pub fn read(&mut self, at: Nanos, page: u64, request: u32, bytes: Bytes, calendar: &mut Calendar<Event>) {
        let dies = self.dies.len() as u64;
        let die = (page % dies) as usize;
        let row = (page / dies) as usize;
        let kind = (row % self.read_page.len() + self.dies[die].first_type) % self.read_page.len();
        self.dies[die].reads.push_back(PageRead { request, bytes, sense: self.read_page[kind] });
        if matches!(self.dies[die].work, Work::Idle) {
            self.next_work(at, die, calendar);
        }
    }

    /// Programs so many pages, each on the next die that is idle: new data goes where there is room, as in a log.
    pub fn program(&mut self, at: Nanos, pages: u64, calendar: &mut Calendar<Event>) {
        self.to_program += pages;
        while self.to_program > 0 {
            let count = self.dies.len();
            let order = (self.next_die..count).chain(0..self.next_die);
            let Some(die) = order.into_iter().find(|&die| matches!(self.dies[die].work, Work::Idle)) else {
                break;
            };
            self.next_die = (die + 1) % count;
            self.next_work(at, die, calendar);
        }
    }

    /// The pages 0 up to this one are on the medium.
    pub fn durable(&self) -> u64 {
        let programming = self.dies.iter().filter_map(|die| match die.work {
            Work::TakeIn(page) | Work::Program(page, _) => Some(page),
            _ => None,
        });
        programming.min().unwrap_or(self.dispatched)
    }

    /// Gives an idle die something to do.
    fn next_work(&mut self, at: Nanos, index: usize, calendar: &mut Calendar<Event>) {
        let die = &mut self.dies[index];
        let due = self.to_program > 0 && self.favour_programs && !die.programmed_last;
        let read = if due { None } else { die.reads.pop_front() };
        if let Some(read) = read {
            let end = at.saturating_add(read.sense);
            die.work = Work::Sense(read, end);
            die.programmed_last = false;
            calendar.schedule(end, Event::Die(index as u32));
        } else if self.to_program > 0 {
            die.work = Work::TakeIn(self.dispatched);
            die.programmed_last = true;
            self.to_program -= 1;
            self.dispatched += 1;
            self.want_channel(at, index, calendar);
        } else {
            return;
        }
        if self.working == 0 {
            self.working_since = at;
        }
        self.working += 1;
    }

    fn end_work(&mut self, at: Nanos, die: usize, calendar: &mut Calendar<Event>) {
        self.dies[die].work = Work::Idle;
        self.working -= 1;
        self.next_work(at, die, calendar);
        if self.working == 0 {
            self.busy += at.saturating_sub(self.working_since);
        }
    }

    /// A die has sensed or programmed its page.
    pub fn die_event(&mut self, at: Nanos, die: u32, calendar: &mut Calendar<Event>) -> Outcome {
        let index = die as usize;
        match self.dies[index].work {
            Work::Sense(read, _) => {
                self.dies[index].work = Work::SendOut(read);
                self.want_channel(at, index, calendar);
                Outcome::Nothing
            }
            Work::Program(..) => {
                self.end_work(at, index, calendar);
                Outcome::Programmed
            }
            _ => Outcome::Nothing,
        }
    }

    fn want_channel(&mut self, at: Nanos, die: usize, calendar: &mut Calendar<Event>) {
        let channel = self.dies[die].channel;
        self.channels[channel as usize].waiting.push_back(die as u32);
        if self.channels[channel as usize].current.is_none() {
            self.next_transfer(at, channel, calendar);
        }
    }

    fn next_transfer(&mut self, at: Nanos, index: u32, calendar: &mut Calendar<Event>) {
        let channel = &mut self.channels[index as usize];
        let Some(die) = channel.waiting.pop_front() else { return };
        let bytes = match self.dies[die as usize].work {
            Work::SendOut(read) => read.bytes,
            _ => self.page,
        };
        let end = at.saturating_add(self.channel_rate.time_for(bytes));
        channel.current = Some((die, end));
        calendar.schedule(end, Event::Channel(index));
    }

    /// A transfer over a channel is over.
    pub fn channel_event(&mut self, at: Nanos, channel: u32, calendar: &mut Calendar<Event>) -> Outcome {
        let Some((die, _)) = self.channels[channel as usize].current.take() else { return Outcome::Nothing };
        self.next_transfer(at, channel, calendar);
        let index = die as usize;
        match self.dies[index].work {
            Work::SendOut(read) => {
                self.end_work(at, index, calendar);
                Outcome::Out(read)
            }
            Work::TakeIn(page) => {
                let end = at.saturating_add(self.program_page);
                self.dies[index].work = Work::Program(page, end);
                calendar.schedule(end, Event::Die(die));
                Outcome::Nothing
            }
            _ => Outcome::Nothing,
        }
    }

    /// No data of a read comes out before; `None` if nothing goes on that it could come from.
    pub fn earliest_out(&self) -> Option<Nanos> {
        let dies = self.dies.iter().filter_map(|die| match die.work {
            Work::Sense(read, end) => Some(end.saturating_add(self.channel_rate.time_for(read.bytes))),
            Work::Program(_, end) if !die.reads.is_empty() => Some(end),
            _ => None,
        });
        let channels = self.channels.iter().filter_map(|channel| channel.current.map(|(_, end)| end));
        dies.chain(channels).min()
    }

    /// Time in which any die worked, up to `now`.
    pub fn busy(&self, now: Nanos) -> Nanos {
        if self.working == 0 { self.busy } else { self.busy + now.saturating_sub(self.working_since) }
    }
}
