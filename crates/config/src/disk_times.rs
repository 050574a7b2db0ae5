//! A time that differs by the kind of disks: `{ rotational = "20s", solid_state = "300ms" }`.

use std::ops::RangeInclusive;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::TomlTable;

/// A time that differs by the kind of disks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiskTimes {
    /// For arrays with any disk that turns.
    pub rotational: Nanos,
    pub solid_state: Nanos,
}

/// Times that a ramp or a background's lead may take.
pub(crate) const TIMES_BEFORE: RangeInclusive<Nanos> = Nanos::ZERO..=Nanos::from_secs(24 * 3600);

impl DiskTimes {
    pub(crate) fn read(
        table: &TomlTable<'_, '_>,
        sensible: &RangeInclusive<Nanos>,
    ) -> Option<Self> {
        let rotational = table.within("rotational", sensible.clone());
        let solid_state = table.within("solid_state", sensible.clone());
        Some(Self { rotational: rotational?, solid_state: solid_state? })
    }

    /// The time that applies to an array.
    pub fn for_disks(self, rotational: bool) -> Nanos {
        if rotational { self.rotational } else { self.solid_state }
    }
}
