//! Commands that wait for the mechanism.

use std::ops::Range;

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Random, Sectors, Seed};

use super::geometry::Arm;
use super::mechanics::{AccessTarget, Mechanics};
#[cfg(test)]
use crate::plant::Bug;
use crate::{Op, Request};

/// A command that the drive has decoded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Command {
    pub request: Request,
    /// Time at which the drive decoded the command.
    pub since: Nanos,
    /// The first sector that the medium must provide or take. A read whose first part is in the
    /// cache needs only the rest.
    pub from: u64,
    /// The sector behind the last.
    pub end: u64,
}

impl Command {
    /// Returns the number of bytes that the host receives or sends.
    pub fn bytes(&self) -> Bytes {
        Sectors(self.end.saturating_sub(self.request.sector)).bytes()
    }
}

/// The waiting commands, in order of arrival. The targets are in a vector of their own because
/// every choice looks at all of them.
#[derive(Clone)]
pub(crate) struct CommandQueue {
    pub commands: Vec<Command>,
    targets: Vec<AccessTarget>,
    error: EstimateError,
    pub ageing: Ageing,
}

/// The drive's errors about the time to reach each command, drawn anew for each command at each
/// choice. An error is between 0 and `most`, or between 0 and [`MOST_TRAVELS`] times the arm's
/// travel if that is less.
#[derive(Clone)]
struct EstimateError {
    most: Nanos,
    random: Random,
}

/// Limit of the error about a seek, as a multiple of its time. A drive whose error is 20 ms for
/// seeks over the whole stroke knows short seeks better. Without the limit, six measured drives and
/// arrays gain too little from their queues when they use 0.2 to 0.7 % of their stroke. The value
/// is fitted to all six together.
const MOST_TRAVELS: u64 = 6;

impl EstimateError {
    /// Draws the errors of one choice, and returns a function from a command's index and the arm's
    /// travel to it to the error about it.
    fn draw(&mut self) -> impl Fn(usize, u64) -> u64 + use<> {
        let (most, key) = (self.most.0, self.random.next_u64());
        move |index, travel| {
            let most = most.min(travel * MOST_TRAVELS);
            #[cfg(test)]
            let most = if Bug::MisjudgedWay.is_planted() { u64::from(u32::MAX) } else { most };
            // Two rounds of multiplication make the numbers of neighbouring indices unrelated.
            let mixed = (key ^ index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            ((mixed >> 32) * most) >> 32
        }
    }
}

/// The cost of a later arrival in a choice, proportional to how much later the command came. At
/// `patience` the cost exceeds the longest time to reach any command, so that no command is served
/// before one that arrived this much earlier.
#[derive(Clone)]
pub(crate) struct Ageing {
    pub patience: Nanos,
    /// Cost for each ns of later arrival, times 2^16 and rounded up. Over `patience` it adds up to
    /// more than the longest time that the drive may expect for any command.
    rate: u64,
}

impl Ageing {
    /// Returns the ageing for the longest time to reach any command, `reach`, to which the drive's
    /// estimate may add `error`.
    fn new(patience: Nanos, reach: u64, error: Nanos) -> Self {
        let longest = reach + error.0 + 1;
        let rate = (longest << 16).div_ceil(patience.0.max(1));
        Self { patience, rate }
    }

    /// Returns the cost of an arrival that is `later` than the oldest one.
    pub fn cost(&self, later: Nanos) -> u64 {
        #[cfg(test)]
        if Bug::ForgottenWait.is_planted() {
            return 0;
        }
        (later.0.min(self.patience.0) * self.rate) >> 16
    }
}

impl CommandQueue {
    pub fn new(model: &Hdd, mechanics: &Mechanics, seed: Seed) -> Self {
        let room = model.queue_depth.min(1024) as usize;
        let longest = mechanics.longest_reach();
        Self {
            commands: Vec::with_capacity(room),
            targets: Vec::with_capacity(room),
            error: EstimateError {
                most: model.queue_error,
                random: Random::new(seed.derive("queue")),
            },
            ageing: Ageing::new(model.queue_patience, longest, model.queue_error),
        }
    }

    /// Returns the queue of a drive that takes one command at a time.
    pub fn of_one() -> Self {
        let error = EstimateError { most: Nanos::ZERO, random: Random::new(Seed(0)) };
        let ageing = Ageing::new(Nanos::MAX, 0, Nanos::ZERO);
        Self { commands: Vec::new(), targets: Vec::new(), error, ageing }
    }

    pub fn push(&mut self, command: Command, target: AccessTarget) {
        self.commands.push(command);
        self.targets.push(target);
    }

    pub fn remove(&mut self, index: usize) -> (Command, AccessTarget) {
        (self.commands.remove(index), self.targets.remove(index))
    }

    /// Returns the index of the command with the lowest cost, and that cost. It is the time to
    /// reach the command, seek and rotation together, plus the drive's error about it, plus the
    /// cost of its arrival later than `oldest`.
    pub fn cheapest(
        &mut self,
        mechanics: &Mechanics,
        arm: Arm,
        angle: u64,
        oldest: Nanos,
    ) -> Option<(usize, u64)> {
        let targets = &self.targets[..];
        if targets.len() == 1 {
            return mechanics.nearest(arm, angle, targets);
        }
        let (commands, ageing) = (&self.commands[..targets.len()], &self.ageing);
        let late = |index: usize| ageing.cost(commands[index].since.saturating_sub(oldest));
        let errs = self.error.most > Nanos::ZERO;
        #[cfg(test)]
        let errs = errs || Bug::MisjudgedWay.is_planted();
        if !errs {
            return mechanics.cheapest(arm, angle, targets, late, |_, _| 0);
        }
        mechanics.cheapest(arm, angle, targets, late, self.error.draw())
    }

    /// Returns the time to reach the start of a command.
    pub fn reach(&self, index: usize, mechanics: &Mechanics, arm: Arm, angle: u64) -> u64 {
        mechanics.reach(arm, angle, &self.targets[index])
    }

    /// Returns the index of the first waiting read that starts within `sectors`.
    pub fn find_read_in(&self, sectors: &Range<u64>) -> Option<usize> {
        // One comparison checks both ends, as in `ReadCache::find`.
        let (start, length) = (sectors.start, sectors.end.saturating_sub(sectors.start));
        let within = |command: &Command| {
            command.from.wrapping_sub(start) < length && command.request.op == Op::Read
        };
        self.commands.iter().position(within)
    }

    /// Notes that the first part of a command's data has come into the cache, so that it needs the
    /// medium only from `from` on.
    pub fn shorten(&mut self, index: usize, from: u64, target: AccessTarget) {
        self.commands[index].from = from;
        self.targets[index] = target;
    }
}
