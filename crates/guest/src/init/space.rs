//! How full the mounted filesystems are.

use super::program::{Words, prepare};
use super::{Failure, Steps};
use crate::plan::{Mount, POOL, Plan, REPLICA, ZFS};
use crate::snapshots::{SPACE, Used};
use serde_json::json;

/// Says it; `when` is a word for the record.
pub fn say(plan: &Plan, when: &str, steps: &mut Steps) -> Result<(), Failure> {
    let of = |folder, mount: Option<&Mount>| match mount {
        Some(mount) if mount.filesystem == ZFS => used_of_zfs(&mount.source),
        _ => used(folder),
    };
    let replica = plan.replica.as_ref().map(|it| of(REPLICA, Some(&it.mount))).transpose()?;
    let used = Used { when: when.to_owned(), pool: of(POOL, plan.mount.as_ref())?, replica };
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
    let status = prepare(&command, SPACE, &words)?
        .status()
        .map_err(|e| format!("{SPACE}: `{text}`: {e}"))?;
    let said = words.read()?;
    said.parse().map_err(|_| format!("{SPACE}: `{text}` ({status}) says {said:?}, and no number"))
}
