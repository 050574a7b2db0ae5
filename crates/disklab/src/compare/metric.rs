//! What of a trial is compared.

use disklab_collect::Sample;
use disklab_stats::Better;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Metric {
    /// Requests a second.
    Iops,
    /// Bytes a second.
    Bandwidth,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// Of 100 requests the slowest takes as long.
    P99,
    /// Of 1000 requests the slowest takes as long.
    #[value(name = "p99.9")]
    #[serde(rename = "p99.9")]
    P999,
}

impl Metric {
    /// Its value, if the trial has it: IOPS, bytes a second, or ns.
    pub fn of(self, sample: &Sample) -> Option<f64> {
        let nanos = |value: Option<disklab_units::Nanos>| value.map(|value| value.0 as f64);
        match self {
            Self::Iops => Some(sample.iops),
            Self::Bandwidth => Some(sample.bw_bytes as f64),
            Self::Mean => Some(sample.lat_mean_ns),
            Self::P50 => nanos(sample.p50_ns),
            Self::P99 => nanos(sample.p99_ns),
            Self::P999 => nanos(sample.p99_9_ns),
        }
    }

    pub const fn better(self) -> Better {
        match self {
            Self::Iops | Self::Bandwidth => Better::Higher,
            Self::Mean | Self::P50 | Self::P99 | Self::P999 => Better::Lower,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Iops => "IOPS",
            Self::Bandwidth => "bandwidth",
            Self::Mean => "mean latency",
            Self::P50 => "p50",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }
}
