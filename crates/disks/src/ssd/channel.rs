//! The channels that dies share. Each carries one transfer after another.

use disklab_units::Nanos;

use super::agenda::FlashEvent;
use super::die::{DieState, Long, MediumChange, Sensed};
use super::flash::{Flash, FlashOutcome};
use crate::event_log::DiskEvent;

impl Flash {
    pub(super) fn want_channel(&mut self, at: Nanos, die: usize) {
        let channel = self.dies[die].channel;
        self.channels[channel as usize].waiting.push_back(die as u32);
        if self.channels[channel as usize].current.is_none() {
            self.next_transfer(at, channel);
        }
    }

    fn next_transfer(&mut self, at: Nanos, index: u32) {
        let channel = &mut self.channels[index as usize];
        let Some(die) = channel.waiting.pop_front() else { return };
        let bytes = match self.dies[die as usize].state {
            DieState::SendOut(sensed) => sensed.bytes(),
            _ => self.row,
        };
        let end = at.saturating_add(self.channel_rate.time_for(bytes));
        channel.current = Some((die, end));
        self.agenda.schedule(end, FlashEvent::Channel(index));
        self.event_log.note(|| DiskEvent::Channel { channel: index, begun: at, end, bytes });
    }

    /// Handles the end of a transfer over a channel.
    pub fn channel_event(&mut self, at: Nanos, channel: u32) -> FlashOutcome {
        let Some((die, _)) = self.channels[channel as usize].current.take() else {
            return FlashOutcome::Nothing;
        };
        self.next_transfer(at, channel);
        let index = die as usize;
        match self.dies[index].state {
            DieState::SendOut(sensed) => {
                self.end_work(at, index);
                match sensed {
                    Sensed::Host(read) => return FlashOutcome::Out(read),
                    Sensed::Moved(bytes) => self.work_done.moved += bytes,
                }
            }
            DieState::TakeIn(row, target) => {
                let fast = self.times.program_fast.filter(|_| target.fast);
                let takes = fast.unwrap_or(self.times.program);
                let long = Long::new(MediumChange::Program(row, target), at, takes);
                let die = &mut self.dies[index];
                (die.state, die.since) = (DieState::Long(long), at);
                self.agenda.schedule(long.end, FlashEvent::Die(index as u32));
                if !self.dies[index].reads.is_empty() {
                    self.suspend(at, index, long);
                }
            }
            _ => {}
        }
        FlashOutcome::Nothing
    }
}
