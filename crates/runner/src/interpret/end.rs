//! The end of a trial's process.

use disklab_units::{Bytes, Nanos};
use std::process::ExitStatus;
use std::time::Duration;

/// The way in which a guest ended.
#[derive(Debug)]
pub enum End {
    /// The guest ended by itself.
    Exited(ExitStatus),
    /// Killed: nothing moved for this long.
    Silent(Duration),
    /// Killed: virtual time passed this limit.
    PastTime(Nanos),
    /// Killed: it ran for this long.
    PastWall(Duration),
    /// Killed: its console grew beyond the largest console.
    Talkative,
    /// Killed: its output took more than this.
    Overfull(Bytes),
    /// The user ended it.
    Stopped,
}
