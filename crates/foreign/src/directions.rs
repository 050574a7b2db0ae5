//! The numbers of reads and of writes, separate and together, by the names of measures.

use disklab_results::integrity::DirectionClaim;
use disklab_results::measure::{Measure, Measures};
use indexmap::IndexMap;

/// The numbers of each direction: `read`, `write`, `trim`, or `mixed` for all in one.
pub type Directions = IndexMap<&'static str, DirectionClaim>;

/// Percentiles that become measures.
const PERCENTS: [f64; 3] = [50.0, 99.0, 99.9];

/// Returns the numbers as measures. If there is a single direction, its measures have no prefix. If
/// there are several, each measure has its direction before it, and the rates and the mean of all
/// together have no prefix. Percentiles of several directions cannot be combined.
pub fn measures(directions: &Directions) -> Measures {
    if directions.len() == 1 {
        return directions.values().flat_map(|part| of_part("", part)).collect();
    }
    let apart = directions.iter().flat_map(|(name, part)| of_part(&format!("{name} "), part));
    let waited = sum(directions, |part| Some(part.iops? * part.mean?));
    let iops = sum(directions, |part| part.iops).filter(|iops| *iops > 0.0);
    let mean = waited.zip(iops).map(|(waited, iops)| waited / iops);
    let mean = mean.map(|value| ("mean".to_owned(), Measure::time(value)));
    apart.chain(rates_together(directions)).chain(mean).collect()
}

fn of_part(prefix: &str, part: &DirectionClaim) -> Vec<(String, Measure)> {
    let latency = &part.latency;
    let percentile = |percent: f64| {
        let same = |(known, _): &&(f64, f64)| (known - percent).abs() < 1e-6;
        let (_, ns) = latency.percentiles.iter().find(same)?;
        Some((format!("{prefix}p{percent}"), Measure::time(*ns)))
    };
    let named = |name: &str, measure: Option<Measure>| Some((format!("{prefix}{name}"), measure?));
    let numbers = [
        named("iops", part.iops.map(|value| Measure::rate(value, "1/s"))),
        named("bandwidth", part.bytes_per_second.map(|value| Measure::rate(value, "bytes/s"))),
        named("mean", part.mean.map(Measure::time)),
        named("min", latency.min.map(Measure::time)),
        named("max", latency.max.map(Measure::time)),
    ];
    numbers.into_iter().chain(PERCENTS.map(percentile)).flatten().collect()
}

/// Returns the rates of all directions together, if each direction has them.
pub fn rates_together(directions: &Directions) -> impl Iterator<Item = (String, Measure)> {
    let iops = sum(directions, |part| part.iops).map(|sum| ("iops", sum, "1/s"));
    let bandwidth = sum(directions, |part| part.bytes_per_second);
    let bandwidth = bandwidth.map(|sum| ("bandwidth", sum, "bytes/s"));
    let rates = iops.into_iter().chain(bandwidth);
    rates.map(|(name, sum, unit)| (name.to_owned(), Measure::rate(sum, unit)))
}

fn sum(directions: &Directions, number: fn(&DirectionClaim) -> Option<f64>) -> Option<f64> {
    let sum = directions.values().map(number).sum::<Option<f64>>();
    sum.filter(|_| !directions.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use disklab_results::integrity::Latency;

    fn part(iops: f64, mean: f64) -> DirectionClaim {
        let latency = Latency { percentiles: vec![(99.9, 7.0)], ..Latency::default() };
        DirectionClaim { iops: Some(iops), mean: Some(mean), latency, ..DirectionClaim::default() }
    }

    #[test]
    fn one_direction_needs_no_name_and_several_are_also_told_together() {
        let value =
            |measures: &Measures, name: &str| measures.get(name).map(|measure| measure.value);
        let one = measures(&[("read", part(10.0, 5.0))].into());
        assert_eq!((value(&one, "iops"), value(&one, "p99.9")), (Some(10.0), Some(7.0)));
        let two = measures(&[("read", part(10.0, 5.0)), ("write", part(30.0, 9.0))].into());
        assert_eq!((value(&two, "iops"), value(&two, "mean")), (Some(40.0), Some(8.0)));
        assert_eq!((value(&two, "write p99.9"), value(&two, "p99.9")), (Some(7.0), None));
        assert!(measures(&Directions::new()).is_empty());
    }
}
