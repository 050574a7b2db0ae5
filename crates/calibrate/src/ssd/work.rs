//! The facts about a disk without moving parts that are known so far, while its parts are measured.

use super::latency::{self, ReadModes};
use super::parallel::{self, ParallelReads};
use super::sizes::{self, ReadSizes};
use crate::bench::TestBench;
use crate::error::Result;
use crate::plan::Hints;
use crate::sheet::{Sheet, rate, size};

/// The defaults for numbers that were not seen: those of a SATA disk with TLC.
pub(super) mod usual {
    pub const CHANNELS: u32 = 8;
    pub const DIES: u32 = 16;
    pub const PAGE: u64 = 16 << 10;
    pub const PROGRAM: f64 = 500e3;
    pub const CHANNEL: f64 = 1.2e9;
    /// Command overhead as a fraction of a lone read's time, if a flush does not show it.
    pub const OVERHEAD: f64 = 0.2;
    pub const BUFFER: u64 = 32 << 20;
    pub const FLUSH: f64 = 1e6;
    pub const DEPTH: u32 = 32;
}

/// The facts that are known so far, in ns and bytes a second, and the sheet of results.
pub(super) struct SsdWork<'a, 'b> {
    pub bench: &'a mut TestBench<'b>,
    pub hints: Hints,
    pub sheet: Sheet,
    pub remarks: Vec<String>,
    pub modes: ReadModes,
    pub sizes: ReadSizes,
    pub parallel: ParallelReads,
    pub page: u64,
    pub channel: f64,
    pub link: f64,
    pub link_command: f64,
    pub overhead: f64,
    /// Error of `overhead`, in ns.
    pub overhead_error: f64,
    pub dies: u32,
    /// Descriptions of the defaults from which other numbers are computed.
    pub assumed: Vec<String>,
}

impl<'a, 'b> SsdWork<'a, 'b> {
    /// Measures lone reads, and many at once.
    pub fn begin(bench: &'a mut TestBench<'b>, hints: Hints) -> Result<Self> {
        bench.step("latency of reads");
        let modes = latency::measure(bench)?;
        bench.step("sizes of reads");
        let sizes = sizes::measure(bench)?;
        bench.step("reads at once");
        let parallel = parallel::measure(bench)?;
        let remark = format!(
            "random reads of 4 KiB a second, at depth {:?}: {:?}; nine tenths of the most from \
             depth {} on",
            parallel::DEPTHS,
            parallel.iops.iter().map(|iops| iops.round() as u64).collect::<Vec<_>>(),
            parallel.knee()
        );
        let page = sizes.page.unwrap_or(usual::PAGE);
        let channel = sizes.channel.unwrap_or(usual::CHANNEL);
        let (link, link_command) = parallel.link();
        let (moved, pages) = (rate(channel), size(page));
        let assumed = format!("a channel moves {moved} in pages of {pages}");
        Ok(Self {
            bench,
            hints,
            sheet: Sheet::default(),
            remarks: vec![remark],
            page,
            channel,
            link,
            link_command,
            overhead: 0.0,
            overhead_error: 0.0,
            dies: usual::DIES,
            assumed: if sizes.channel.is_none() { vec![assumed] } else { Vec::new() },
            modes,
            sizes,
            parallel,
        })
    }

    /// Returns the time of a lone read of 4 KiB outside the die, in ns.
    pub fn besides(&self) -> f64 {
        self.overhead + 4096e9 / self.channel + 4096e9 / self.link + self.link_command
    }

    /// Returns the assumptions on which computed numbers depend, including `more`.
    pub fn if_true(&self, more: Option<String>) -> Option<String> {
        let assumed: Vec<String> = self.assumed.iter().cloned().chain(more).collect();
        (!assumed.is_empty()).then(|| assumed.join(", and "))
    }

    /// Returns the mean time that a die is busy with a read of 4 KiB.
    pub fn die_time(&self) -> f64 {
        self.modes.mean - self.besides() + 4096e9 / self.channel
    }

    /// Returns the time of a page over its channel, in ns.
    pub fn page_time(&self) -> f64 {
        self.page as f64 * 1e9 / self.channel
    }
}
