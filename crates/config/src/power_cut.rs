//! The `[power_cut]` of a suite: what would be left of the disks if the power went, and whether
//! that is enough.
//!
//! ```toml
//! [power_cut]
//! cuts = 3                  # of each trial, at moments that its seed draws from what is measured
//! flushes = "kept"          # or "ignored", as by disks that lie; may be left out: kept
//! ```
//!
//! The trial goes on, and has its results; what a cut would leave is looked at after it, by a guest
//! that mounts it. Beside the workload, a witness writes files, fsyncs them, and notes which of
//! them it was promised.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::read::{choices, from_table};

choices! {
    /// Whether disks do what a flush asks for.
    #[derive(Default)]
    pub enum Flushes: "way with flushes" {
        /// What a flush was answered for stays.
        #[default]
        Kept = "kept",
        /// They are answered, and nothing is done: no filesystem survives that, and what looks at
        /// it must find it.
        Ignored = "ignored",
    }
}

from_table! {
    /// Power cuts of each trial.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PowerCut {
        pub cuts: u32 = within(CUTS),
        pub flushes: Flushes = with_default(Flushes::default()),
    }
}

/// What the witness's files take at most.
pub const WITNESS: Bytes = Bytes::mib(128);
/// Each is a copy of the disks, and a guest that looks at it.
const CUTS: std::ops::RangeInclusive<u32> = 1..=64;
