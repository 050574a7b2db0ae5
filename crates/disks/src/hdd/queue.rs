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
    /// When it was decoded.
    pub since: Nanos,
    /// The first sector that must come from or go to the medium: a read whose first part is in the
    /// cache needs the rest only.
    pub from: u64,
    /// The sector behind the last.
    pub end: u64,
}

impl Command {
    /// Returns the bytes that the host gets or gives.
    pub fn bytes(&self) -> Bytes {
        Sectors(self.end.saturating_sub(self.request.sector)).bytes()
    }
}

/// In the order in which they came. The targets lie side by side because every choice looks at all
/// of them.
#[derive(Clone)]
pub(crate) struct CommandQueue {
    pub commands: Vec<Command>,
    targets: Vec<AccessTarget>,
    error: EstimateError,
    pub ageing: Ageing,
}

/// The drive's errors about the way to each command, drawn anew for each command at each choice: a
/// time from nothing to `most`, or to [`MOST_TRAVELS`] times the arm's way if that is less.
#[derive(Clone)]
struct EstimateError {
    most: Nanos,
    random: Random,
}

/// A drive that errs by 20 ms about seeks over the whole stroke knows short ones better: without
/// this, six measured drives and arrays gain too little where they use 0.2 to 0.7 % of their
/// stroke. Fitted to them together.
const MOST_TRAVELS: u64 = 6;

impl EstimateError {
    /// Draws the errors of one choice; returns the error about the command at an index, to which
    /// the arm takes `travel`.
    fn draw(&mut self) -> impl Fn(usize, u64) -> u64 + use<> {
        let (most, key) = (self.most.0, self.random.next_u64());
        move |index, travel| {
            let most = most.min(travel * MOST_TRAVELS);
            #[cfg(test)]
            let most = if Bug::MisjudgedWay.is_planted() { u64::from(u32::MAX) } else { most };
            // Two rounds of multiplication: neighbouring indices give unrelated numbers.
            let mixed = (key ^ index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
            ((mixed >> 32) * most) >> 32
        }
    }
}

/// The cost of a later arrival in a choice, in proportion to how much later the command came. At
/// `patience` the cost is more than the longest way to any command, so that no command is served
/// before one that arrived this much earlier.
#[derive(Clone)]
pub(crate) struct Ageing {
    pub patience: Nanos,
    /// More than the longest way that the drive may expect to a command, by `patience`, times
    /// 2^16 and rounded up.
    rate: u64,
}

impl Ageing {
    /// `reach`: the longest way to any command; `error`: how much longer the drive may expect.
    fn new(patience: Nanos, reach: u64, error: Nanos) -> Self {
        let longest = reach + error.0 + 1;
        let rate = (longest << 16).div_ceil(patience.0.max(1));
        Self { patience, rate }
    }

    /// Returns the cost of an arrival `later` than the oldest.
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

    /// Returns the command that costs least, as its index, and that cost: the way to it, seek and
    /// rotation together, with the drive's error about it and what its arrival later than `oldest`
    /// costs.
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

    /// How long it takes to get to the start of one.
    pub fn reach(&self, index: usize, mechanics: &Mechanics, arm: Arm, angle: u64) -> u64 {
        mechanics.reach(arm, angle, &self.targets[index])
    }

    /// A read that starts within `sectors`.
    pub fn find_read_in(&self, sectors: &Range<u64>) -> Option<usize> {
        // One comparison for both ends, as in `ReadCache::find`.
        let (start, length) = (sectors.start, sectors.end.saturating_sub(sectors.start));
        let within = |command: &Command| {
            command.from.wrapping_sub(start) < length && command.request.op == Op::Read
        };
        self.commands.iter().position(within)
    }

    /// A part of the command's data has come into the cache: it needs the medium from `from` on
    /// only.
    pub fn shorten(&mut self, index: usize, from: u64, target: AccessTarget) {
        self.commands[index].from = from;
        self.targets[index] = target;
    }
}
