//! What the first process stands on: a guest that is its alone, or a real machine where others are.
//!
//! In a guest the disk library counts requests and is told of phases through the kernel, and
//! whatever is changed ends with the guest. On a real machine a watch counts, and each change is in
//! the run's journal before it is made.

use super::Failure;
use crate::plan::Host;
use disklab_block_devices::change::Change;
use disklab_block_devices::watch::Watch;
use disklab_block_devices::{Disk, Journal, disk, journal};
use disklab_protocol::Mark;
use std::fs::{self, File};
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
    /// The run's own for what is made in the kernel.
    name: String,
    held: Held,
}

/// Disks that the kernel gives to nobody else.
pub type Held = Vec<(Disk, File)>;

/// From now on this is a real machine. Its disks are watched until [`leave`], and held until
/// [`let_go`].
pub fn enter(host: &Host, journal: &Path, folder: &Path, held: Held) -> Result<(), Failure> {
    let mut journal = Journal::join(journal).map_err(|e| e.to_string())?;
    let instance = host.trace.then_some(host.name.as_str());
    if let Some(instance) = instance {
        note(&mut journal, &Change::Tracing { instance: instance.to_owned() })?;
    }
    let watch = Watch::start(folder, &host.disks, instance).map_err(|e| e.to_string())?;
    let on_host = OnHost { journal, watch: Some(watch), name: host.name.clone(), held };
    HOST.set(Mutex::new(on_host))
        .map_err(|_| "the first process is on this machine twice".to_owned())
}

/// Lets programs have the disks that were held until now. That each is still the one at its path is
/// sure while it is held: its number is nobody else's then.
pub fn let_go() -> Result<(), Failure> {
    let Some(mut host) = here() else { return Ok(()) };
    for (disk, _file) in std::mem::take(&mut host.held) {
        let path = Path::new("/dev").join(disk.name.replace('!', "/"));
        if disk::number_of(&path).map_err(|e| e.to_string())? != disk.number {
            return Err(format!(
                "{}: it is no longer the disk that the run began with",
                path.display()
            ));
        }
    }
    Ok(())
}

/// What a thing of this run's own is called in the kernel; in a guest, where there is one run, by
/// its own name alone.
pub fn own(thing: &str) -> String {
    here().map_or_else(|| format!("disklab-{thing}"), |host| format!("{}-{thing}", host.name))
}

/// What the disks did is whole.
pub fn leave() -> Result<(), Failure> {
    let Some(mut host) = here() else { return Ok(()) };
    host.watch.take().map_or(Ok(()), |watch| watch.end().map(drop).map_err(|e| e.to_string()))
}

pub fn is_a_guest() -> bool {
    HOST.get().is_none()
}

/// Passes a mark to whoever counts requests.
pub fn mark(mark: Mark) -> Result<(), Failure> {
    if let Some(host) = here() {
        return host.watch.as_ref().map_or(Ok(()), |watch| watch.mark(mark));
    }
    let text = mark.to_string();
    fs::write(MARK, &text).map_err(|e| format!("writing {text:?} to {MARK}: {e}"))
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
