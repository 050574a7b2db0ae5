//! Disks behind a cache: `/dev/bcache0`, `/dev/bcache1`, ... in place of disks.

use super::program::run;
use super::{Failure, Steps, keep};
use crate::plan::Cache;
use serde_json::json;
use std::fs;
use std::time::Duration;

/// Where the kernel is told of a device that has bcache's superblock; it looks at the device before it returns.
const REGISTER: &str = "/sys/fs/bcache/register";
/// One file for each cache; what is written there also ends the devices behind it.
const STOP: &str = "/sys/fs/bcache/*/stop";
/// In the order in which their disks were registered.
const STATES: &str = "/sys/block/*/bcache/state";
/// How often is looked whether the kernel is ready. The disks are busy meanwhile.
const LOOK: Duration = Duration::from_millis(1);
/// So often at most, a virtual minute; a cache is stopped when its journal is written.
const LOOKS: u32 = 60_000;

/// Makes the cache if that is wanted, and puts it in front of its disks.
pub fn start(cache: &Cache, steps: &mut Steps) -> Result<(), Failure> {
    if let Some(command) = &cache.make {
        run(command, "make-bcache", steps)?;
    }
    for device in cache.disks.iter().chain([&cache.cache]) {
        fs::write(REGISTER, device).map_err(|e| format!("writing {device:?} to {REGISTER}: {e}"))?;
    }
    let wanted = cache.disks.len();
    wait(|| Ok(states()?.iter().filter(|state| *state != "no cache").count() == wanted))
        .map_err(|e| format!("bcache in front of {wanted} disks: {e}"))?;
    steps.say(&json!({"step": "cached", "disks": cache.disks, "cache": cache.cache, "states": states()?}));
    Ok(())
}

/// Ends the cache, so that it is found clean the next time.
pub fn stop(steps: &mut Steps) -> Result<(), Failure> {
    for path in keep::matching(STOP)? {
        fs::write(&path, "1").map_err(|e| format!("writing 1 to {}: {e}", path.display()))?;
    }
    wait(|| Ok(states()?.is_empty() && keep::matching(STOP)?.is_empty()))
        .map_err(|e| format!("ending bcache: {e}"))?;
    steps.say(&json!({"step": "uncached"}));
    Ok(())
}

fn states() -> Result<Vec<String>, Failure> {
    let read = |path| fs::read_to_string(path).map(|text| text.trim().to_owned());
    // One that ends while it is looked at is none.
    Ok(keep::matching(STATES)?.into_iter().filter_map(|path| read(path).ok()).collect())
}

fn wait(is_so: impl Fn() -> Result<bool, Failure>) -> Result<(), Failure> {
    for _ in 0..LOOKS {
        if is_so()? {
            return Ok(());
        }
        std::thread::sleep(LOOK);
    }
    Err(format!("it is not so after {:?}", LOOK * LOOKS))
}
