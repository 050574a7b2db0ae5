//! Requests of programs to an I/O scheduler: an I/O priority, and a cgroup of their own with a
//! weight.

use super::io_context::IoContext;
use super::perform::{Perform, Session};
use super::steps::{Failure, on, put};
use crate::real_machine::RealMachine;
use crate::site::Site;
use disklab_block_devices::cgroups::ROOT;
use disklab_block_devices::change::Change;
use disklab_config::priority::Ioprio;
use disklab_protocol::action::SetPriorities;
use std::fs;
use std::path::{Path, PathBuf};

/// File of a cgroup that lists its processes.
const PROCESSES: &str = "cgroup.procs";
/// File of a cgroup with BFQ's weight.
const WEIGHT: &str = "io.bfq.weight";

/// A step that makes cgroups with weights. It is printed, declared, noted and run.
enum CgroupStep {
    /// Makes the root cgroup distribute I/O among its cgroups.
    ShareIo,
    /// Makes a cgroup with a weight.
    Make { folder: PathBuf, weight: u32 },
}

impl CgroupStep {
    fn lines(&self) -> Vec<String> {
        match self {
            Self::ShareIo => vec![format!("echo +io > {}", control().display())],
            Self::Make { folder, weight } => {
                let folder = folder.display();
                vec![format!("mkdir {folder}"), format!("echo {weight} > {folder}/{WEIGHT}")]
            }
        }
    }

    fn change(&self) -> Change {
        match self {
            Self::ShareIo => Change::value(&control(), "-io"),
            Self::Make { folder, .. } => Change::Cgroup { path: folder.clone() },
        }
    }

    fn run(&self) -> Result<(), Failure> {
        match self {
            Self::ShareIo => put(control(), "+io"),
            Self::Make { folder, weight } => {
                fs::create_dir(folder)
                    .map_err(|e| format!("creating the cgroup {}: {e}", folder.display()))?;
                put(folder.join(WEIGHT), &weight.to_string())
            }
        }
    }
}

/// Returns the steps to the cgroups of all weights. `shared` is true if the root cgroup distributes
/// I/O already.
fn steps(priorities: &SetPriorities, site: &dyn Site, shared: bool) -> Vec<CgroupStep> {
    let share = (priorities.is_weighted() && !shared).then_some(CgroupStep::ShareIo);
    let make = priorities.each().into_iter().filter_map(|(name, priority)| {
        let weight = priority.weight?;
        Some(CgroupStep::Make { folder: folder(site, name), weight })
    });
    share.into_iter().chain(make).collect()
}

impl Perform for SetPriorities {
    fn lines(&self, site: &dyn Site) -> Vec<String> {
        let shared = !site.has_new_cgroups() && shares_io().unwrap_or_default();
        steps(self, site, shared).iter().flat_map(CgroupStep::lines).collect()
    }

    fn changes(&self, machine: &RealMachine) -> Result<Vec<Change>, String> {
        let shared = shares_io().unwrap_or_default();
        Ok(steps(self, machine, shared).iter().map(CgroupStep::change).collect())
    }

    /// If one program has a weight, both have a cgroup: otherwise a program starts in the cgroup of
    /// the first process. Each change is noted just before its step, so that a failing step leaves
    /// no note of later ones.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let environment = session.environment.as_ref();
        let site = environment.site();
        if self.is_weighted() {
            environment.open_cgroups()?;
            for step in steps(self, site, shares_io()?) {
                environment.note_change(&step.change())?;
                step.run()?;
            }
        }
        let [measured, beside] = self.each().map(|(name, priority)| IoContext {
            ioprio: priority.ioprio.map(Ioprio::number),
            // Without weights all processes stay in their cgroup. On a real machine that is the
            // user's own cgroup, with its limits.
            processes: self.is_weighted().then(|| {
                let own = priority.weight.map(|_| folder(site, name));
                own.unwrap_or_else(|| ROOT.into()).join(PROCESSES)
            }),
        });
        (session.measured, session.beside) = (measured, beside);
        Ok(())
    }
}

fn folder(site: &dyn Site, name: &str) -> PathBuf {
    Path::new(ROOT).join(site.own_name(name))
}

/// Returns the file that makes a cgroup distribute its I/O: weights need such a parent.
fn control() -> PathBuf {
    Path::new(ROOT).join("cgroup.subtree_control")
}

fn shares_io() -> Result<bool, Failure> {
    let path = control();
    let given = fs::read_to_string(&path).map_err(on(&path))?;
    Ok(given.split_whitespace().any(|controller| controller == "io"))
}
