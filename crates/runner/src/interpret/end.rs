//! How the process of a trial ended.

use disklab_units::Nanos;
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
    /// Given up: its console grew past [`LONGEST_CONSOLE`].
    Talkative,
    /// The user wanted it to end.
    Stopped,
}
