//! What the trial's own processes have read from disks, as the kernel counts it for each task
//! (Documentation/filesystems/proc.rst, `read_bytes`): what the disks did beyond that was for
//! others.

use std::fs;

use crate::machine::{Machine, Process};

/// Bytes, of all processes of this namespace. Those that have ended are in the count of who waited
/// for them (`wait_task_zombie` in kernel/exit.c), at last the first process. What kernel threads
/// read for them is not in it. None where the kernel does not count.
pub fn read_bytes() -> Option<u64> {
    let mut all = 0u64;
    let mut counted = false;
    for process in Process::all(&Machine::here()) {
        // It may have ended meanwhile.
        let Ok(text) = fs::read_to_string(process.folder.join("io")) else { continue };
        let read = text
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse::<u64>().ok());
        counted |= read.is_some();
        all = all.saturating_add(read.unwrap_or(0));
    }
    counted.then_some(all)
}
