//! The description of a trial on a real machine, where the first process is not alone.

use disklab_block_devices::Disk;
use disklab_block_devices::change::Change;
use disklab_block_devices::watch::TRACING;
use disklab_protocol::places::POOL;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Name below [`POOL`] of a user's file.
pub const TEST_FILE: &str = "test";

/// A trial's place on this machine, written as [`disklab_protocol::names::HOST`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RealMachine {
    /// Disks in the trial's order. They are watched during the measurement.
    pub disks: Vec<Disk>,
    /// Name, or prefix of names, of everything that is made in the kernel for this run: an instance
    /// of tracing, cgroups.
    pub name: String,
    /// Whether every request of the disks is traced.
    pub trace: bool,
    /// File in which each change is noted before it is made.
    pub journal: PathBuf,
    /// Disks that may be overwritten, if something is made on the disks. All disks must be unused,
    /// and the others empty.
    pub overwrite: Option<Vec<PathBuf>>,
    /// Folder at [`POOL`], or test file there, in place of a filesystem of its own.
    pub at: Option<PathBuf>,
}

impl RealMachine {
    /// Returns command lines for the actions of the first process before its plan.
    pub fn lines(&self) -> Vec<String> {
        let bind = self.at.as_ref().map(|at| {
            let to = if at.is_file() { format!("{POOL}/{TEST_FILE}") } else { POOL.to_owned() };
            format!(
                "mount --bind {} {to}",
                disklab_protocol::shell::word(&at.display().to_string())
            )
        });
        let disks: Vec<&str> = self.disks.iter().map(|disk| disk.name.as_str()).collect();
        let watch = [
            format!("mkdir {TRACING}/{}", self.name),
            format!(
                "# there: trace_clock, events/block/*/filter and enable, of {} alone",
                disks.join(" ")
            ),
        ];
        bind.into_iter().chain(watch.into_iter().filter(|_| self.trace)).collect()
    }

    /// Returns the changes that those lines make.
    pub fn changes(&self) -> Option<Change> {
        self.trace.then(|| Change::Tracing { instance: self.name.clone() })
    }
}
