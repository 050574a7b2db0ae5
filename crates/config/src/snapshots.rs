//! The `[snapshots]` of a background: taken, replicated and deleted again and again, as scripts of
//! users do.
//!
//! ```toml
//! [snapshots]
//! every = "5s"              # one is due so often
//! keep = 24                 # older ones are deleted
//! # what is not on the array's [replica] yet is sent there; may be left out: never
//! replicate_every = "20s"
//! ```

use std::ops::RangeInclusive;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::from_table;

from_table! {
    /// Read-only snapshots of all of the filesystem.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Snapshots {
        /// One is due so often.
        pub every: Nanos = within(TIMES),
        /// How many stay; older ones are deleted, but for what replication still needs.
        pub keep: u32 = within(KEEP),
        /// The difference to what the replica has is sent so often.
        pub replicate_every: Option<Nanos> = optional_within(TIMES),
    }
}

const TIMES: RangeInclusive<Nanos> = Nanos::from_millis(10)..=Nanos::from_secs(24 * 3600);
/// btrfs slows down long before.
const KEEP: RangeInclusive<u32> = 1..=100_000;
