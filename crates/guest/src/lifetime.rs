//! Makes a guest end with the process that started it, and its programs end with its kernel, in any
//! case.
//!
//! Each program of a guest is a process of the host, a child of the kernel's process. It asks to
//! die with the kernel, but only once it runs. A kernel that is killed just before that leaves a
//! program behind that waits for ever and holds the guest's memory. Therefore a keeper process
//! waits for the kernel's end, and then kills the kernel's process group.

use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Signal, getpgrp, getpid, getppid, kill_process_group, set_parent_process_death_signal,
};
use std::io;
use std::os::fd::OwnedFd;

/// Binds both lifetimes; the error gives the reason if that fails. Call it once, in a process that
/// has one thread.
pub fn bind() -> Result<(), String> {
    die_with_parent()?;
    keep().map_err(|error| {
        let remedy = match Errno::from_io_error(&error) {
            Some(Errno::AGAIN) => "; raise the limit of your processes (`ulimit -u`)",
            _ => "",
        };
        format!(
            "the process that ends the guest with its kernel cannot be started: {error}{remedy}"
        )
    })
}

/// Makes the guest end with its starter: otherwise nothing would watch it, and it would occupy a
/// core.
fn die_with_parent() -> Result<(), String> {
    let failed =
        |error| format!("the guest cannot be tied to the process that started it: {error}");
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed)?;
    let starter = std::env::var("DISKLAB_STARTER").ok().and_then(|pid| pid.parse().ok());
    if getppid().map(|pid| pid.as_raw_nonzero().get()) == starter {
        Ok(())
    } else {
        Err("the process that started the guest (DISKLAB_STARTER) is gone".to_owned())
    }
}

/// Starts the keeper, unless the group has other processes, as for a guest that a script starts by
/// hand.
fn keep() -> io::Result<()> {
    if getpgrp() != getpid() {
        return Ok(());
    }
    // Programs close the pipe when they begin, so that only the kernel's process holds the write
    // end.
    let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
    // SAFETY: There is one thread, so that the child may do what any process does.
    match unsafe { libc::fork() } {
        0 => {
            drop(write);
            wait_and_end(&read)
        }
        -1 => Err(io::Error::last_os_error()),
        _ => {
            // The end of the kernel closes this end.
            std::mem::forget(write);
            Ok(())
        }
    }
}

fn wait_and_end(read: &OwnedFd) -> ! {
    let _ = rustix::thread::set_name(c"disklab-keeper");
    while rustix::io::read(read, &mut [0]) == Err(Errno::INTR) {}
    // The keeper itself is in the group.
    let _ = kill_process_group(getpgrp(), Signal::KILL);
    std::process::abort()
}
