//! The I/O priority and the cgroup that programs run with.

use std::ffi::c_int;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The I/O priority and the cgroup of programs.
#[derive(Debug, Clone, Default)]
pub struct IoContext {
    pub ioprio: Option<c_int>,
    /// File `cgroup.procs` of its cgroup.
    pub processes: Option<PathBuf>,
}

impl IoContext {
    /// Makes a program run there from its first instruction on.
    pub fn hold(&self, command: &mut Command) {
        if self.ioprio.is_none() && self.processes.is_none() {
            return;
        }
        let place = self.clone();
        // SAFETY: between fork and exec only system calls are made, on memory that is there.
        unsafe { command.pre_exec(move || place.enter()) };
    }

    /// Gives the calling thread the priority, and its process the cgroup. Processes that it starts
    /// later inherit both.
    pub fn enter(&self) -> io::Result<()> {
        if let Some(ioprio) = self.ioprio {
            set_ioprio(ioprio)?;
        }
        self.processes.as_ref().map_or(Ok(()), |processes| fs::write(processes, "0"))
    }
}

fn set_ioprio(ioprio: c_int) -> io::Result<()> {
    const WHO_PROCESS: c_int = 1;
    // SAFETY: takes three numbers; 0 is the calling thread.
    let result = unsafe { libc::syscall(libc::SYS_ioprio_set, WHO_PROCESS, 0 as c_int, ioprio) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
