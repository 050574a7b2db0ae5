//! Events inside a disk, from which the checkers ([`crate::check`]) see whether it obeys physics.

use std::ops::Range;

use disklab_units::{Bytes, Nanos};

/// Something that a disk did or has begun to do. Times may lie ahead of the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskEvent {
    /// The head passed over these sectors, one after another.
    Medium {
        sectors: Range<u64>,
        write: bool,
        /// The id of the request that needed this, or `None` for data from the write buffer.
        request: Option<u32>,
        /// The time at which the arm left its previous place, and that place's cylinder and
        /// surface. It is `None` if the head went on reading where it was.
        from: Option<(Nanos, u32, u32)>,
        begun: Nanos,
        end: Nanos,
    },
    /// The head read ahead on the disk's own account; its place afterwards is where that ended.
    Ahead,
    /// A transfer over the cable ended.
    Link { end: Nanos, bytes: Bytes },
    /// A die did one piece of work, which was then complete or interrupted.
    Die { die: u32, what: DieWork, begun: Nanos, end: Nanos, interrupted: bool },
    /// A transfer over a channel.
    Channel { channel: u32, begun: Nanos, end: Nanos, bytes: Bytes },
    /// The host's data of these sectors reached the medium at `end`. The disk had taken that data
    /// at `taken`.
    Durable { sectors: Range<u64>, taken: Nanos, end: Nanos },
}

/// The work of a die.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DieWork {
    Sense,
    Program,
    Erase,
    Suspend,
}

/// Keeps events until they are drained, if recording was switched on.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventLog(Option<Vec<DiskEvent>>);

impl EventLog {
    pub fn open(&mut self) {
        self.0.get_or_insert_default();
    }

    pub fn note(&mut self, event: impl FnOnce() -> DiskEvent) {
        if let Some(events) = &mut self.0 {
            events.push(event());
        }
    }

    pub fn drain(&mut self, into: &mut Vec<DiskEvent>) {
        if let Some(events) = &mut self.0 {
            into.append(events);
        }
    }
}
