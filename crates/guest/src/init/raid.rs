//! Linux's software RAID and pools of OpenZFS, below a filesystem.
//!
//! zpool writes a partition table to a device that it takes for a whole disk, by its name, and
//! waits for udev to show the partition; the guest has neither. It uses a node with another name as
//! it is.

use super::perform::{Perform, Session};
use super::program::run;
use super::steps::Failure;
use crate::site::Site;
use disklab_protocol::action::{StartPool, StartRaid};
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

impl Perform for StartRaid {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![shell::command(&self.command)]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        run(&self.command, "md", &mut session.steps)?;
        // The kernel's view: `Personalities : [raid1]`, `md0 : active raid1 vdb[1] vda[0]`.
        let says =
            fs::read_to_string("/proc/mdstat").map_err(|e| format!("reading /proc/mdstat: {e}"))?;
        session.steps.say(&Step::Joined { says: says.trim().to_owned() });
        Ok(())
    }
}

impl Perform for StartPool {
    fn lines(&self, site: &dyn Site) -> Vec<String> {
        let nodes = self.disks.iter().filter_map(|disk| site.node_line(disk, &self.nodes));
        nodes.chain([shell::command(&self.command)]).collect()
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        self.disks.iter().try_for_each(|disk| make_node(disk, &self.nodes))?;
        run(&self.command, "zpool", &mut session.steps)
    }
}

/// Makes a second node of a disk, with its name, in a folder.
fn make_node(disk: &str, nodes: &Path) -> Result<(), Failure> {
    let (first, node) = (Path::new("/dev").join(disk), nodes.join(disk));
    let failed =
        |e: std::io::Error| format!("zpool: {} for {}: {e}", node.display(), first.display());
    fs::create_dir_all(nodes).map_err(failed)?;
    let number = first.metadata().map_err(failed)?.rdev();
    // On a real machine the node exists since the pool was made.
    if node.metadata().is_ok_and(|there| there.rdev() == number) {
        return Ok(());
    }
    mknodat(CWD, &node, FileType::BlockDevice, Mode::RUSR | Mode::WUSR, number)
        .map_err(|e| failed(e.into()))
}
