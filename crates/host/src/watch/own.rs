//! What the trial's own processes have read from disks, as the kernel counts it for each task (Documentation/filesystems/proc.rst,
//! `read_bytes`): what the disks did beyond that was for others.

use std::fs;

use nix::sys::resource::{UsageWho, getrusage};

/// Bytes, of all processes of this namespace, those that have ended among them. What kernel threads read for them is not in it.
/// None where the kernel does not count.
pub fn read_bytes() -> Option<u64> {
    let mut all = 0u64;
    let mut counted = false;
    for entry in fs::read_dir("/proc").ok()?.flatten() {
        if !entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        // It may have ended meanwhile.
        let Ok(text) = fs::read_to_string(entry.path().join("io")) else { continue };
        let read =
            text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.trim().parse::<u64>().ok());
        counted |= read.is_some();
        all = all.saturating_add(read.unwrap_or(0));
    }
    // In blocks of 512 bytes, whatever the disk has.
    let ended = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?.block_reads().try_into().unwrap_or(0u64);
    counted.then(|| all.saturating_add(ended.saturating_mul(512)))
}
