//! How full the mounted filesystems are.

use super::{Failure, Steps};
use crate::plan::{POOL, REPLICA};
use crate::snapshots::{SPACE, Used};
use serde_json::json;

/// Says it; `when` is a word for the record.
pub fn say(has_replica: bool, when: &str, steps: &mut Steps) -> Result<(), Failure> {
    let replica = has_replica.then(|| used(REPLICA)).transpose()?;
    let used = Used { when: when.to_owned(), pool: used(POOL)?, replica };
    steps.say(&json!({"step": SPACE, "used": used}));
    Ok(())
}

fn used(folder: &str) -> Result<u64, Failure> {
    let stat = rustix::fs::statvfs(folder).map_err(|e| format!("{SPACE}: {folder}: {e}"))?;
    Ok((stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}
