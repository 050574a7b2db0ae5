//! Commands that wait for the mechanism.

use std::ops::Range;

use disklab_units::{Bytes, Nanos, Sectors};

use super::mechanics::{Arm, Mechanics, Target};
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
    /// What the host gets or gives.
    pub fn bytes(&self) -> Bytes {
        Sectors(self.end.saturating_sub(self.request.sector)).bytes()
    }
}

/// In the order in which they came. The targets lie side by side because every choice looks at all
/// of them.
pub(crate) struct Queue {
    commands: Vec<Command>,
    targets: Vec<Target>,
    window: usize,
}

impl Queue {
    /// `window`: how many of the oldest are weighed against each other.
    pub fn new(depth: u32, window: u32) -> Self {
        let room = depth.min(1024) as usize;
        Self {
            commands: Vec::with_capacity(room),
            targets: Vec::with_capacity(room),
            window: window.max(1) as usize,
        }
    }

    pub fn push(&mut self, command: Command, target: Target) {
        self.commands.push(command);
        self.targets.push(target);
    }

    pub fn remove(&mut self, index: usize) -> (Command, Target) {
        (self.commands.remove(index), self.targets.remove(index))
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn oldest(&self) -> Option<&Command> {
        self.commands.first()
    }

    /// Shortest access time first, seek and rotation together.
    pub fn nearest(&self, mechanics: &Mechanics, arm: Arm, angle: u64) -> Option<(usize, u64)> {
        mechanics.nearest(arm, angle, &self.targets[..self.targets.len().min(self.window)])
    }

    /// How long it takes to get to the start of one.
    pub fn reach(&self, index: usize, mechanics: &Mechanics, arm: Arm, angle: u64) -> u64 {
        mechanics.reach(arm, angle, &self.targets[index])
    }

    /// A read that starts within `sectors`.
    pub fn find_read_in(&self, sectors: &Range<u64>) -> Option<usize> {
        let within =
            |command: &Command| sectors.contains(&command.from) && command.request.op == Op::Read;
        self.commands.iter().position(within)
    }

    /// A read that starts at `sector`.
    pub fn find_read_from(&self, sector: u64) -> Option<usize> {
        self.find_read_in(&(sector..sector + 1))
    }

    pub fn end(&self, index: usize) -> u64 {
        self.commands[index].end
    }

    /// A part of the command's data has come into the cache: it needs the medium from `from` on
    /// only.
    pub fn shorten(&mut self, index: usize, from: u64, target: Target) {
        self.commands[index].from = from;
        self.targets[index] = target;
    }
}
