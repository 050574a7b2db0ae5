//! Allows one writer per record. The lock is the kernel's (`flock`) and ends with the process,
//! however the process ends. The file only names the holder.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::RecordError;
use crate::name;

/// Tries of a writer to take the lock, because a program that checks whether a record is written
/// ([`is_written`]) holds it for a moment.
const TRIES: u32 = 5;
const A_LOOK: Duration = Duration::from_millis(20);

/// A lock, held until it is dropped. The file stays: removing it would let a second writer lock a
/// file nobody else sees.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // After closing alone, a child process that another thread is just starting would hold the
        // lock until it executes its program.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    pub fn take(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join(name::LOCK);
        let open =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(RecordError::io("open", &path))?;
        let mut tries = (0..TRIES).rev();
        while let Err(errno) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            match (errno, tries.next()) {
                (Errno::WOULDBLOCK, Some(1..)) => sleep(A_LOOK),
                (Errno::WOULDBLOCK, _) => {
                    return Err(RecordError::Busy {
                        folder: folder.to_owned(),
                        holder: holder(&mut file),
                    });
                }
                _ => return Err(RecordError::io("lock", &path)(errno.into())),
            }
        }
        let named = file.set_len(0).and_then(|()| writeln!(file, "process {}", std::process::id()));
        named.map_err(RecordError::io("write", &path))?;
        Ok(Self { file })
    }
}

/// Returns whether a process is writing the record in `folder` now.
pub fn is_written(folder: &Path) -> Result<bool, RecordError> {
    let path = folder.join(name::LOCK);
    let file = match disklab_files::open(&path, &disklab_files::SMALL) {
        Ok(file) => file,
        // An imported record never had a writer.
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(RecordError::io("open", &path)(error)),
    };
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        // Closing the file ends the lock: see [`TRIES`].
        Ok(()) => Ok(false),
        Err(Errno::WOULDBLOCK) => Ok(true),
        Err(errno) => Err(RecordError::io("lock", &path)(errno.into())),
    }
}

/// Returns the name of the holder in the file, which the holder may not have written yet.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(100).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "process unknown".to_owned(),
    }
}
