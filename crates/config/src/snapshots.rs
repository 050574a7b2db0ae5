//! The `[snapshots]` of a background: taken, replicated and deleted again and again, as scripts of
//! users do.
//!
//! ```toml
//! [snapshots]
//! every = "5s"              # one is due so often
//! keep = 24                 # older ones are deleted
//! replicate_every = "20s"   # what is not on the array's [replica] yet is sent there; may be left out: never
//! ```

use std::ops::RangeInclusive;

use disklab_units::Nanos;
use serde::{Deserialize, Serialize};

use crate::read::TomlTable;

/// Read-only snapshots of all of the filesystem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshots {
    /// One is due so often.
    pub every: Nanos,
    /// How many stay; older ones are deleted, but for what replication still needs.
    pub keep: u32,
    /// The difference to what the replica has is sent so often.
    pub replicate_every: Option<Nanos>,
}

const TIMES: RangeInclusive<Nanos> = Nanos::from_millis(10)..=Nanos::from_secs(24 * 3600);
/// btrfs slows down long before.
const KEEP: RangeInclusive<u32> = 1..=100_000;

impl Snapshots {
    pub(crate) fn read(table: &TomlTable<'_, '_>) -> Option<Self> {
        let every = table.within("every", TIMES);
        let keep = table.within("keep", KEEP);
        let replicate_every =
            table.has("replicate_every").then(|| table.within("replicate_every", TIMES));
        Some(Self {
            every: every?,
            keep: keep?,
            replicate_every: replicate_every.map_or(Some(None), |every| every.map(Some))?,
        })
    }
}
