//! A metric of fsperf's, by its name: `write_clat_ns_p99`, `elapsed`.

use disklab_results::integrity::DirectionClaim;
use disklab_results::measure::{Better, Measure};

pub struct Metric<'a> {
    /// The name of the measure, if there is such a measure; else fsperf's name.
    pub name: String,
    /// The direction of a metric of fio's: `read` or `write`.
    pub direction: Option<&'static str>,
    own: &'a str,
    /// The part of the name after the direction.
    kind: &'a str,
}

/// Parts of names of metrics of which more is better. Of all others, less is better.
const HIGHER: [&str; 3] = ["bytes", "_iops", "throughput"];

impl<'a> Metric<'a> {
    pub fn named(own: &'a str) -> Self {
        let split = |direction: &'static str| {
            let kind = own.strip_prefix(direction)?.strip_prefix('_')?;
            Some((Some(direction), kind))
        };
        let split = ["read", "write"].into_iter().find_map(split);
        let (direction, kind) = split.unwrap_or_default();
        let measure = match kind {
            "iops" => "iops",
            "bw_bytes" => "bandwidth",
            "lat_ns_mean" => "mean",
            "lat_ns_min" => "min",
            "lat_ns_max" => "max",
            "clat_ns_p50" => "p50",
            "clat_ns_p99" => "p99",
            _ => return Self { name: own.to_owned(), direction, own, kind },
        };
        let name = format!("{} {measure}", direction.unwrap_or_default());
        Self { name, direction, own, kind }
    }

    pub fn measure(&self, value: f64) -> Measure {
        let higher = HIGHER.iter().any(|word| self.own.contains(word));
        let unit = match self.own {
            own if own.contains("_ns_") || own.ends_with("_ns") => "ns",
            own if own.ends_with("_ms") => "ms",
            own if own.ends_with("bw_bytes") => "bytes/s",
            own if own.ends_with("_bytes") => "bytes",
            own if own.ends_with("_kbytes") => "KiB",
            own if own.ends_with("_iops") && self.direction.is_some() => "1/s",
            "elapsed" => "s",
            "throughput" => "MB/s",
            _ => "",
        };
        let better = if higher { Better::Higher } else { Better::Lower };
        Measure::new(value, unit, better)
    }

    pub fn claim(&self, value: f64, part: &mut DirectionClaim) {
        match self.kind {
            "iops" => part.iops = Some(value),
            "bw_bytes" => part.bytes_per_second = Some(value),
            "lat_ns_mean" => part.mean = Some(value),
            "lat_ns_min" => part.latency.min = Some(value),
            "lat_ns_max" => part.latency.max = Some(value),
            "clat_ns_mean" => part.latency.mean = Some(value),
            "clat_ns_p50" => part.latency.percentiles.insert(0, (50.0, value)),
            "clat_ns_p99" => part.latency.percentiles.push((99.0, value)),
            _ => {}
        }
    }
}
