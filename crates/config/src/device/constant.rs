use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::TomlTable;

/// A disk whose every read and write takes the same time, whatever its size and place: for tests
/// against queueing theory and for measuring disklab itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constant {
    /// Of one read or write, from when a server takes it. A flush takes it too.
    pub latency: Nanos,
    /// How many requests are served at once; the others wait in the order they came. 1 is a single
    /// queue.
    pub servers: u32,
    /// What the guest's kernel is told.
    pub rotational: bool,
    /// Requests that the disk takes at once, served and waiting.
    pub queue_depth: u32,
}

impl Constant {
    pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        // Without any latency, virtual time would stand still under load.
        let latency = table.within("latency", Nanos(100)..=Nanos::from_secs(10));
        let servers = table.within("servers", 1..=4096);
        let rotational = table.or("rotational", false);
        let queue_depth = table.within("queue_depth", 1..=4096);
        let (servers, queue_depth) = (servers?, queue_depth?);
        if servers > queue_depth {
            table.wrong(
                "servers",
                format!("{servers} cannot be busy at once: queue_depth is {queue_depth}"),
            );
            return None;
        }
        Some(Self { latency: latency?, servers, rotational, queue_depth })
    }
}
