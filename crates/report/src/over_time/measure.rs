//! The numbers of a disk that are drawn over time.

use disklab_trace::timeline::TimelineBin;

const MIB: f64 = (1 << 20) as f64;

/// A number of a disk over time.
#[derive(Debug, Clone, Copy)]
pub struct DiskMeasure {
    pub kind: &'static str,
    pub title: &'static str,
    pub unit: &'static str,
    pub of: fn(&TimelineBin) -> f64,
}

pub const THROUGHPUT: DiskMeasure = DiskMeasure {
    kind: "throughput",
    title: "Throughput",
    unit: "MiB/s",
    of: |bin| bin.per_second(bin.read_bytes + bin.write_bytes) / MIB,
};

pub const SEEKS: DiskMeasure =
    DiskMeasure { kind: "seeks", title: "Seeks", unit: "1/s", of: |bin| bin.per_second(bin.seeks) };

pub const MEASURES: [DiskMeasure; 4] = [
    THROUGHPUT,
    SEEKS,
    DiskMeasure {
        kind: "depth",
        title: "Queue depth",
        unit: "requests",
        of: TimelineBin::mean_depth,
    },
    DiskMeasure {
        kind: "utilisation",
        title: "Utilisation",
        unit: "%",
        of: |bin| bin.utilisation() * 100.0,
    },
];
