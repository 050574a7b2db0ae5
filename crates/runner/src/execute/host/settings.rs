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
    /// `disklab` itself, which is the first process too.
    pub program: PathBuf,
    pub place: HostPlace,
    /// Nobody else's: what is made in the kernel for its trials has it ([`name`]).
    pub name: String,
    /// Folder of the journals of what is changed.
    pub state: PathBuf,
    /// Whether every request of the disks is noted.
    pub trace: bool,
    /// Before each trial nothing of ours runs for so long.
    pub rest: Nanos,
    /// A load runs until it is steady before it is measured, for so long at most; unless said, a
    /// few times as long as it is measured.
    pub warm_up: Option<Nanos>,
    /// The order of trials is drawn by it.
    pub order: u32,
    /// No trial begins after that.
    pub deadline: Option<Instant>,
    pub timeouts: Timeouts,
    pub stop: &'static AtomicBool,
}

impl Host {
    /// The place of its plans on this machine; with `overwrite` where something is made.
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
            // What is below a filesystem of the user's is in use.
            overwrite: overwrite.filter(|_| at.is_none()),
            at,
        }
    }
}
