//! A guest as the first process's environment.

use super::{Change, Environment, Failure, Mark, Path, Setting, Site};
use crate::init::entries;
use crate::init::filesystem::mounted;
use crate::init::kernel_value;
use crate::init::steps::put;
use crate::site::GuestSite;
use disklab_block_devices::cgroups;
use std::fs;

/// The guest kernel's parameter that tells the disk library of phases.
pub const MARKS: &str = "/sys/module/disklab/parameters/mark";
/// The guest kernel's parameter for what a system call takes, ns.
const SYSTEM_CALL: &str = "/sys/module/disklab/parameters/system_call";

pub struct Guest;

impl Environment for Guest {
    fn site(&self) -> &dyn Site {
        &GuestSite
    }

    fn mark(&self, mark: Mark) -> Result<(), Failure> {
        let text = mark.to_string();
        fs::write(MARKS, &text).map_err(|e| format!("writing {text:?} to {MARKS}: {e}"))
    }

    fn requests(&self) -> Result<u64, Failure> {
        Err("only a real machine's disks can be asked how much they have done".to_owned())
    }

    fn release_disks(&self) -> Result<(), Failure> {
        Ok(())
    }

    fn note_change(&self, _: &Change) -> Result<(), Failure> {
        Ok(())
    }

    fn note_setting(&self, _: &Path, _: &Setting) -> Result<(), Failure> {
        Ok(())
    }

    /// A tree of the user's own may have other read policies than the lab knows.
    fn lacks(&self, setting: &Setting) -> Option<String> {
        kernel_value::lacking(setting)
    }

    fn open_cgroups(&self) -> Result<(), Failure> {
        mounted("cgroup2", cgroups::ROOT, "")
    }

    fn surround_program(&self, root: &Path) -> Result<(), Failure> {
        let root = root.display();
        for (name, kind) in entries::MOUNTED.into_iter().zip(["devtmpfs", "proc", "sysfs", "tmpfs"])
        {
            mounted(kind, &format!("{root}/{name}"), "")?;
        }
        let terminals = format!("{root}/dev/pts");
        fs::create_dir_all(&terminals).map_err(|e| format!("{terminals}: {e}"))?;
        mounted("devpts", &terminals, "ptmxmode=0666")
    }

    fn records_pages(&self) -> bool {
        true
    }

    fn set_system_call_time(&self, ns: u64) -> Result<(), Failure> {
        // Older kernels cannot be asked for anything but nothing.
        if ns == 0 && !Path::new(SYSTEM_CALL).exists() {
            return Ok(());
        }
        put(SYSTEM_CALL, &ns.to_string())
    }

    fn leave(&self) -> Result<(), Failure> {
        Ok(())
    }
}
