//! The guest's side of its heartbeat ([`disklab_protocol::heartbeat`]): a mapped page, in which the
//! kernel stores virtual time whenever time advances.

use rustix::mm::{MapFlags, ProtFlags, mmap};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::{self, NonNull};

const PAGE: usize = 4096;

/// The mapped page.
#[derive(Debug)]
pub struct HeartbeatPage(NonNull<u64>);

// SAFETY: It is one page of this process, written by the guest's one CPU.
unsafe impl Send for HeartbeatPage {}
// SAFETY: As for sending it.
unsafe impl Sync for HeartbeatPage {}

impl HeartbeatPage {
    /// Makes the file in `folder` and maps it; it stays mapped as long as the process lives.
    pub fn create(folder: &Path) -> io::Result<Self> {
        let path = folder.join(disklab_protocol::names::HEARTBEAT);
        let file = File::options().read(true).write(true).create(true).truncate(true).open(path)?;
        // The page is written, and not just reserved: on a full disk this fails here, and does not
        // kill the guest at its first beat.
        file.write_all_at(&[0; PAGE], 0)?;
        // SAFETY: This is a new mapping of a page of the file, at an address that the kernel
        // chooses.
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
        // SAFETY: The page holds 512 numbers, and the guest's one CPU writes to it.
        unsafe {
            let requests = self.0.as_ptr().add(1);
            requests.write_volatile(requests.read_volatile() + 1);
        }
    }

    pub fn measuring(&self) {
        // SAFETY: The page holds 512 numbers, and the guest's one CPU writes to it.
        unsafe { self.0.as_ptr().add(2).write_volatile(1) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_protocol::heartbeat::Heartbeat;

    #[test]
    fn what_is_written_can_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let heart = HeartbeatPage::create(folder.path()).unwrap();
        assert_eq!(Heartbeat::read(folder.path()).unwrap(), Heartbeat::default());
        // SAFETY: The page is mapped, and nobody else writes to it.
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
