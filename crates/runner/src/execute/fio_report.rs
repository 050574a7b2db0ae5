//! Writes the report that fio would write, for reads in the fast model.

use disklab_model::EndedRead;
use disklab_units::Nanos;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Number of bits of fio's buckets: 64 buckets to an octave.
const BUCKET_BITS: u32 = 6;

/// Reads that ended after the ramp.
pub struct FioReport<'a> {
    name: &'a str,
    bytes: u64,
    /// Latency of each read, in ns.
    latencies: Vec<u64>,
    /// Time from the end of the ramp to the last end of a read.
    length: Nanos,
}

impl<'a> FioReport<'a> {
    /// Builds the report. The ramp is over at `from`.
    pub fn new(name: &'a str, reads: &[EndedRead], from: Nanos) -> Self {
        let counted = || reads.iter().filter(|read| read.ended >= from);
        let last = counted().map(|read| read.ended).max().unwrap_or(from);
        Self {
            name,
            bytes: counted().map(|read| read.bytes).sum(),
            latencies: counted().map(|read| read.ended.0 - read.begun.0).collect(),
            length: Nanos(last.0 - from.0),
        }
    }

    pub fn text(&self) -> String {
        let seconds = self.length.as_secs_f64().max(1e-9);
        let count = self.latencies.len();
        let latency = self.latency();
        let read = json!({
            "io_bytes": self.bytes,
            "bw_bytes": (self.bytes as f64 / seconds) as u64,
            "iops": count as f64 / seconds,
            "runtime": self.length.0.div_ceil(1_000_000),
            "total_ios": count,
            "clat_ns": latency,
            "lat_ns": latency,
        });
        let report = json!({
            "fio version": "none: disklab's fast model",
            "jobs": [{ "jobname": self.name, "error": 0, "read": read }],
        });
        format!("{report:#}\n")
    }

    fn latency(&self) -> Value {
        let mut bins: BTreeMap<u64, u64> = BTreeMap::new();
        for &latency in &self.latencies {
            *bins.entry(midpoint(latency)).or_default() += 1;
        }
        let count = self.latencies.len().max(1) as f64;
        let mean = self.latencies.iter().map(|&ns| ns as f64).sum::<f64>() / count;
        let squares = self.latencies.iter().map(|&ns| (ns as f64 - mean).powi(2)).sum::<f64>();
        let bins: BTreeMap<String, u64> =
            bins.into_iter().map(|(ns, count)| (ns.to_string(), count)).collect();
        json!({
            "min": self.latencies.iter().min().unwrap_or(&0),
            "max": self.latencies.iter().max().unwrap_or(&0),
            "mean": mean,
            "stddev": (squares / count).sqrt(),
            "N": self.latencies.len(),
            "bins": bins,
        })
    }
}

/// Returns the middle of the bucket in which fio counts a latency.
fn midpoint(ns: u64) -> u64 {
    let bits = (ns | 1).ilog2();
    if bits <= BUCKET_BITS {
        return ns;
    }
    let coarse = bits - BUCKET_BITS;
    (ns >> coarse << coarse) + (1 << (coarse - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::fio;

    #[test]
    fn fios_reader_reads_it() {
        let read = |begun: u64, ended: u64| EndedRead {
            begun: Nanos::from_millis(begun),
            ended: Nanos::from_millis(ended),
            bytes: 4096,
        };
        let reads = [read(0, 900), read(900, 1500), read(1500, 3000)];
        let text = FioReport::new("w", &reads, Nanos::from_secs(1)).text();
        let report = fio::parse(text.as_bytes()).unwrap();
        let direction = &report.jobs[0].read;
        assert_eq!((direction.total_ios, direction.io_bytes), (2, 8192), "the first is the ramp's");
        assert!((direction.iops - 1.0).abs() < 1e-9);
        assert_eq!(direction.lat.max, Nanos::from_millis(1500));
        let middle = direction.lat.percentile(50.0).unwrap();
        assert!(middle.0.abs_diff(600_000_000) < 600_000_000 / 128, "{middle}");
    }

    #[test]
    fn buckets_are_fios() {
        // fio-3.33 prints these values.
        assert_eq!([100, 127, 128, 129, 130].map(midpoint), [100, 127, 129, 129, 131]);
        assert_eq!([3_784_704, 7_110_656].map(midpoint), [3_784_704, 7_110_656]);
    }
}
