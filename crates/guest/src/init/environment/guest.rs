//! A guest as the first process's environment.

use super::{Change, Environment, Failure, Mark, Path, Setting, Site};
use crate::init::entries;
use crate::init::filesystem::mounted;
use crate::init::kernel_value;
use crate::init::steps::put;
use crate::site::GuestSite;
use disklab_block_devices::cgroups;
use std::fs;

/// Parameter of the guest kernel that tells the disk library about phases.
pub const MARKS: &str = "/sys/module/disklab/parameters/mark";
/// Parameter of the guest kernel for the time of a system call, in ns.
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
        Err("a guest cannot ask its disks how much they have done; only a trial on real disks can"
            .to_owned())
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

    /// A user's own tree may have other read policies than the lab knows.
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
        fs::create_dir_all(&terminals).map_err(|e| format!("creating {terminals}: {e}"))?;
        mounted("devpts", &terminals, "ptmxmode=0666")
    }

    fn records_pages(&self) -> bool {
        true
    }

    fn set_system_call_time(&self, ns: u64) -> Result<(), Failure> {
        // Older kernels lack the parameter, and are fine if no time is asked for.
        if ns == 0 && !Path::new(SYSTEM_CALL).exists() {
            return Ok(());
        }
        put(SYSTEM_CALL, &ns.to_string())
    }

    fn leave(&self) -> Result<(), Failure> {
        Ok(())
    }
}
