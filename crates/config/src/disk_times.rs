//! A time that differs by the kind of disks: `{ rotational = "20s", solid_state = "300ms" }`.

use std::ops::RangeInclusive;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::from_table;

from_table! {
    /// A time that differs by the kind of disks.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
    pub struct DiskTimes(range: &RangeInclusive<Nanos>) {
        /// Time for arrays with at least one disk that turns.
        pub rotational: Nanos = within(range.clone()),
        /// Time for all other arrays.
        pub solid_state: Nanos = within(range.clone()),
    }
}

/// Range of a ramp and of a background's lead.
pub(crate) const TIMES_BEFORE: RangeInclusive<Nanos> = Nanos::ZERO..=Nanos::from_secs(24 * 3600);

impl DiskTimes {
    /// Returns the time that applies to an array.
    pub fn for_disks(self, rotational: bool) -> Nanos {
        if rotational { self.rotational } else { self.solid_state }
    }
}
