//! Commands that wait for the mechanism.

use std::ops::Range;

use disklab_units::{Bytes, Nanos, Sectors};

use super::geometry::Arm;
use super::mechanics::{AccessTarget, Mechanics};
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
pub(crate) struct CommandQueue {
    pub commands: Vec<Command>,
    targets: Vec<AccessTarget>,
    window: usize,
}

impl CommandQueue {
    /// `window`: how many of the oldest are weighed against each other.
    pub fn new(depth: u32, window: u32) -> Self {
        let room = depth.min(1024) as usize;
        Self {
            commands: Vec::with_capacity(room),
            targets: Vec::with_capacity(room),
            window: window.max(1) as usize,
        }
    }

    pub fn push(&mut self, command: Command, target: AccessTarget) {
        self.commands.push(command);
        self.targets.push(target);
    }

    pub fn remove(&mut self, index: usize) -> (Command, AccessTarget) {
        (self.commands.remove(index), self.targets.remove(index))
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

    /// A part of the command's data has come into the cache: it needs the medium from `from` on
    /// only.
    pub fn shorten(&mut self, index: usize, from: u64, target: AccessTarget) {
        self.commands[index].from = from;
        self.targets[index] = target;
    }
}
