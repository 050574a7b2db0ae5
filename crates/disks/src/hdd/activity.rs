//! The activities of a hard disk's mechanism.

use disklab_units::Nanos;

use super::geometry::{Arm, Geometry};
use super::queue::Command;

#[derive(Clone)]
pub(crate) enum Activity {
    /// Does nothing.
    Idle,
    /// Reads on behind the last read because nobody wants anything else. It ends without notice.
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
    /// When the first sector was under the head.
    pub there: Nanos,
    pub end: Nanos,
    /// The place that the arm came from; `None` if it was there.
    pub from: Option<Arm>,
    pub arm: Arm,
}

/// A head that reads in sequence into a segment of the cache.
#[derive(Clone)]
pub(crate) struct Stream {
    pub segment: usize,
    /// When the head is at `tape`. This may be still to come: then the arm is on its way there.
    at: Nanos,
    tape: u64,
    /// The first sector that it will not read, and when it gets there.
    pub limit: u64,
    pub stop: Nanos,
}

impl Stream {
    /// From the place `tape`, reached at `at`, up to the sector `limit`.
    pub fn new(segment: usize, at: Nanos, tape: u64, limit: u64, geometry: &Geometry) -> Self {
        let mut stream = Self { segment, at, tape, limit: 0, stop: at };
        stream.extend(limit, geometry);
        stream
    }

    /// Reads on to the sector `limit`, if that is further than it would.
    pub fn extend(&mut self, limit: u64, geometry: &Geometry) {
        let limit = limit.min(geometry.sectors);
        if limit > self.limit {
            self.limit = limit;
            self.stop = self.when(geometry.end_place(limit).tape);
        }
    }

    /// When the head comes to a place further on.
    pub fn when(&self, tape: u64) -> Nanos {
        self.at.saturating_add(Nanos(tape.saturating_sub(self.tape)))
    }

    /// Returns the place of the head on the tape.
    pub fn tape_at(&self, now: Nanos) -> u64 {
        self.tape + now.min(self.stop).saturating_sub(self.at).0
    }
}
