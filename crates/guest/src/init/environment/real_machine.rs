//! A real machine as the first process's environment.

use super::{Change, Environment, Failure, Mark, Path, Setting, Site};
use crate::init::threads::locked;
use crate::init::{kernel_value, namespace};
use crate::real_machine::RealMachine;
use disklab_block_devices::watch::Watch;
use disklab_block_devices::{Disk, Journal, cgroups, disk, journal};
use std::fs::File;
use std::sync::{Mutex, MutexGuard};

/// Disks that the kernel gives to no other process.
pub type Held = Vec<(Disk, File)>;

pub struct Real {
    machine: RealMachine,
    state: Mutex<MachineState>,
}

/// State shared by threads of backgrounds and by the measuring thread.
struct MachineState {
    journal: Journal,
    /// The watch of the disks, or None once it has ended.
    watch: Option<Watch>,
    held: Held,
}

impl Real {
    /// Watches the disks until [`Environment::leave`], and holds them until
    /// [`Environment::release_disks`].
    pub fn enter(
        machine: RealMachine,
        journal: &Path,
        folder: &Path,
        held: Held,
    ) -> Result<Self, Failure> {
        let mut journal = Journal::join(journal).map_err(|e| e.to_string())?;
        machine.changes().iter().try_for_each(|change| note(&mut journal, change))?;
        let instance = machine.trace.then_some(machine.name.as_str());
        let watch = Watch::start(folder, &machine.disks, instance).map_err(|e| e.to_string())?;
        let state = Mutex::new(MachineState { journal, watch: Some(watch), held });
        Ok(Self { machine, state })
    }

    fn state(&self) -> MutexGuard<'_, MachineState> {
        locked(&self.state)
    }
}

impl Environment for Real {
    fn site(&self) -> &dyn Site {
        &self.machine
    }

    fn mark(&self, mark: Mark) -> Result<(), Failure> {
        self.state().watch.as_ref().map_or(Ok(()), |watch| watch.mark(mark))
    }

    fn requests(&self) -> Result<u64, Failure> {
        let state = self.state();
        let watch = state.watch.as_ref().ok_or("disklab no longer watches the disks")?;
        watch.finished().map_err(|e| format!("reading the counters of the disks: {e}"))
    }

    /// Each disk is still the one at its path while it is held, since its device number is unique.
    fn release_disks(&self) -> Result<(), Failure> {
        for (disk, _file) in std::mem::take(&mut self.state().held) {
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

    fn note_change(&self, change: &Change) -> Result<(), Failure> {
        note(&mut self.state().journal, change)
    }

    fn note_setting(&self, path: &Path, setting: &Setting) -> Result<(), Failure> {
        kernel_value::changes(path, setting)?.iter().try_for_each(|change| self.note_change(change))
    }

    fn lacks(&self, setting: &Setting) -> Option<String> {
        kernel_value::lacking(setting)
    }

    fn open_cgroups(&self) -> Result<(), Failure> {
        if !cgroups::are_whole() {
            return Err(cgroups::NOT_WHOLE.to_owned());
        }
        namespace::read_only(cgroups::ROOT, false)
    }

    /// A program gets nothing with which it could change the machine.
    fn surround_program(&self, root: &Path) -> Result<(), Failure> {
        namespace::surround_program(root)
    }

    fn records_pages(&self) -> bool {
        false
    }

    fn set_system_call_time(&self, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    fn leave(&self) -> Result<(), Failure> {
        let watch = self.state().watch.take();
        watch.map_or(Ok(()), |watch| watch.end().map(drop).map_err(|e| e.to_string()))
    }
}

fn note(journal: &mut Journal, change: &Change) -> Result<(), Failure> {
    journal.note(change).map_err(|error: journal::Error| {
        format!("nothing was changed, since the journal of changes could not be written: {error}")
    })
}
