//! Waits until a program opens a file, and holds the program there until the phase begins.
//!
//! If other programs use the disks too, requests do not show when the measured program begins: fio
//! takes a sixth of a virtual second to start. A lease (F_SETLEASE) on its file does: a process
//! that opens the file waits until the lease is given back.

use super::steps::Failure;
use disklab_protocol::measure::Gate;
use libc::{F_GETLEASE, F_SETLEASE, F_WRLCK};
use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::process::Child;
use std::thread::sleep;
use std::time::Duration;

/// Interval between two checks of the lease. The program waits for this long at most, outside the
/// measured time.
const LOOK: Duration = Duration::from_millis(1);

/// A lease on a file that no other process has open.
pub struct Closed(File);

impl Closed {
    pub fn new(gate: &Gate) -> Result<Self, Failure> {
        let failed = |e| format!("a lease on {}, to see when it is opened: {e}", gate.file);
        let path = Path::new(&gate.file);
        // A load without a file of its own opens this one.
        if !path.exists() {
            File::create(path).map_err(failed)?;
        }
        let file = File::open(path).map_err(failed)?;
        lease(&file, F_SETLEASE, F_WRLCK).map_err(failed)?;
        Ok(Self(file))
    }

    /// Returns when a process wants to open the file, or when `program` has ended. The file can be
    /// opened once this is dropped.
    pub fn wait(&self, program: &mut Child) -> Result<(), Failure> {
        let failed = |e: io::Error| format!("waiting for the measured program to begin: {e}");
        while lease(&self.0, F_GETLEASE, 0).map_err(failed)? == F_WRLCK {
            if program.try_wait().map_err(failed)?.is_some() {
                break;
            }
            sleep(LOOK);
        }
        Ok(())
    }
}

fn lease(file: &File, command: c_int, argument: c_int) -> io::Result<c_int> {
    // SAFETY: both commands take a number at most, and the descriptor is open as long as `file` is.
    let result = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}
