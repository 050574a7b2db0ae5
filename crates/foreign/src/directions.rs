//! The numbers of reads and of writes, apart and together, by the names that measures have.

use disklab_results::integrity::DirectionClaim;
use disklab_results::measure::{Measure, Measures};

/// The numbers of one direction.
#[derive(Debug, Clone, PartialEq)]
pub struct DirectionNumbers {
    /// `read`, `write`, `trim`, or `mixed` for all in one.
    pub direction: &'static str,
    pub part: DirectionClaim,
}

/// Percentiles that become measures.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

/// Of one direction, or of all: with their names alone. Of several: each with its direction before
/// it, and rates and mean of all without; percentiles of several cannot be put together.
pub fn measures(told: &[DirectionNumbers]) -> Measures {
    if let [only] = told {
        return of_part("", &only.part).collect();
    }
    let apart = told.iter().flat_map(|told| of_part(told.direction, &told.part));
    apart.chain(together(told)).collect()
}

fn of_part(direction: &str, part: &DirectionClaim) -> impl Iterator<Item = (String, Measure)> {
    let prefix = if direction.is_empty() { String::new() } else { format!("{direction} ") };
    let latency = &part.latency;
    let percentile = |percent: f64| {
        let same = |(known, _): &&(f64, f64)| (known - percent).abs() < 1e-6;
        let (_, ns) = latency.percentiles.iter().find(same)?;
        Some((format!("p{percent}"), Measure::time(*ns)))
    };
    let named = |name: &str, measure: Option<Measure>| Some((name.to_owned(), measure?));
    let found: Vec<_> = [
        named("iops", part.iops.map(|value| Measure::rate(value, "1/s"))),
        named("bandwidth", part.bytes_per_second.map(|value| Measure::rate(value, "bytes/s"))),
        named("mean", part.mean.map(Measure::time)),
        named("min", latency.min.map(Measure::time)),
        named("max", latency.max.map(Measure::time)),
    ]
    .into_iter()
    .chain(PERCENTS.map(percentile))
    .flatten()
    .collect();
    found.into_iter().map(move |(name, measure)| (format!("{prefix}{name}"), measure))
}

fn together(told: &[DirectionNumbers]) -> Vec<(String, Measure)> {
    let sum = |of: fn(&DirectionClaim) -> Option<f64>| {
        told.iter().map(|told| of(&told.part)).sum::<Option<f64>>()
    };
    let iops = sum(|part| part.iops).filter(|_| !told.is_empty());
    let bandwidth = sum(|part| part.bytes_per_second).filter(|_| !told.is_empty());
    let waited = sum(|part| Some(part.iops? * part.mean?));
    let mean = waited.zip(iops.filter(|iops| *iops > 0.0)).map(|(waited, iops)| waited / iops);
    let rate = |name: &str, value: f64, unit: &str| (name.to_owned(), Measure::rate(value, unit));
    [
        iops.map(|value| rate("iops", value, "1/s")),
        bandwidth.map(|value| rate("bandwidth", value, "bytes/s")),
        mean.map(|value| ("mean".to_owned(), Measure::time(value))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::integrity::Latency;

    fn told(direction: &'static str, iops: f64, mean: f64) -> DirectionNumbers {
        let latency = Latency { percentiles: vec![(99.9, 7.0)], ..Latency::default() };
        DirectionNumbers {
            direction,
            part: DirectionClaim {
                iops: Some(iops),
                mean: Some(mean),
                latency,
                ..DirectionClaim::default()
            },
        }
    }

    #[test]
    fn one_direction_needs_no_name_and_several_are_also_told_together() {
        let value =
            |measures: &Measures, name: &str| measures.get(name).map(|measure| measure.value);
        let one = measures(&[told("read", 10.0, 5.0)]);
        assert_eq!((value(&one, "iops"), value(&one, "p99.9")), (Some(10.0), Some(7.0)));
        let two = measures(&[told("read", 10.0, 5.0), told("write", 30.0, 9.0)]);
        assert_eq!((value(&two, "iops"), value(&two, "mean")), (Some(40.0), Some(8.0)));
        assert_eq!((value(&two, "write p99.9"), value(&two, "p99.9")), (Some(7.0), None));
        assert!(measures(&[]).is_empty());
    }
}
