//! The `[controller]` of an array: the path that the data of all its disks share.
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
    /// A controller with a limited rate in each direction. The two directions do not share their
    /// limits. The device of a cache is not behind the controller.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct Controller {
        /// Rate from all disks together.
        pub read: Rate = within(RATES),
        /// Rate to all disks together.
        pub write: Rate = within(RATES),
    }
}

/// Range of the rates: from a bus of 1990 to more than any slot of a machine has.
const RATES: std::ops::RangeInclusive<Rate> = Rate(1_000_000)..=Rate(256_000_000_000);
