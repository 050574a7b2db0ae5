//! The environment of a first process: a guest of its own, or a real machine with other users.

pub mod guest;
pub mod real_machine;

use super::steps::Failure;
use crate::site::Site;
use disklab_block_devices::change::Change;
use disklab_protocol::Mark;
use disklab_protocol::setup::Setting;
use std::path::Path;

/// The differences between a guest and a real machine. Threads of backgrounds use it too.
///
/// In a guest, the disk library counts requests and learns of phases through the kernel, and all
/// changes end with the guest. On a real machine, a watch counts requests, and each change is in
/// the run's journal before it is made.
pub trait Environment: Send + Sync {
    /// Returns the site that plans were made for.
    fn site(&self) -> &dyn Site;

    /// Passes a mark to the counter of requests.
    fn mark(&self, mark: Mark) -> Result<(), Failure>;

    /// Returns the number of reads and writes that the trial's disks have finished.
    fn requests(&self) -> Result<u64, Failure>;

    /// Gives programs access to the disks that were held until now.
    fn release_disks(&self) -> Result<(), Failure>;

    /// Notes a change that is about to be made.
    fn note_change(&self, change: &Change) -> Result<(), Failure>;

    /// Notes the changes that writing a setting to `path` is about to make.
    fn note_setting(&self, path: &Path, setting: &Setting) -> Result<(), Failure>;

    /// Returns the choices that the kernel offers instead of the setting's. Returns None if it has
    /// the choice, or must have it.
    fn lacks(&self, setting: &Setting) -> Option<String>;

    /// Makes cgroups writable for the trial.
    fn open_cgroups(&self) -> Result<(), Failure>;

    /// Mounts the filesystems of a running system below a program's root.
    fn surround_program(&self, root: &Path) -> Result<(), Failure>;

    /// Returns true if the files that a program reads are recorded while it starts. On a real
    /// machine others start programs too.
    fn records_pages(&self) -> bool;

    /// Sets the time that each system call takes from now on. It has no effect on a real machine.
    fn set_system_call_time(&self, ns: u64) -> Result<(), Failure>;

    /// Ends the watch of the disks, so that its counts are complete.
    fn leave(&self) -> Result<(), Failure>;
}
