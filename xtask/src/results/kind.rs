//! The two pages: what they are about and which numbers their tables have.

use disklab_results::Sample;
use disklab_results::sample::DirectionSample;
use disklab_units::Nanos;

/// A page.
#[derive(Debug)]
pub struct Kind {
    pub name: &'static str,
    /// Those whose records it is made of.
    pub suites: &'static [&'static str],
    pub title: &'static str,
    pub columns: &'static [Column],
    /// The published tables, as CSV.
    pub published: &'static str,
}

/// A number of the tables.
#[derive(Debug)]
pub struct Column {
    pub head: &'static str,
    /// Its name in the published tables.
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

pub const READS: Kind = Kind {
    name: "read-policy",
    // The second asks the same of disks behind a bcache.
    suites: &["read-policy", "read-policy-bcache"],
    title: "Read policies: reads",
    columns: &[
        Column { head: "IOPS", csv: "iops", is: Is::Iops, ours: |sample| Some(sample.iops) },
        Column {
            head: "KiB/s",
            csv: "bw_kib_s",
            is: Is::Bandwidth,
            ours: |sample| Some(kib(sample.bw_bytes)),
        },
        Column {
            head: "mean ms",
            csv: "lat_mean_ms",
            is: Is::Mean,
            ours: |sample| Some(sample.lat_mean_ns / 1e6),
        },
        Column {
            head: "p99 ms",
            csv: "lat_p99_ms",
            is: Is::Percentile,
            ours: |sample| ms(sample.p99_ns),
        },
        Column {
            head: "p99.9 ms",
            csv: "lat_p99_9_ms",
            is: Is::Percentile,
            ours: |sample| ms(sample.p99_9_ns),
        },
    ],
    published: include_str!("../../../docs/results/published/btrfs-read-policy.csv"),
};

pub const MIXED: Kind = Kind {
    name: "read-policy-mixed",
    suites: &["read-policy-mixed"],
    title: "Read policies: reads and writes",
    columns: &[
        Column {
            head: "read IOPS",
            csv: "read_iops",
            is: Is::Iops,
            ours: |sample| Some(read(sample)?.iops),
        },
        Column {
            head: "read KiB/s",
            csv: "read_bw_kib_s",
            is: Is::Bandwidth,
            ours: |sample| Some(kib(read(sample)?.bw_bytes)),
        },
        Column {
            head: "read mean ms",
            csv: "read_lat_mean_ms",
            is: Is::Mean,
            ours: |sample| Some(read(sample)?.lat_mean_ns / 1e6),
        },
        Column {
            head: "write IOPS",
            csv: "write_iops",
            is: Is::Iops,
            ours: |sample| Some(write(sample)?.iops),
        },
        Column {
            head: "write KiB/s",
            csv: "write_bw_kib_s",
            is: Is::Bandwidth,
            ours: |sample| Some(kib(write(sample)?.bw_bytes)),
        },
        Column {
            head: "write mean ms",
            csv: "write_lat_mean_ms",
            is: Is::Mean,
            ours: |sample| Some(write(sample)?.lat_mean_ns / 1e6),
        },
    ],
    published: include_str!("../../../docs/results/published/btrfs-read-policy-rw.csv"),
};

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

fn ms(time: Option<Nanos>) -> Option<f64> {
    Some(time?.0 as f64 / 1e6)
}

fn read(sample: &Sample) -> Option<&DirectionSample> {
    sample.read.as_ref()
}

fn write(sample: &Sample) -> Option<&DirectionSample> {
    sample.write.as_ref()
}
