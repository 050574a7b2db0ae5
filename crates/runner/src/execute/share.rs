//! Shares work among several threads.

use super::cpus::Processors;
use crate::error::Result;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls `work` for 0, 1, ... below `count` in `jobs` threads, each on a processor of its own, or
/// in fewer threads if the machine has no more. The first error ends it.
pub fn share(jobs: usize, count: usize, work: &(dyn Fn(usize) -> Result<()> + Sync)) -> Result<()> {
    let next = AtomicUsize::new(0);
    let failed = OnceLock::new();
    let processors = Processors::allowed();
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= count {
                return;
            }
            let _kept = processors.keep_to_one();
            if let Err(error) = work(i) {
                next.store(count, Ordering::Relaxed);
                let _ = failed.set(error);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        let is_begun = |_: &usize| std::thread::Builder::new().spawn_scoped(scope, work).is_ok();
        if (0..jobs.clamp(1, count.max(1))).filter(is_begun).count() == 0 {
            work();
        }
    });
    failed.into_inner().map_or(Ok(()), Err)
}
