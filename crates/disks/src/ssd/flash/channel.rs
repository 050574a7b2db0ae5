//! The channels that dies share: one transfer after another on each.

use std::collections::VecDeque;

use disklab_units::Nanos;

use super::die::{Change, Long, Sensed, Work};
use super::{Flash, Outcome};
use crate::diary::Happening;
use crate::ssd::Event;
use crate::ssd::agenda::Agenda;

#[derive(Default)]
pub(super) struct Channel {
    /// The die whose transfer goes on, and until when.
    pub(super) current: Option<(u32, Nanos)>,
    pub(super) waiting: VecDeque<u32>,
}

impl Flash {
    pub(super) fn want_channel(&mut self, at: Nanos, die: usize, agenda: &mut Agenda) {
        let channel = self.dies[die].channel;
        self.channels[channel as usize].waiting.push_back(die as u32);
        if self.channels[channel as usize].current.is_none() {
            self.next_transfer(at, channel, agenda);
        }
    }

    fn next_transfer(&mut self, at: Nanos, index: u32, agenda: &mut Agenda) {
        let channel = &mut self.channels[index as usize];
        let Some(die) = channel.waiting.pop_front() else { return };
        let bytes = match self.dies[die as usize].work {
            Work::SendOut(sensed) => sensed.bytes(),
            _ => self.row,
        };
        let end = at.saturating_add(self.channel_rate.time_for(bytes));
        channel.current = Some((die, end));
        agenda.schedule(end, Event::Channel(index));
        self.diary.note(|| Happening::Channel { channel: index, begun: at, end, bytes });
    }

    /// A transfer over a channel is over.
    pub fn channel_event(&mut self, at: Nanos, channel: u32, agenda: &mut Agenda) -> Outcome {
        let Some((die, _)) = self.channels[channel as usize].current.take() else {
            return Outcome::Nothing;
        };
        self.next_transfer(at, channel, agenda);
        let index = die as usize;
        match self.dies[index].work {
            Work::SendOut(sensed) => {
                self.end_work(at, index, agenda);
                match sensed {
                    Sensed::Host(read) => Outcome::Out(read),
                    Sensed::Moved(bytes) => {
                        self.work_done.moved += bytes;
                        Outcome::Nothing
                    }
                }
            }
            Work::TakeIn(row, target) => {
                let fast = self.times.program_fast.filter(|_| target.fast);
                let end = at.saturating_add(fast.unwrap_or(self.times.program));
                let long =
                    Long { what: Change::Program(row, target), end, firm_until: at, asked: false };
                let die = &mut self.dies[index];
                (die.work, die.since) = (Work::Long(long), at);
                agenda.schedule(end, Event::Die(index as u32));
                if !self.dies[index].reads.is_empty() {
                    self.suspend(at, index, long, agenda);
                }
                Outcome::Nothing
            }
            _ => Outcome::Nothing,
        }
    }
}
