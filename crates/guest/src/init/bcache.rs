//! Disks behind a cache: `/dev/bcache0`, `/dev/bcache1`, ... in place of disks.

use super::program::run;
use super::{Failure, Steps, keep};
use crate::plan::Cache;
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Where the kernel is told of a device that has bcache's superblock; it looks at the device before
/// it returns.
const REGISTER: &str = "/sys/fs/bcache/register";
/// One file for each cache; what is written there also ends the devices behind it.
const STOP: &str = "/sys/fs/bcache/*/stop";
/// How often is looked whether the kernel is ready. The disks are busy meanwhile.
const LOOK: Duration = Duration::from_millis(10);
/// So often at most, a virtual minute; a cache is stopped when its journal is written.
const LOOKS: u32 = 6000;

/// Puts the cache in front of its disks. One that has to be made first takes everything: it is to
/// hold the test file.
pub fn start(cache: &Cache, steps: &mut Steps) -> Result<(), Failure> {
    if let Some(command) = &cache.make {
        run(command, "make-bcache", steps)?;
    }
    for device in cache.disks.iter().chain([&cache.cache]) {
        fs::write(REGISTER, device)
            .map_err(|e| format!("writing {device:?} to {REGISTER}: {e}"))?;
    }
    let states = wait("bcache in front of each disk", || {
        let states: Option<Vec<_>> =
            cache.disks.iter().enumerate().map(|(i, _)| state(i)).collect();
        Ok(states.filter(|states| states.iter().all(|state| state != "no cache")))
    })?;
    if cache.make.is_some() {
        for index in 0..cache.disks.len() {
            take_all(index)?;
        }
    }
    steps.say(
        &json!({"step": "cached", "disks": cache.disks, "cache": cache.cache, "states": states}),
    );
    Ok(())
}

/// Ends the cache, so that it is found clean the next time.
pub fn stop(steps: &mut Steps) -> Result<(), Failure> {
    for path in keep::matching(STOP)? {
        fs::write(&path, "1").map_err(|e| format!("writing 1 to {}: {e}", path.display()))?;
    }
    wait("bcache to end", || {
        let gone = state(0).is_none() && keep::matching(STOP)?.is_empty();
        Ok(gone.then_some(()))
    })?;
    steps.say(&json!({"step": "uncached"}));
    Ok(())
}

/// Has the cache take what is written or read in sequence too, of which it would take nothing; till
/// its next start.
fn take_all(index: usize) -> Result<(), Failure> {
    let path = format!("/sys/block/bcache{index}/bcache/sequential_cutoff");
    fs::write(&path, "0").map_err(|e| format!("writing 0 to {path}: {e}"))
}

/// `no cache`, `clean`, `dirty` or `inconsistent`; none where there is no such device.
fn state(index: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/sys/block/bcache{index}/bcache/state")).ok()?;
    Some(text.trim().to_owned())
}

fn wait<T>(what: &str, look: impl Fn() -> Result<Option<T>, Failure>) -> Result<T, Failure> {
    for _ in 0..LOOKS {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::sleep(LOOK);
    }
    Err(format!("waited {:?} of virtual time for {what}", LOOK * LOOKS))
}
