//! What the first process stands on: a guest that is its alone, or a real machine where others are.
//!
//! In a guest the disk library counts requests and is told of phases through the kernel, and whatever is changed ends with the
//! guest. On a real machine a watch counts, and each change is in the run's journal before it is made.

use super::Failure;
use crate::plan::Host;
use disklab_host::change::Change;
use disklab_host::watch::Watch;
use disklab_host::{Journal, journal};
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The guest kernel's parameter that tells the disk library of phases.
const MARK: &str = "/sys/module/disklab/parameters/mark";

static HOST: OnceLock<Mutex<OnHost>> = OnceLock::new();

/// Where threads of backgrounds and what measures all end up.
struct OnHost {
    journal: Journal,
    /// While the plan is carried out.
    watch: Option<Watch>,
}

/// From now on this is a real machine. Its disks are watched until [`leave`].
pub fn enter(host: &Host, journal: &Path, folder: &Path) -> Result<(), Failure> {
    let mut journal = Journal::join(journal).map_err(|e| e.to_string())?;
    if let Some(instance) = &host.trace {
        note(&mut journal, &Change::Tracing { instance: instance.clone() })?;
    }
    let watch = Watch::start(folder, &host.disks, host.trace.as_deref()).map_err(|e| e.to_string())?;
    let entered = HOST.set(Mutex::new(OnHost { journal, watch: Some(watch) }));
    entered.map_err(|_| "the first process is on this machine twice".to_owned())
}

/// What the disks did is whole.
pub fn leave() -> Result<(), Failure> {
    let Some(mut host) = here() else { return Ok(()) };
    host.watch.take().map_or(Ok(()), |watch| watch.end().map(drop).map_err(|e| e.to_string()))
}

pub fn is_a_guest() -> bool {
    HOST.get().is_none()
}

/// Tells whoever counts requests of a phase: `begin NAME RAMP_NS`, `end`.
pub fn mark(text: &str) -> Result<(), Failure> {
    if let Some(host) = here() {
        return host.watch.as_ref().map_or(Ok(()), |watch| watch.mark(text));
    }
    fs::write(MARK, text).map_err(|e| format!("writing {text:?} to {MARK}: {e}"))
}

/// Reads and writes that the trial's disks have finished.
pub fn requests() -> Result<u64, Failure> {
    let host = here();
    let watch = host.as_ref().and_then(|host| host.watch.as_ref());
    let watch = watch.ok_or("only a real machine's disks can be asked how much they have done")?;
    watch.finished().map_err(|e| format!("how much the disks have done: {e}"))
}

/// Has a change noted that is about to be made.
pub fn about_to(change: &Change) -> Result<(), Failure> {
    here().map_or(Ok(()), |mut host| note(&mut host.journal, change))
}

fn note(journal: &mut Journal, change: &Change) -> Result<(), Failure> {
    journal.note(change).map_err(|error: journal::Error| {
        format!("nothing is changed, since it could not be noted how to undo it: {error}")
    })
}

fn here() -> Option<MutexGuard<'static, OnHost>> {
    HOST.get().map(|host| host.lock().unwrap_or_else(PoisonError::into_inner))
}
