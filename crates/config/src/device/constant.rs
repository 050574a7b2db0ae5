use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, from_table};

from_table! {
    /// A disk whose every read and write takes the same time, whatever its size and place. It
    /// serves tests against queueing theory, and measurements of disklab itself.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Constant {
        /// Time of one read, write or flush, from when a server takes it. It may not be 0, because
        /// virtual time would stand still under load.
        pub latency: Nanos = within(Nanos(100)..=Nanos::from_secs(10)),
        /// Number of requests that are served at once; the others wait in the order of their
        /// arrival. 1 is a single queue.
        pub servers: u32 = within(1..=4096),
        /// Whether the guest's kernel treats the disk as one that turns.
        pub rotational: bool = with_default(false),
        /// Requests that the disk takes at once, served and waiting.
        pub queue_depth: u32 = within(1..=4096),
    }
}

impl Constant {
    pub(super) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let constant = Self::from_table(table)?;
        let Self { servers, queue_depth, .. } = constant;
        table.refuse_if(servers > queue_depth, "servers", || {
            format!("{servers} is more than queue_depth, {queue_depth}")
        });
        Some(constant)
    }
}
