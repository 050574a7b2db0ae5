//! A fio job definition: the keys of a workload from `rw` on, or of one `[[job]]`.

use std::ops::RangeInclusive;

use disklab_units::{Bytes, Rate};
use serde::{Deserialize, Serialize};

use crate::read::{TomlTable, choices, from_table};

from_table! {
    /// A job definition of fio.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    pub struct Job {
        pub rw: Rw = required(),
        pub bs: Bytes = within(Bytes(512)..=Bytes::mib(64)),
        pub ioengine: Ioengine = required(),
        pub iodepth: u32 = within_or(1..=4096, 1),
        pub numjobs: u32 = within_or(JOBS, 1),
        /// Whether requests bypass the page cache (O_DIRECT).
        pub direct: bool = with_default(false),
        /// Whether a random offset may come twice before all offsets have come once.
        pub norandommap: bool = with_default(false),
        /// Whether each write has new contents.
        pub refill_buffers: bool = with_default(false),
        /// Whether the job writes zeroes.
        pub zero_buffers: bool = with_default(false),
        /// Share of reads among the requests of a load that reads and writes, in per cent.
        pub rwmixread: u32 = within_or(1..=99, 50),
        /// The highest rate of each of the definition's jobs, in bytes per second.
        pub rate: Option<Rate> = optional_within(RATES),
    }
}

choices! {
    /// fio's option `rw`.
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
    /// The values of fio's `ioengine` that exercise the kernel.
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

/// Numbers of jobs that a workload or a suite may ask for.
pub const JOBS: RangeInclusive<u32> = 1..=256;

pub(crate) const FILES: RangeInclusive<Bytes> = Bytes::kib(64)..=Bytes(100_000_000_000_000);
pub(crate) const RATES: RangeInclusive<Rate> = Rate(1000)..=Rate(256_000_000_000);
/// The keys of a job.
pub(crate) const JOB_KEYS: [&str; 11] = [
    "rw",
    "bs",
    "iodepth",
    "ioengine",
    "numjobs",
    "direct",
    "norandommap",
    "refill_buffers",
    "zero_buffers",
    "rwmixread",
    "rate",
];

impl Job {
    /// Returns the number of requests that one of the definition's jobs keeps in flight.
    pub fn depth(&self) -> u32 {
        if self.ioengine == Ioengine::Psync { 1 } else { self.iodepth }
    }

    /// Returns whether the job writes its file from beginning to end, and so needs no existing
    /// file.
    pub fn makes(&self) -> bool {
        self.rw == Rw::Write
    }

    pub(crate) fn read(table: &TomlTable<'_, '_>, file_size: Option<Bytes>) -> Option<Self> {
        let job = Self::from_table(table)?;
        job.check(table, file_size);
        Some(job)
    }

    fn check(&self, table: &TomlTable<'_, '_>, file_size: Option<Bytes>) {
        let Self { rw, bs, .. } = *self;
        table.refuse_if(!bs.0.is_multiple_of(512), "bs", || {
            format!("{} bytes are not a whole number of 512-byte sectors", bs.0)
        });
        if let Some(file_size) = file_size.filter(|&file_size| bs > file_size) {
            table.wrong("bs", format!("{bs} is more than filesize, {file_size}"));
        }
        if self.zero_buffers && self.refill_buffers {
            let message = "contradicts refill_buffers: what is written is zeroes or new each time";
            table.wrong("zero_buffers", message);
        }
        let mixes = matches!(rw, Rw::Rw | Rw::Randrw);
        table.refuse_if(table.has("rwmixread") && !mixes, "rwmixread", || {
            format!("{rw} does not mix reads and writes: rw and randrw do")
        });
        if self.ioengine == Ioengine::Psync && self.iodepth > 1 {
            let sense = "only 1 is possible; use numjobs for more";
            table.wrong("iodepth", format!("psync waits for each request, so that {sense}"));
        }
    }
}
