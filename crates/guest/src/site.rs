//! The site of a plan, a guest or a real machine, as far as its command lines depend on it.

use crate::real_machine::RealMachine;
use std::path::Path;

/// The place that a plan is for, known before the plan runs.
pub trait Site {
    /// Returns the name of an object that this run makes in the kernel, such as a cgroup.
    fn own_name(&self, thing: &str) -> String;

    /// Returns the line that makes a second node of a disk in the folder `nodes`.
    fn node_line(&self, disk: &str, nodes: &Path) -> Option<String>;

    /// Returns true if the root cgroup is new, so that its cgroups do not share I/O yet.
    fn has_new_cgroups(&self) -> bool;
}

/// A guest, which has one run only.
pub struct GuestSite;

impl Site for GuestSite {
    fn own_name(&self, thing: &str) -> String {
        format!("disklab-{thing}")
    }

    fn node_line(&self, disk: &str, nodes: &Path) -> Option<String> {
        Some(format!("# a second node of /dev/{disk} in {}", nodes.display()))
    }

    fn has_new_cgroups(&self) -> bool {
        true
    }
}

impl Site for RealMachine {
    fn own_name(&self, thing: &str) -> String {
        format!("{}-{thing}", self.name)
    }

    fn node_line(&self, disk: &str, nodes: &Path) -> Option<String> {
        let number = self.disks.iter().find(|own| own.name == disk)?.number;
        Some(format!("mknod {}/{disk} b {} {}", nodes.display(), number.0, number.1))
    }

    fn has_new_cgroups(&self) -> bool {
        false
    }
}
