//! Linux's software RAID below a filesystem.

use super::program::run;
use super::{Failure, Steps};
use crate::plan::Raid;
use serde_json::json;
use std::fs;

/// Makes it, or finds it as it was left.
pub fn start(raid: &Raid, steps: &mut Steps) -> Result<(), Failure> {
    run(&raid.start, "md", steps)?;
    // What it is to the kernel, for the record: `Personalities : [raid1]`, `md0 : active raid1
    // vdb[1] vda[0]`, ...
    let says = fs::read_to_string("/proc/mdstat").map_err(|e| format!("/proc/mdstat: {e}"))?;
    steps.say(&json!({"step": "joined", "says": says.trim()}));
    Ok(())
}

/// Ends it, so that it is found clean.
pub fn stop(raid: &Raid, steps: &mut Steps) -> Result<(), Failure> {
    run(&raid.stop, "md", steps)
}
