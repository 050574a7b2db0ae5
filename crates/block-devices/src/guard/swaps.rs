//! Swap space according to /proc/swaps, which has a line for each with path, kind and KiB.

use std::io::{self, ErrorKind};

use crate::machine::Machine;
use crate::mountinfo::unescaped;
use crate::refusal::Why;

pub(super) fn read(machine: &Machine) -> Result<String, Why> {
    known(machine.text("/proc/swaps"))
}

/// Returns the kernel's list of swap space. A kernel without swap has no such file, though it has
/// /proc.
pub(super) fn known(read: io::Result<String>) -> Result<String, Why> {
    match read {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(String::new()),
        other => other.map_err(|error| {
            Why::Unknown(format!(
                "/proc/swaps, which tells whether it is swap space, cannot be read: {error}"
            ))
        }),
    }
}

/// Returns path and KiB of each swap space.
pub(super) fn listed(swaps: &str) -> impl Iterator<Item = (String, u64)> {
    swaps.lines().skip(1).map(|line| {
        let mut words = line.split_whitespace();
        let path = unescaped(words.next().unwrap_or_default());
        let kib = words.nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        (path, kib)
    })
}
