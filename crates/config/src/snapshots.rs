//! The `[snapshots]` of a background: snapshots that are taken, replicated and deleted again and
//! again, as users' scripts do.
//!
//! ```toml
//! [snapshots]
//! every = "5s"              # interval between snapshots
//! keep = 24                 # older ones are deleted
//! # interval between replications to the array's [replica]; may be left out: never
//! replicate_every = "20s"
//! ```

use std::ops::RangeInclusive;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::from_table;

from_table! {
    /// Read-only snapshots of the whole filesystem.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Snapshots {
        /// Interval between snapshots.
        pub every: Nanos = within(TIMES),
        /// Number of snapshots to keep. Older ones are deleted, except those that replication still
        /// needs.
        pub keep: u32 = within(KEEP),
        /// Interval between replications. Each sends the difference to the newest snapshot of the
        /// replica.
        pub replicate_every: Option<Nanos> = optional_within(TIMES),
    }
}

const TIMES: RangeInclusive<Nanos> = Nanos::from_millis(10)..=Nanos::from_secs(24 * 3600);
/// Range of `keep`. btrfs slows down long before the limit.
const KEEP: RangeInclusive<u32> = 1..=100_000;
