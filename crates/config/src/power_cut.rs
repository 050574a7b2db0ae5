//! The `[power_cut]` of a suite: simulated losses of power, and whether the filesystem survives
//! them.
//!
//! ```toml
//! [power_cut]
//! cuts = 3                  # of each trial, at moments that its seed draws from what is measured
//! states = 16               # of the disks after each cut; may be left out: 1
//! flushes = "kept"          # or "ignored", as by disks that lie; may be left out: kept
//! ```
//!
//! The trial goes on after a cut, and has its results. After the trial, a guest mounts each state
//! that a cut could leave, and checks it. Beside the workload, a witness writes files, fsyncs
//! them, and notes which of them it was promised.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::read::{choices, from_table};

choices! {
    /// Whether disks obey a flush, by which data that they acknowledged is safe.
    #[derive(Default)]
    pub enum Flushes: "treatment of flushes" {
        /// Data of an answered flush survives the cut.
        #[default]
        Kept = "kept",
        /// Disks answer flushes and do nothing. No filesystem survives that, so the check must find
        /// the loss.
        Ignored = "ignored",
    }
}

from_table! {
    /// The power cuts of each trial.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct PowerCut {
        pub cuts: u32 = within(CUTS),
        /// Number of states of the disks after each cut.
        #[serde(default = "one", skip_serializing_if = "is_one")]
        pub states: u32 = within_or(CUTS, 1),
        pub flushes: Flushes = with_default(Flushes::default()),
    }
}

/// Largest number of bytes that the witness's files take.
pub const WITNESS: Bytes = Bytes::mib(128);
/// Range of the number of cuts, and of states of each. A state is a copy of the disks, and a guest
/// that checks it.
const CUTS: std::ops::RangeInclusive<u32> = 1..=MOST_STATES;

/// Largest number of states of all cuts of a trial. Their disks all exist at its end.
pub const MOST_STATES: u32 = 64;

const fn one() -> u32 {
    1
}

// Trials without other states have the keys that they had before there were any.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
const fn is_one(states: &u32) -> bool {
    *states == 1
}
