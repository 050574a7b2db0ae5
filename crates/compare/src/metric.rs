//! What of a trial is compared.

use disklab_record::Outcome;
use disklab_results::Sample;
use disklab_results::measure::{self, Measure};
use disklab_results::sample::DirectionSample;
use disklab_stats::Better;
use serde::Serialize;

/// A number of fio's, or one that a record has by that name.
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
    /// As imported results call it.
    Other(String),
}

/// (as it is typed, as it is told).
const NAMES: [(&str, &str, Metric); 6] = [
    ("iops", "IOPS", Metric::Iops),
    ("bandwidth", "bandwidth", Metric::Bandwidth),
    ("mean", "mean latency", Metric::Mean),
    ("p50", "p50", Metric::P50),
    ("p99", "p99", Metric::P99),
    ("p99.9", "p99.9", Metric::P999),
];

/// One direction of a sample, if it has it.
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
    /// By the name that is typed.
    pub fn of_name(text: &str) -> Self {
        let known = NAMES.iter().find(|(name, ..)| *name == text);
        known.map_or_else(|| Self::Other(text.to_owned()), |(.., metric)| metric.clone())
    }

    /// The names that every record of fio has.
    pub fn known() -> String {
        NAMES.map(|(name, ..)| name).join(", ")
    }

    fn typed(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => {
                NAMES.iter().find(|(.., metric)| metric == known).map_or("", |(name, ..)| name)
            }
        }
    }

    /// Its value, if the trial has it: IOPS, bytes a second, ns, or the unit of the measure of that
    /// name.
    pub fn of(&self, outcome: &Outcome) -> Option<f64> {
        let Some(sample) = &outcome.sample else {
            return outcome.measures.get(self.typed()).map(|measure| measure.value);
        };
        match self {
            Self::Other(name) => match outcome.measures.get(name) {
                Some(measure) => Some(measure.value),
                None => Self::of_direction(name)
                    .and_then(|(part, metric)| metric.of_part(part(sample)?)),
            },
            of_fio => of_fio.of_part(&both_directions(sample)),
        }
    }

    /// `read p99`, `write iops`: of one direction of fio's.
    fn of_direction(name: &str) -> Option<(Part, Self)> {
        let (direction, name) = name.split_once(' ')?;
        let part: Part = match direction {
            "read" => |sample| sample.read.as_ref(),
            "write" => |sample| sample.write.as_ref(),
            _ => return None,
        };
        Some((part, Self::of_name(name))).filter(|(_, metric)| !matches!(metric, Self::Other(_)))
    }

    fn of_part(&self, part: &DirectionSample) -> Option<f64> {
        let nanos = |value: Option<disklab_units::Nanos>| value.map(|value| value.0 as f64);
        match self {
            Self::Iops => Some(part.iops),
            Self::Bandwidth => Some(part.bw_bytes as f64),
            Self::Mean => Some(part.lat_mean_ns),
            Self::P50 => nanos(part.p50_ns),
            Self::P99 => nanos(part.p99_ns),
            Self::P999 => nanos(part.p99_9_ns),
            Self::Other(_) => None,
        }
    }

    /// Whether a trial was given up then: it is more than its value.
    pub fn is_given_up(&self, outcome: &Outcome) -> bool {
        match self {
            Self::Other(name) => outcome.measures.get(name).is_some_and(|measure| measure.censored),
            _ => false,
        }
    }

    /// What cannot be told from nothing, where that has a ratio to nothing.
    pub fn least<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<f64> {
        match self {
            Self::Other(name) => measure(name, outcomes).and_then(|measure| measure.least),
            _ => None,
        }
    }

    /// Which way is good, by the first of these that has the number.
    pub fn better<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Better {
        match self {
            Self::Iops | Self::Bandwidth => Better::Higher,
            Self::Mean | Self::P50 | Self::P99 | Self::P999 => Better::Lower,
            Self::Other(name) => match measure(name, outcomes).map(|measure| measure.better) {
                Some(measure::Better::Lower) => Better::Lower,
                Some(measure::Better::Higher) => Better::Higher,
                None => {
                    Self::of_direction(name).map_or(Better::Higher, |(_, metric)| metric.better([]))
                }
            },
        }
    }

    /// 1/s, bytes/s, ns, or what the measure says.
    pub fn unit<'a>(&self, outcomes: impl IntoIterator<Item = &'a Outcome>) -> String {
        match self {
            Self::Iops => "1/s".to_owned(),
            Self::Bandwidth => "bytes/s".to_owned(),
            Self::Mean | Self::P50 | Self::P99 | Self::P999 => "ns".to_owned(),
            Self::Other(name) => match measure(name, outcomes) {
                Some(measure) => measure.unit.clone(),
                None => {
                    Self::of_direction(name).map_or_else(String::new, |(_, metric)| metric.unit([]))
                }
            },
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => {
                NAMES.iter().find(|(.., metric)| metric == known).map_or("", |(_, told, _)| told)
            }
        }
    }
}

fn measure<'a>(name: &str, outcomes: impl IntoIterator<Item = &'a Outcome>) -> Option<&'a Measure> {
    outcomes.into_iter().find_map(|outcome| outcome.measures.get(name))
}

/// A sample's numbers of both directions together.
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
