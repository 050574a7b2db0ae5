//! The settings of a run in guests.

use super::guest::{Guest, Installation, Timeouts};
use crate::describe::{facts, read_policy};
use crate::error::Result;
use crate::interpret::end::End;
use disklab_config::{Layout, Trial};
use disklab_kernels::{Cache, Kernel};
use disklab_protocol::heartbeat::Heartbeat;
use disklab_units::{Bytes, Nanos};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The settings of a run in guests.
#[derive(Debug, Clone)]
pub struct Run {
    /// Kernels by the value of [`Trial::kernel`].
    pub kernels: BTreeMap<String, Kernel>,
    pub installation: Installation,
    pub cache: Cache,
    pub timeouts: Timeouts,
    /// Number of guests at a time. Each has a processor to itself. Results do not depend on it.
    pub jobs: usize,
    /// Whether the guests record every request. Nothing else depends on it.
    pub trace: bool,
    /// Time after which no trial begins.
    pub deadline: Option<Instant>,
    /// Flag that ends the run, set by a signal handler for example.
    pub stop: &'static AtomicBool,
}

impl Run {
    /// Returns the reason why a trial cannot run here.
    pub fn obstacle(&self, trial: &Trial) -> Option<String> {
        let kernel = self.kernel(trial);
        facts::obstacle(trial)
            .or_else(|| without_zfs(trial, kernel))
            .or_else(|| read_policy::obstacle(trial, kernel))
    }

    /// Locks the cache, so that nobody removes kernels and prepared disks.
    pub fn hold_cache(&self) -> Result<Cache> {
        Ok(self.cache.clone().held()?)
    }

    /// Returns the folder of the trials' disks. It is in the cache, so that copies can share their
    /// unchanged parts.
    pub(crate) fn trials_folder(&self) -> PathBuf {
        self.cache.root().join("trials")
    }

    pub(crate) fn kernel(&self, trial: &Trial) -> &Kernel {
        &self.kernels[&trial.kernel]
    }

    /// Runs a guest in `folder` to its end; `limit` is the virtual time beyond which the trial has
    /// failed.
    pub(crate) fn guest(
        &self,
        kernel: &Kernel,
        folder: &Path,
        memory: Bytes,
        parameters: &[&str],
        limit: Nanos,
        seen: &mut dyn FnMut(Heartbeat),
    ) -> Result<End> {
        kernel.check_program()?;
        let (kernel, installation) = (&*kernel.path, &self.installation);
        let guest = Guest { kernel, installation, folder, memory, guests: self.jobs, parameters };
        guest.run(&self.timeouts, limit, self.stop, seen)
    }
}

/// Returns the reason why a kernel cannot run a trial that needs OpenZFS. The run continues without
/// the trial, since few kernels have OpenZFS.
pub fn without_zfs(trial: &Trial, kernel: &Kernel) -> Option<String> {
    let wanted = trial.array.layout == Layout::ZfsMirrors && !kernel.has_option(Layout::ZFS);
    wanted.then(|| {
        format!(
            "Linux {} ({}) has no OpenZFS; `install/zfs-tree` puts it into a kernel's source, for \
             `disklab kernel build --source`, and `--set kernel=...` takes that kernel",
            kernel.version,
            kernel.path.display()
        )
    })
}
