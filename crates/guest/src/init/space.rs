//! How full the mounted filesystems are.

use super::program::{Words, prepare};
use super::{Failure, Steps};
use crate::plan::{POOL, Plan, REPLICA, ZFS, ZFS_DATA, ZFS_REPLICA_DATA};
use crate::snapshots::{SPACE, Used};
use serde_json::json;

/// Says it; `when` is a word for the record.
pub fn say(plan: &Plan, when: &str, steps: &mut Steps) -> Result<(), Failure> {
    let is_zfs = plan.mount.as_ref().is_some_and(|mount| mount.filesystem == ZFS);
    let of = |folder, dataset| if is_zfs { used_of_zfs(dataset) } else { used(folder) };
    let replica = plan.replica.as_ref().map(|_| of(REPLICA, ZFS_REPLICA_DATA)).transpose()?;
    let used = Used { when: when.to_owned(), pool: of(POOL, ZFS_DATA)?, replica };
    steps.say(&json!({"step": SPACE, "used": used}));
    Ok(())
}

fn used(folder: &str) -> Result<u64, Failure> {
    let stat = rustix::fs::statvfs(folder).map_err(|e| format!("{SPACE}: {folder}: {e}"))?;
    Ok((stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

/// With snapshots and what is received, which statvfs leaves out.
fn used_of_zfs(dataset: &str) -> Result<u64, Failure> {
    let command = ["zfs", "get", "-H", "-p", "-o", "value", "used", dataset].map(str::to_owned);
    let (text, words) = (command.join(" "), Words::of(SPACE)?);
    let status = prepare(&command, SPACE, &words)?.status().map_err(|e| format!("{SPACE}: `{text}`: {e}"))?;
    let said = words.read()?;
    said.parse().map_err(|_| format!("{SPACE}: `{text}` ({status}) says {said:?}, and no number"))
}
