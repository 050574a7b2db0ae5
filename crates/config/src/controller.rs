//! The `[controller]` of an array: what all its disks send and get goes through it.
//!
//! ```toml
//! [controller]
//! read = "200 MB/s"     # of all disks together
//! write = "190 MB/s"
//! ```

use disklab_units::Rate;
use serde::{Deserialize, Serialize};

use crate::read::from_table;

from_table! {
    /// A controller that moves no more than so much, in each direction by itself. A cache's device
    /// is not behind it.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Controller {
        /// From the disks.
        pub read: Rate = within(RATES),
        /// To the disks.
        pub write: Rate = within(RATES),
    }
}

/// From a bus of 1990 to more than any slot of a machine has.
const RATES: std::ops::RangeInclusive<Rate> = Rate(1_000_000)..=Rate(256_000_000_000);
