//! What programs ask of an I/O scheduler: an I/O priority, and a cgroup of their own with a weight.

use super::{Failure, ground, host, mounted};
use disklab_block_devices::cgroups::{self, ROOT as CGROUPS};
use disklab_block_devices::change::Change;
use disklab_config::priority::{Ioprio, Priority};
use std::ffi::{c_int, c_long};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of each: who is in it.
const PROCESSES: &str = "cgroup.procs";

/// Where programs of a priority are to run.
#[derive(Debug, Clone, Default)]
pub struct Place {
    ioprio: Option<c_int>,
    /// The `cgroup.procs` of its cgroup.
    processes: Option<PathBuf>,
}

impl Place {
    /// Those of what is measured and of what runs beside it. As soon as one has a weight, each has
    /// a cgroup: what the first process starts is otherwise in the one that it is in itself.
    pub fn of(measured: &Priority, beside: &Priority) -> Result<[Self; 2], Failure> {
        let weighted = measured.weight.or(beside.weight).is_some();
        if weighted {
            if ground::is_a_guest() {
                mounted("cgroup2", CGROUPS, "")?;
            } else if cgroups::are_whole() {
                host::read_only(CGROUPS, false)?;
            } else {
                return Err(cgroups::NOT_WHOLE.to_owned());
            }
            give_io_weights()?;
        }
        Ok([
            Self::make(measured, "measured", weighted)?,
            Self::make(beside, "background", weighted)?,
        ])
    }

    /// Without weights everybody stays where they are: on a real machine that is the user's own
    /// cgroup, with its limits.
    fn make(priority: &Priority, name: &str, weighted: bool) -> Result<Self, Failure> {
        let ioprio = priority.ioprio.map(Ioprio::number);
        let root = Path::new(CGROUPS);
        let Some(weight) = priority.weight else {
            return Ok(Self { ioprio, processes: weighted.then(|| root.join(PROCESSES)) });
        };
        let folder = root.join(ground::own(name));
        ground::about_to(&Change::Cgroup { path: folder.clone() })?;
        fs::create_dir(&folder).map_err(|e| format!("the cgroup {}: {e}", folder.display()))?;
        put(&folder.join("io.bfq.weight"), &weight.to_string())?;
        Ok(Self { ioprio, processes: Some(folder.join(PROCESSES)) })
    }

    /// Has a program run there from its first instruction on.
    pub fn hold(&self, command: &mut Command) {
        if self.ioprio.is_none() && self.processes.is_none() {
            return;
        }
        let place = self.clone();
        // SAFETY: between fork and exec only system calls are made, on memory that is there.
        unsafe { command.pre_exec(move || place.enter()) };
    }

    /// The calling thread gets the priority, and its process the cgroup; what it starts then has
    /// both.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(ioprio) = self.ioprio {
            set_ioprio(ioprio)?;
        }
        self.processes.as_ref().map_or(Ok(()), |processes| fs::write(processes, "0"))
    }
}

/// Weights are for cgroups whose parent shares its I/O out.
fn give_io_weights() -> Result<(), Failure> {
    let path = Path::new(CGROUPS).join("cgroup.subtree_control");
    let given = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    if !given.split_whitespace().any(|it| it == "io") {
        ground::about_to(&Change::value(&path, "-io"))?;
        put(&path, "+io")?;
    }
    Ok(())
}

fn put(path: &Path, value: &str) -> Result<(), Failure> {
    fs::write(path, value).map_err(|e| format!("writing {value} to {}: {e}", path.display()))
}

fn set_ioprio(ioprio: c_int) -> io::Result<()> {
    unsafe extern "C" {
        fn syscall(number: c_long, ...) -> c_long;
    }
    const IOPRIO_SET: c_long = 251;
    const WHO_PROCESS: c_int = 1;
    // SAFETY: takes three numbers; 0 is the calling thread.
    let result = unsafe { syscall(IOPRIO_SET, WHO_PROCESS, 0 as c_int, ioprio) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
