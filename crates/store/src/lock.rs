//! One writer a record. The lock is the kernel's (`flock`) and ends with the process, however that ends; the
//! file only says who holds it.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::StoreError;

/// Held for as long as it lives. The file stays: removing it would let a second writer lock a file nobody
/// else sees.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing alone would leave it to a child process that another thread is just starting, until that
        // runs its program.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Lock {
    pub fn take(folder: &Path) -> Result<Self, StoreError> {
        let path = folder.join("lock");
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(StoreError::io("open", &path))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(Errno::WOULDBLOCK) => {
                return Err(StoreError::Busy { folder: folder.to_owned(), holder: holder(&mut file) });
            }
            Err(errno) => return Err(StoreError::io("lock", &path)(errno.into())),
        }
        let named = file.set_len(0).and_then(|()| writeln!(file, "process {}", std::process::id()));
        named.map_err(StoreError::io("write", &path))?;
        Ok(Self { file })
    }
}

/// What the holder wrote into the file; it may be about to.
fn holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(100).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "process unknown".to_owned(),
    }
}
