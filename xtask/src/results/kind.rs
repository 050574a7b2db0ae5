//! The two pages: their subjects, and the numbers of their tables.

use disklab_results::Sample;
use disklab_units::Nanos;

/// A page.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// Suites whose records the page is made of.
    pub suites: &'static [&'static str],
    pub title: &'static str,
    pub columns: &'static [ResultColumn],
    /// The published tables, as CSV.
    pub published: &'static str,
}

/// A number of the tables.
#[derive(Debug)]
pub struct ResultColumn {
    pub head: &'static str,
    /// Name of the number in the published tables.
    pub csv: &'static str,
    pub is: Is,
    pub ours: fn(&Sample) -> Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Is {
    Iops,
    Bandwidth,
    Mean,
    Percentile,
}

impl Is {
    pub fn latency(self) -> bool {
        matches!(self, Self::Mean | Self::Percentile)
    }
}

pub const KINDS: [&Kind; 2] = [&READS, &MIXED];

/// Makes a column: head, name in the published tables, kind, and our number.
const fn column(
    head: &'static str,
    csv: &'static str,
    is: Is,
    ours: fn(&Sample) -> Option<f64>,
) -> ResultColumn {
    ResultColumn { head, csv, is, ours }
}

pub const READS: Kind = Kind {
    name: "read-policy",
    // The second suite has the same disks behind a bcache.
    suites: &["read-policy", "read-policy-bcache"],
    title: "Read policies: reads",
    columns: &[
        column("IOPS", "iops", Is::Iops, |sample| Some(sample.iops)),
        column("KiB/s", "bw_kib_s", Is::Bandwidth, |sample| Some(kib(sample.bw_bytes))),
        column("mean ms", "lat_mean_ms", Is::Mean, |sample| Some(sample.lat_mean_ns / 1e6)),
        column("p99 ms", "lat_p99_ms", Is::Percentile, |sample| ms(sample.p99_ns)),
        column("p99.9 ms", "lat_p99_9_ms", Is::Percentile, |sample| ms(sample.p99_9_ns)),
    ],
    published: include_str!("../../../docs/results/published/btrfs-read-policy.csv"),
};

pub const MIXED: Kind = Kind {
    name: "read-policy-mixed",
    suites: &["read-policy-mixed"],
    title: "Read policies: reads and writes",
    columns: &[
        column("read IOPS", "read_iops", Is::Iops, |sample| Some(sample.read.as_ref()?.iops)),
        column("read KiB/s", "read_bw_kib_s", Is::Bandwidth, |sample| {
            Some(kib(sample.read.as_ref()?.bw_bytes))
        }),
        column("read mean ms", "read_lat_mean_ms", Is::Mean, |sample| {
            Some(sample.read.as_ref()?.lat_mean_ns / 1e6)
        }),
        column("write IOPS", "write_iops", Is::Iops, |sample| Some(sample.write.as_ref()?.iops)),
        column("write KiB/s", "write_bw_kib_s", Is::Bandwidth, |sample| {
            Some(kib(sample.write.as_ref()?.bw_bytes))
        }),
        column("write mean ms", "write_lat_mean_ms", Is::Mean, |sample| {
            Some(sample.write.as_ref()?.lat_mean_ns / 1e6)
        }),
    ],
    published: include_str!("../../../docs/results/published/btrfs-read-policy-rw.csv"),
};

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn ms(time: Option<Nanos>) -> Option<f64> {
    Some(time?.0 as f64 / 1e6)
}
