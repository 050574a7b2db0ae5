//! Writes the file of a trace, and computes its digest.

use disklab_protocol::digest::hex;
use disklab_trace::{Arrived, Served, TraceWriter};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Number of bytes that are written to the file at once.
const BUFFER: usize = 64 << 10;

#[derive(Debug)]
pub struct TraceFile {
    file: File,
    writer: TraceWriter,
    digest: Sha256,
}

impl TraceFile {
    /// Creates the file of a trace of this number of disks.
    pub fn create(path: &Path, disks: usize) -> io::Result<Self> {
        Ok(Self {
            file: File::create(path)?,
            writer: TraceWriter::new(disks),
            digest: Sha256::new(),
        })
    }

    /// Returns the state to keep with a request that arrives now, for [`TraceFile::served`].
    pub fn arrived(&self) -> Arrived {
        self.writer.arrived()
    }

    pub fn served(&mut self, served: &Served, arrived: Arrived) -> io::Result<()> {
        self.writer.served(served, arrived);
        if self.writer.pending().len() < BUFFER { Ok(()) } else { self.write() }
    }

    pub fn mark(&mut self, at: u64, text: &str) {
        self.writer.mark(at, text);
    }

    /// Writes the data that is still in memory.
    pub fn write(&mut self) -> io::Result<()> {
        self.digest.update(self.writer.pending());
        let written = self.file.write_all(self.writer.pending());
        self.writer.clear();
        written
    }

    /// Returns the digest of all that was written.
    pub fn sha256(&self) -> String {
        hex(&self.digest.clone().finalize())
    }
}
