//! Metrics: the numbers of a trial that are compared.

use disklab_record::Outcome;
use disklab_results::Sample;
use disklab_results::measure::{self, Measure};
use disklab_results::sample::DirectionSample;
use disklab_stats::Better;
use disklab_units::Nanos;
use serde::Serialize;

/// A number of fio's, or a number that a record has by that name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
#[serde(into = "String")]
pub enum Metric {
    Iops,
    Bandwidth,
    /// Mean latency.
    Mean,
    P50,
    P99,
    P999,
    /// A number of the record's own, by its name there.
    Other(String),
}

/// A number that every record of fio has: metric, typed name, shown name, unit, good direction, and
/// value.
type OfFio =
    (Metric, &'static str, &'static str, &'static str, Better, fn(&DirectionSample) -> Option<f64>);

static OF_FIO: [OfFio; 6] = [
    (Metric::Iops, "iops", "IOPS", "1/s", Better::Higher, |part| Some(part.iops)),
    (Metric::Bandwidth, "bandwidth", "bandwidth", "bytes/s", Better::Higher, |part| {
        Some(part.bw_bytes as f64)
    }),
    (Metric::Mean, "mean", "mean latency", "ns", Better::Lower, |part| Some(part.lat_mean_ns)),
    (Metric::P50, "p50", "p50", "ns", Better::Lower, |part| nanos(part.p50_ns)),
    (Metric::P99, "p99", "p99", "ns", Better::Lower, |part| nanos(part.p99_ns)),
    (Metric::P999, "p99.9", "p99.9", "ns", Better::Lower, |part| nanos(part.p99_9_ns)),
];

fn nanos(value: Option<Nanos>) -> Option<f64> {
    value.map(|value| value.0 as f64)
}

/// Reads or writes of a sample, if it has them.
type Part = fn(&Sample) -> Option<&DirectionSample>;

impl std::str::FromStr for Metric {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self::of_name(text))
    }
}

impl From<Metric> for String {
    fn from(metric: Metric) -> Self {
        metric.typed().to_owned()
    }
}

impl Metric {
    /// Returns the metric with this typed name.
    pub fn of_name(text: &str) -> Self {
        let known = OF_FIO.iter().find(|(_, typed, ..)| *typed == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |(metric, ..)| metric.clone())
    }

    /// Returns the names that every record of fio has.
    pub fn known() -> String {
        OF_FIO.each_ref().map(|(_, typed, ..)| *typed).join(", ")
    }

    /// Returns the row of one of fio's numbers, or the name of another number.
    fn row(&self) -> Result<&'static OfFio, &str> {
        let name = if let Self::Other(name) = self { name.as_str() } else { "" };
        OF_FIO.iter().find(|(metric, ..)| metric == self).ok_or(name)
    }

    fn typed(&self) -> &str {
        self.row().map_or_else(|name| name, |(_, typed, ..)| *typed)
    }

    pub fn name(&self) -> &str {
        self.row().map_or_else(|name| name, |(_, _, name, ..)| *name)
    }

    /// Returns the value, if the trial has it: IOPS, bytes per second, ns, or the unit of the
    /// measure of that name.
    pub fn value_in(&self, outcome: &Outcome) -> Option<f64> {
        let own = |name: &str| outcome.measures.get(name).map(|measure| measure.value);
        let Some(sample) = &outcome.sample else { return own(self.typed()) };
        match self.row() {
            Ok((.., value)) => value(&both_directions(sample)),
            Err(name) => own(name).or_else(|| {
                let (part, (.., value)) = one_direction(name)?;
                value(part(sample)?)
            }),
        }
    }

    /// Returns true if the trial timed out at its value, so that the true value is larger.
    pub fn is_censored(&self, outcome: &Outcome) -> bool {
        self.own_measure([outcome]).is_some_and(|measure| measure.censored)
    }

    /// Returns the least value that differs from zero, for numbers that may be zero.
    pub fn least<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<f64> {
        self.own_measure(outcomes)?.least
    }

    /// Returns the good direction, by the first outcome that has the number.
    pub fn better<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Better {
        match (self.own_measure(outcomes).map(|measure| measure.better), self.row_of_part()) {
            (Some(measure::Better::Lower), _) => Better::Lower,
            (Some(measure::Better::Higher), _) | (None, None) => Better::Higher,
            (None, Some((.., better, _))) => *better,
        }
    }

    /// Returns the unit: 1/s, bytes/s, ns, or the measure's own.
    pub fn unit<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
        match (self.own_measure(outcomes), self.row_of_part()) {
            (Some(measure), _) => measure.unit.clone(),
            (None, Some((_, _, _, unit, ..))) => (*unit).to_owned(),
            (None, None) => String::new(),
        }
    }

    /// Returns the first measure of a record's own number.
    fn own_measure<'a>(
        &self,
        outcomes: impl IntoIterator<Item = &'a Outcome>,
    ) -> Option<&'a Measure> {
        let name = self.row().err()?;
        outcomes.into_iter().find_map(|outcome| outcome.measures.get(name))
    }

    /// Returns the row of one of fio's numbers, for both directions or for one.
    fn row_of_part(&self) -> Option<&'static OfFio> {
        self.row().map_or_else(|name| Some(one_direction(name)?.1), Some)
    }
}

/// Parses a number of one direction, such as `read p99` or `write iops`.
fn one_direction(name: &str) -> Option<(Part, &'static OfFio)> {
    let (direction, name) = name.split_once(' ')?;
    let part: Part = match direction {
        "read" => |sample| sample.read.as_ref(),
        "write" => |sample| sample.write.as_ref(),
        _ => return None,
    };
    Some((part, OF_FIO.iter().find(|(_, typed, ..)| *typed == name)?))
}

/// Returns a sample's numbers of both directions together.
pub fn both_directions(sample: &Sample) -> DirectionSample {
    DirectionSample {
        iops: sample.iops,
        bw_bytes: sample.bw_bytes,
        requests: sample.requests,
        lat_mean_ns: sample.lat_mean_ns,
        p50_ns: sample.p50_ns,
        p99_ns: sample.p99_ns,
        p99_9_ns: sample.p99_9_ns,
    }
}
