//! The activities of a hard disk's mechanism.

use disklab_units::Nanos;

use super::geometry::{Arm, Geometry};
use super::queue::Command;

#[derive(Clone)]
pub(crate) enum Activity {
    /// The mechanism does nothing.
    Idle,
    /// Reads ahead behind the last read, while no command waits. Its end causes no step of the
    /// drive unless the write buffer has data to write.
    Ahead(Stream),
    /// Reads from the medium for a command.
    Read { stream: Stream, command: Command, access: Access },
    /// Writes a command's data straight to the medium.
    Write { command: Command, access: Access },
    /// Writes from the buffer to the medium.
    Destage(Access),
}

/// A piece of work on the medium, begun at `since`; at `end` it leaves the arm at `arm`.
#[derive(Clone)]
pub(crate) struct Access {
    pub since: Nanos,
    /// Time at which the first sector came under the head.
    pub there: Nanos,
    pub end: Nanos,
    /// The arm's previous place, or `None` if the arm was already there.
    pub from: Option<Arm>,
    pub arm: Arm,
}

/// A head that reads in sequence into a segment of the cache.
#[derive(Clone)]
pub(crate) struct Stream {
    pub segment: usize,
    /// Time at which the head is at `tape`. Until then the arm is on its way there.
    at: Nanos,
    tape: u64,
    /// The first sector that the stream will not read; `stop` is the time at which the head reaches
    /// it.
    pub limit: u64,
    pub stop: Nanos,
}

impl Stream {
    /// Returns a stream that starts at the place `tape`, reached at `at`, and ends before the
    /// sector `limit`.
    pub fn new(segment: usize, at: Nanos, tape: u64, limit: u64, geometry: &Geometry) -> Self {
        let mut stream = Self { segment, at, tape, limit: 0, stop: at };
        stream.extend(limit, geometry);
        stream
    }

    /// Moves the stream's end to the sector `limit`, if that is further than its present end.
    pub fn extend(&mut self, limit: u64, geometry: &Geometry) {
        let limit = limit.min(geometry.sectors);
        if limit > self.limit {
            self.limit = limit;
            self.stop = self.when(geometry.end_place(limit).tape);
        }
    }

    /// Returns the time at which the head reaches `tape`, a place further on.
    pub fn when(&self, tape: u64) -> Nanos {
        self.at.saturating_add(Nanos(tape.saturating_sub(self.tape)))
    }

    /// Returns the place of the head on the tape.
    pub fn tape_at(&self, now: Nanos) -> u64 {
        self.tape + now.min(self.stop).saturating_sub(self.at).0
    }
}
