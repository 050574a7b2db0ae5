//! The settings of a run on this machine.

use crate::describe::host::place::HostPlace;
use crate::execute::guest::Timeouts;
use disklab_guest::real_machine::RealMachine;
use disklab_units::Nanos;
use rustix::process::geteuid;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The settings of a run on this machine.
#[derive(Debug)]
pub struct Host {
    /// Path of `disklab` itself, which is also the first process.
    pub program: PathBuf,
    pub place: HostPlace,
    /// Unique name of the run, which everything made in the kernel for its trials contains
    /// ([`name`]).
    pub name: String,
    /// Folder of the journals of changes.
    pub state: PathBuf,
    /// Whether every request of the disks is traced.
    pub trace: bool,
    /// Idle time before each trial.
    pub rest: Nanos,
    /// Longest time that a load runs to become steady before it is measured; by default, a multiple
    /// of the measured time.
    pub warm_up: Option<Nanos>,
    /// Seed of the order of trials.
    pub order: u32,
    /// Time after which no trial begins.
    pub deadline: Option<Instant>,
    pub timeouts: Timeouts,
    pub stop: &'static AtomicBool,
}

impl Host {
    /// Returns the machine for the plans of a trial. `overwrite` is true if something is made.
    pub(super) fn machine(
        &self,
        journal: &Path,
        overwrite: Option<Vec<PathBuf>>,
        at: Option<PathBuf>,
    ) -> RealMachine {
        RealMachine {
            disks: self.place.disks().to_vec(),
            name: self.name.clone(),
            // Only root may trace.
            trace: self.trace && geteuid().is_root(),
            journal: journal.to_owned(),
            // The disks below a user's filesystem are in use.
            overwrite: overwrite.filter(|_| at.is_none()),
            at,
        }
    }
}
