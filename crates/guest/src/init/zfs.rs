//! Pools of OpenZFS below a filesystem.
//!
//! zpool puts a partition table on what it takes for a whole disk, by its name, and waits for udev
//! to show the partition; there is neither here. A node of another name is to it a disk that is
//! taken as it is.

use super::program::run;
use super::{Failure, Steps};
use crate::plan::{Pool, ZFS_NODES};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const STEP: &str = "zpool";

/// Makes it, or finds it as it was left.
pub fn start(pool: &Pool, steps: &mut Steps) -> Result<(), Failure> {
    let nodes = pool.nodes.as_deref().unwrap_or(Path::new(ZFS_NODES));
    pool.disks.iter().try_for_each(|disk| node(disk, nodes))?;
    run(&pool.start, STEP, steps)
}

/// Ends it, so that it is found clean.
pub fn stop(pool: &Pool, steps: &mut Steps) -> Result<(), Failure> {
    run(&pool.stop, STEP, steps)
}

/// A second node of a disk, of its name, in this folder.
fn node(disk: &str, nodes: &Path) -> Result<(), Failure> {
    let (of, node) = (Path::new("/dev").join(disk), nodes.join(disk));
    let failed =
        |e: std::io::Error| format!("{STEP}: {} for {}: {e}", node.display(), of.display());
    fs::create_dir_all(nodes).map_err(failed)?;
    let number = of.metadata().map_err(failed)?.rdev();
    // On a real machine it is there from when the pool was made.
    if node.metadata().is_ok_and(|it| it.rdev() == number) {
        return Ok(());
    }
    mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, number)
        .map_err(|e| failed(e.into()))
}
