//! The first process of a trial on this machine, from its start to its end.

use crate::error::{Error, Result};
use crate::execute::guest::spawn;
use crate::interpret::end::End;
use disklab_guest::init::host::ARGUMENT;
use disklab_units::Nanos;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);

/// Runs the plan in `folder`, for at most `limit`. All processes that it started have ended, or are
/// about to end.
pub fn run(
    program: &Path,
    folder: &Path,
    limit: Nanos,
    stop: &AtomicBool,
    moved: &mut dyn FnMut(Nanos),
) -> Result<End> {
    let mut command = Command::new(program);
    command.arg(ARGUMENT).env_clear().env("PATH", disklab_block_devices::PATH);
    let mut child = spawn(&mut command, folder)?;
    let begun = Instant::now();
    let end = loop {
        let status =
            child.try_wait().map_err(Error::io("wait for the first process in", folder))?;
        let now = Nanos(begun.elapsed().as_nanos().try_into().unwrap_or(u64::MAX));
        match status {
            Some(status) => return Ok(End::Exited(status)),
            None if stop.load(Ordering::Relaxed) => break End::Stopped,
            None if now > limit => break End::PastTime(limit),
            None => moved(now),
        }
        sleep(LOOK);
    };
    // The process's namespaces end with it, and so do all processes and mounts in them.
    let _ = child.kill();
    let _ = child.wait();
    Ok(end)
}
