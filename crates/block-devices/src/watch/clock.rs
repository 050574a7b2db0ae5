//! The clock of the kernel's events.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// ns of the clock that never steps, which the kernel's events are told by. By the C library:
/// rustix wants more of a vDSO than User Mode Linux has, and panics without.
pub fn monotonic() -> u64 {
    // Every kernel has this clock.
    let now = clock_gettime(ClockId::CLOCK_MONOTONIC).map(Duration::from).unwrap_or_default();
    now.as_nanos().try_into().unwrap_or(u64::MAX)
}
