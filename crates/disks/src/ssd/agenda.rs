//! The drive's future events in order of time. Among events at the same time, the one scheduled
//! first comes first.
//!
//! Each die and each channel waits for one event at a time, so each has a fixed place, and a
//! tournament tree finds the earliest event. A change costs as many comparisons as the tree is
//! high, and no branches that the processor must predict, of which a heap makes several.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use disklab_units::Nanos;

/// An event inside the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum FlashEvent {
    /// A die has finished its work: sensing, programming, erasing.
    Die(u32),
    /// A die's work may be interrupted from now on.
    Firm(u32),
    /// A transfer over a channel is over.
    Channel(u32),
    /// A write's data, by its slot, is in the buffer.
    Written(u32),
    /// The drive may have been without a command long enough to count as resting.
    Rest,
}

#[derive(Clone)]
pub(crate) struct Agenda {
    /// The least [`key`] below each node. The root is element 1, and the leaves are the second
    /// half.
    nodes: Vec<u128>,
    dies: u32,
    channels: u32,
    /// Events of no die or channel, and those of a die before its own event. The first of them has
    /// the last place in the tree.
    others: BinaryHeap<Reverse<(u128, FlashEvent)>>,
    scheduled: u64,
}

const NEVER: u128 = u128::MAX;

/// Returns the key of an event, which sorts by time, then by order of scheduling; the lowest 16
/// bits are the place.
fn key(at: Nanos, number: u64, place: u32) -> u128 {
    u128::from(at.0) << 64 | u128::from(number << 16 | u64::from(place))
}

impl Agenda {
    pub fn new(dies: u32, channels: u32) -> Self {
        let places = (dies + channels + 1) as usize;
        Self {
            nodes: vec![NEVER; places.next_power_of_two() * 2],
            dies,
            channels,
            others: BinaryHeap::with_capacity(64),
            scheduled: 0,
        }
    }

    /// Schedules an event. A die or channel then no longer waits for its earlier event.
    pub fn schedule(&mut self, at: Nanos, event: FlashEvent) {
        let place = match event {
            FlashEvent::Die(die) => die,
            FlashEvent::Channel(channel) => self.dies + channel,
            _ => self.dies + self.channels,
        };
        self.scheduled += 1;
        let key = key(at, self.scheduled, place);
        if place == self.dies + self.channels {
            self.others.push(Reverse((key, event)));
            self.plan_others();
        } else {
            self.set(place, key);
        }
    }

    fn plan_others(&mut self) {
        let first = self.others.peek().map_or(NEVER, |Reverse((key, _))| *key);
        self.set(self.dies + self.channels, first);
    }

    fn set(&mut self, place: u32, key: u128) {
        let mut node = self.nodes.len() / 2 + place as usize;
        let mut least = key;
        self.nodes[node] = key;
        while node > 1 {
            least = least.min(self.nodes[node ^ 1]);
            node /= 2;
            self.nodes[node] = least;
        }
    }

    pub fn next_at(&self) -> Option<Nanos> {
        (self.nodes[1] != NEVER).then(|| Nanos((self.nodes[1] >> 64) as u64))
    }

    /// Removes and returns the next event if it is due at or before `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<FlashEvent> {
        self.next_at().filter(|&at| at <= now)?;
        let place = u32::from(self.nodes[1] as u16);
        if place == self.dies + self.channels {
            let Reverse((_, event)) = self.others.pop()?;
            self.plan_others();
            return Some(event);
        }
        self.set(place, NEVER);
        Some(if place < self.dies {
            FlashEvent::Die(place)
        } else {
            FlashEvent::Channel(place - self.dies)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// A plain list gives the same events in the same order.
        #[test]
        fn events_come_in_order(
            (dies, channels) in (1..70_u32, 1..9_u32),
            steps in prop::collection::vec((0..4_u8, any::<u32>(), 0..20_u64), 1..200),
        ) {
            let mut agenda = Agenda::new(dies, channels);
            let mut list: Vec<(Nanos, FlashEvent)> = Vec::new();
            let mut now = Nanos(0);
            for (kind, number, after) in steps {
                let at = now + Nanos(after);
                let event = match kind {
                    0 => FlashEvent::Die(number % dies),
                    1 => FlashEvent::Channel(number % channels),
                    2 => FlashEvent::Written(number),
                    _ => {
                        let first = list.iter().enumerate().min_by_key(|(_, (at, _))| *at);
                        let first = first.map(|(index, _)| index);
                        let due = first.filter(|&index| list[index].0 <= at);
                        now = due.map_or(now, |index| list[index].0);
                        prop_assert_eq!(agenda.next_at(), first.map(|index| list[index].0));
                        prop_assert_eq!(agenda.pop_due(at), due.map(|index| list.remove(index).1));
                        continue;
                    }
                };
                if kind < 2 {
                    list.retain(|(_, other)| *other != event);
                }
                list.push((at, event));
                agenda.schedule(at, event);
            }
        }
    }
}
