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
/// In a guest the disk library counts requests and learns of phases through the kernel, and
/// whatever is changed ends with the guest. On a real machine a watch counts, and each change is in
/// the run's journal before it is made.
pub trait Environment: Send + Sync {
    /// Returns the site that plans were made for.
    fn site(&self) -> &dyn Site;

    /// Passes a mark to whoever counts requests.
    fn mark(&self, mark: Mark) -> Result<(), Failure>;

    /// Reads and writes that the trial's disks have finished.
    fn requests(&self) -> Result<u64, Failure>;

    /// Lets programs have the disks that were held until now.
    fn release_disks(&self) -> Result<(), Failure>;

    /// Notes a change that is about to be made.
    fn note_change(&self, change: &Change) -> Result<(), Failure>;

    /// Notes what writing a setting to `path` is about to change.
    fn note_setting(&self, path: &Path, setting: &Setting) -> Result<(), Failure>;

    /// Returns what the kernel offers instead of the setting's choice. None if it has the choice,
    /// or has to have it.
    fn lacks(&self, setting: &Setting) -> Option<String>;

    /// Makes cgroups writable for the trial.
    fn open_cgroups(&self) -> Result<(), Failure>;

    /// Makes what a running system has besides files, below a program's root.
    fn surround_program(&self, root: &Path) -> Result<(), Failure>;

    /// Whether the files that a program reads are recorded while it starts. On a real machine
    /// others start programs too.
    fn records_pages(&self) -> bool;

    /// Sets the time that each system call takes from now on. On a real machine they take what
    /// they take.
    fn set_system_call_time(&self, ns: u64) -> Result<(), Failure>;

    /// Ends the watch of the disks: what they did is whole.
    fn leave(&self) -> Result<(), Failure>;
}
