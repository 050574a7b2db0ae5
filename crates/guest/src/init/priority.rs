//! Requests of programs to an I/O scheduler: an I/O priority, and a cgroup of their own with a
//! weight.

use super::io_context::IoContext;
use super::perform::{Perform, Session};
use super::steps::{Failure, on, put};
use crate::real_machine::{RealMachine, own_name};
use disklab_block_devices::cgroups::ROOT;
use disklab_block_devices::change::Change;
use disklab_config::priority::{Ioprio, Priority};
use disklab_protocol::action::SetPriorities;
use std::fs;
use std::path::{Path, PathBuf};

/// The file of a cgroup that lists its processes.
const PROCESSES: &str = "cgroup.procs";
/// The file of a cgroup with BFQ's weight.
const WEIGHT: &str = "io.bfq.weight";

impl Perform for SetPriorities {
    fn lines(&self, machine: Option<&RealMachine>) -> Vec<String> {
        let mut lines = Vec::new();
        // A guest's cgroups are new.
        if self.is_weighted() && (machine.is_none() || !shares_io().unwrap_or_default()) {
            lines.push(format!("echo +io > {}", control().display()));
        }
        for (folder, weight) in cgroups(self, machine) {
            let folder = folder.display();
            lines.push(format!("mkdir {folder}"));
            lines.push(format!("echo {weight} > {folder}/{WEIGHT}"));
        }
        lines
    }

    fn changes(&self, machine: &RealMachine) -> Result<Vec<Change>, String> {
        let control = (self.is_weighted() && !shares_io().unwrap_or_default())
            .then(|| Change::value(&control(), "-io"));
        let cgroups = cgroups(self, Some(machine)).into_iter();
        Ok(control.into_iter().chain(cgroups.map(|(path, _)| Change::Cgroup { path })).collect())
    }

    /// If one has a weight, both have a cgroup: programs otherwise start in the cgroup of the first
    /// process.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let environment = session.environment.as_ref();
        if self.is_weighted() {
            environment.open_cgroups()?;
            if !shares_io()? {
                environment.note_change(&Change::value(&control(), "-io"))?;
                put(control(), "+io")?;
            }
        }
        for (folder, weight) in cgroups(self, environment.real_machine()) {
            environment.note_change(&Change::Cgroup { path: folder.clone() })?;
            fs::create_dir(&folder).map_err(|e| format!("the cgroup {}: {e}", folder.display()))?;
            put(folder.join(WEIGHT), &weight.to_string())?;
        }
        let machine = environment.real_machine();
        let [measured, beside] = self.each().map(|(name, priority)| IoContext {
            ioprio: priority.ioprio.map(Ioprio::number),
            // Without weights everybody stays where they are: on a real machine that is the user's
            // own cgroup, with its limits.
            processes: self.is_weighted().then(|| {
                let own = priority.weight.map(|_| folder(machine, name));
                own.unwrap_or_else(|| ROOT.into()).join(PROCESSES)
            }),
        });
        (session.measured, session.beside) = (measured, beside);
        Ok(())
    }
}

/// The cgroups to make, with their weights.
fn cgroups(priorities: &SetPriorities, machine: Option<&RealMachine>) -> Vec<(PathBuf, u32)> {
    let weighted = |(name, priority): (&str, &Priority)| {
        priority.weight.map(|weight| (folder(machine, name), weight))
    };
    priorities.each().into_iter().filter_map(weighted).collect()
}

fn folder(machine: Option<&RealMachine>, name: &str) -> PathBuf {
    Path::new(ROOT).join(own_name(machine, name))
}

/// The file by which a cgroup shares its I/O out: weights are for cgroups below such a one.
fn control() -> PathBuf {
    Path::new(ROOT).join("cgroup.subtree_control")
}

fn shares_io() -> Result<bool, Failure> {
    let path = control();
    let given = fs::read_to_string(&path).map_err(on(&path))?;
    Ok(given.split_whitespace().any(|controller| controller == "io"))
}
