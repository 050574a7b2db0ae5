//! Keeps each guest on one processor.
//!
//! A guest is two host processes that take turns, the kernel and the program that runs in it. On
//! two processors each turn wakes the other one up, which costs five times what the turn itself
//! does; on one it is a context switch.

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors that this process may use, in order.
pub fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_else(|_| {
        let mut all = CpuSet::new();
        all.set(0);
        all
    });
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Keeps the calling thread, and what it starts from now on, on one processor.
///
/// Where the host forbids it the guest is slower and its results are the same, so that is no error.
pub fn keep_to(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None::<Pid>, &set);
}
