//! The clock of the kernel's events.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the ns of the clock that never steps, the clock of the kernel's events. It calls the C
/// library: rustix requires more of a vDSO than User Mode Linux has, and panics without it.
pub fn monotonic() -> u64 {
    // Every kernel has this clock, so the default is never used.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
    now.as_nanos().try_into().unwrap_or(u64::MAX)
}
