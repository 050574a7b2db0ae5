//! Bytes that the trial's own processes have read from disks, as the kernel counts them for each
//! task (Documentation/filesystems/proc.rst, `read_bytes`). The rest of the disks' reads was for
//! others.

use std::fs;

use crate::machine::{Machine, Process};

/// Returns the bytes of all processes of this namespace. A process that ended is in the count of
/// the process that waited for it (`wait_task_zombie` in kernel/exit.c), in the end the first
/// process. Reads of kernel threads for them are not included. Returns None if the kernel does not
/// count.
pub fn read_bytes() -> Option<u64> {
    let mut all = 0u64;
    let mut counted = false;
    for process in Process::all(&Machine::here()) {
        // The process may have ended meanwhile.
        let Ok(text) = fs::read_to_string(process.folder.join("io")) else { continue };
        let read = text
            .lines()
            .find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse::<u64>().ok());
        counted |= read.is_some();
        all = all.saturating_add(read.unwrap_or(0));
    }
    counted.then_some(all)
}
