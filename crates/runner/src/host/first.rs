//! The first process of a trial on this machine, from its start to its end.

use crate::error::{Error, Result};
use crate::guest::End;
use disklab_guest::init::host::ARGUMENT;
use disklab_protocol::names;
use disklab_units::Nanos;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(50);

/// Carries out the plan in `folder`, which takes `limit` at most. All that it started has ended, or
/// is about to.
pub fn run(
    program: &Path,
    folder: &Path,
    limit: Nanos,
    stop: &AtomicBool,
    moved: &mut dyn FnMut(Nanos),
) -> Result<End> {
    let path = folder.join(names::CONSOLE);
    let console = File::create(&path).map_err(Error::io("create", &path))?;
    let both = console.try_clone().map_err(Error::io("create", &path))?;
    let mut child = Command::new(program)
        .arg(ARGUMENT)
        .env_clear()
        .env("PATH", disklab_block_devices::PATH)
        .current_dir(folder)
        // A terminal's Ctrl-C is for the one who watches.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(console)
        .stderr(both)
        .spawn()
        .map_err(|cause| Error::Tool { program: program.display().to_string(), cause })?;
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
    // Its namespaces end with it, and all that is in them.
    let _ = child.kill();
    let _ = child.wait();
    Ok(end)
}
