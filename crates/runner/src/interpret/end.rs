//! How the process of a trial ended.

use disklab_units::{Bytes, Nanos};
use std::process::ExitStatus;
use std::time::Duration;

/// How a guest ended.
#[derive(Debug)]
pub enum End {
    /// By itself.
    Exited(ExitStatus),
    /// Given up: nothing moved for so long.
    Silent(Duration),
    /// Given up: virtual time passed this limit.
    PastTime(Nanos),
    /// Given up: it ran for so long.
    PastWall(Duration),
    /// Given up: its console grew past the longest that a console may be.
    Talkative,
    /// Given up: its output took more than this.
    Overfull(Bytes),
    /// The user wanted it to end.
    Stopped,
}
