//! Signs of life: one page in the trial's folder that the guest writes and the one who started it
//! reads.
//!
//! The kernel stores virtual time there whenever it moves, the library the number of requests and
//! whether they are being measured. No message, no lock: three words, each stored whole.

use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::{self, NonNull};

const PAGE: usize = 4096;

/// Progress of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Heartbeat {
    /// Virtual ns since boot.
    pub now: u64,
    /// Requests that all disks have completed.
    pub requests: u64,
    /// A phase of the trial has begun (and may be over).
    pub measured: bool,
}

impl Heartbeat {
    /// All zero while the guest has not begun.
    pub fn read(folder: &Path) -> io::Result<Self> {
        let mut words = [0; 24];
        File::open(folder.join(disklab_protocol::names::HEARTBEAT))?
            .read_exact_at(&mut words, 0)?;
        let word = |i: usize| u64::from_le_bytes(words[i..i + 8].try_into().unwrap_or_default());
        Ok(Self { now: word(0), requests: word(8), measured: word(16) != 0 })
    }
}

/// The guest's end.
#[derive(Debug)]
pub struct HeartbeatPage(NonNull<u64>);

// One page of this process, written by the guest's one CPU.
unsafe impl Send for HeartbeatPage {}
unsafe impl Sync for HeartbeatPage {}

impl HeartbeatPage {
    /// Makes the file in `folder` and maps it; it stays mapped as long as the process lives.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(disklab_protocol::names::HEARTBEAT);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        // Written, not just lengthened: on a full disk this fails here, instead of killing the
        // guest at its first beat.
        file.write_all_at(&[0; PAGE], 0)?;
        let page = unsafe {
            mmap(
                ptr::null_mut(),
                PAGE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )
        }?;
        NonNull::new(page.cast()).map(Self).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
    }

    /// Returns the place where the kernel stores virtual time.
    pub fn clock(&self) -> *mut u64 {
        self.0.as_ptr()
    }

    pub fn count_request(&self) {
        unsafe {
            let requests = self.0.as_ptr().add(1);
            requests.write_volatile(requests.read_volatile() + 1);
        }
    }

    pub fn measuring(&self) {
        unsafe { self.0.as_ptr().add(2).write_volatile(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let heart = HeartbeatPage::create(folder.path()).unwrap();
        assert_eq!(Heartbeat::read(folder.path()).unwrap(), Heartbeat::default());
        unsafe { heart.clock().write_volatile(1 << 40) };
        heart.count_request();
        heart.count_request();
        assert_eq!(
            Heartbeat::read(folder.path()).unwrap(),
            Heartbeat { now: 1 << 40, requests: 2, measured: false }
        );
        heart.measuring();
        assert!(Heartbeat::read(folder.path()).unwrap().measured);
    }
}
