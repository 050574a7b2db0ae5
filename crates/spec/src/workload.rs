//! `lab/workloads/*.toml`: what is measured, in fio's words.
//!
//! ```toml
//! summary = "4 KiB random reads, one at a time"
//! rw = "randread"          # read, write, randread, randwrite, rw or randrw
//! bs = "4k"
//! filesize = "50 GiB"      # one file, laid out before anything is measured
//! ioengine = "libaio"      # psync, libaio or io_uring
//! iodepth = 1              # from here on: may be left out, the defaults are fio's
//! numjobs = 1              # jobs on the same file, reported together
//! direct = true            # default false
//! norandommap = true       # default false
//! refill_buffers = true    # default false
//! zero_buffers = false     # default false: what is written is zeroes, which take no room on the host
//! rwmixread = 50           # per cent; only with rw and randrw, default 50
//! ```
//!
//! How long it runs is the suite's to say.

use disklab_units::Bytes;
use serde::{Deserialize, Serialize};

use crate::read::{Table, choices};
use crate::suite::JOBS;

/// One fio job definition, on one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "fio's flags, each for itself")]
pub struct Workload {
    /// Its file's name.
    pub name: String,
    /// One line for people.
    pub summary: String,
    /// Of the one test file; on a bare disk, of the part of it from its beginning.
    pub file_size: Bytes,
    pub rw: Rw,
    pub bs: Bytes,
    pub iodepth: u32,
    pub ioengine: Ioengine,
    pub numjobs: u32,
    /// O_DIRECT.
    pub direct: bool,
    /// Random offsets may come twice before all have come once.
    pub norandommap: bool,
    /// New contents for every write.
    pub refill_buffers: bool,
    /// Zeroes are written.
    pub zero_buffers: bool,
    /// Of a load that reads and writes: how many per cent of its requests are reads.
    pub rwmixread: u32,
}

choices! {
    /// fio's `rw`.
    pub enum Rw: "rw" {
        Read = "read",
        Write = "write",
        Randread = "randread",
        Randwrite = "randwrite",
        /// Sequential reads and writes.
        Rw = "rw",
        /// Random reads and writes.
        Randrw = "randrw",
    }
}

choices! {
    /// fio's `ioengine`: those that say something about a kernel.
    pub enum Ioengine: "ioengine" {
        Psync = "psync",
        Libaio = "libaio",
        IoUring = "io_uring",
    }
}

impl Rw {
    pub const fn reads(self) -> bool {
        !matches!(self, Self::Write | Self::Randwrite)
    }

    pub const fn writes(self) -> bool {
        !matches!(self, Self::Read | Self::Randread)
    }
}

impl Workload {
    /// Reads a file's top table; `name` is the file's.
    pub fn read(name: &str, table: &Table<'_, '_>) -> Option<Self> {
        let summary = table.required("summary");
        let rw = table.required("rw");
        let bs = table.within("bs", Bytes(512)..=Bytes::mib(64));
        let file_size = table.within("filesize", Bytes::kib(64)..=Bytes(100_000_000_000_000));
        let ioengine = table.required("ioengine");
        let iodepth = table.within_or("iodepth", 1..=4096, 1);
        let numjobs = table.within_or("numjobs", JOBS, 1);
        let [direct, norandommap, refill_buffers, zero_buffers] =
            ["direct", "norandommap", "refill_buffers", "zero_buffers"].map(|key| table.or(key, false));
        let rwmixread = table.within_or("rwmixread", 1..=99, 50);
        let workload = Self {
            name: name.to_owned(),
            summary: summary?,
            file_size: file_size?,
            rw: rw?,
            bs: bs?,
            iodepth: iodepth?,
            ioengine: ioengine?,
            numjobs: numjobs?,
            direct,
            norandommap,
            refill_buffers,
            zero_buffers,
            rwmixread: rwmixread?,
        };
        workload.check(table);
        Some(workload)
    }

    fn check(&self, table: &Table<'_, '_>) {
        if !self.bs.0.is_multiple_of(512) {
            table.wrong("bs", format!("{} bytes are not a whole number of 512-byte sectors", self.bs.0));
        }
        if self.bs > self.file_size {
            table.wrong("bs", format!("{} is more than filesize, {}", self.bs, self.file_size));
        }
        if self.zero_buffers && self.refill_buffers {
            table.wrong(
                "zero_buffers",
                "contradicts refill_buffers: what is written is zeroes or new each time",
            );
        }
        if table.has("rwmixread") && !matches!(self.rw, Rw::Rw | Rw::Randrw) {
            table.wrong("rwmixread", format!("{} does not mix reads and writes: rw and randrw do", self.rw));
        }
        if self.ioengine == Ioengine::Psync && self.iodepth > 1 {
            table.wrong(
                "iodepth",
                "psync waits for each request, so that only 1 makes sense; use numjobs for more",
            );
        }
    }
}
