//! Numbers with a name and a unit of their own, which are not in a sample of fio's numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run of a benchmark in its output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BenchmarkRun {
    /// Number of the run's line, from 1.
    pub line: usize,
    /// Pairs (axis, value), as far as the output names them: `clients`, `32`.
    pub cell: Vec<(String, String)>,
    pub measures: Measures,
}

/// Returns the axes whose values are known, with these values.
pub fn cell_of<'a>(
    values: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<(String, String)> {
    let known = |(axis, value): (&str, Option<&str>)| Some((axis.to_owned(), value?.to_owned()));
    values.into_iter().filter_map(known).collect()
}

/// Measures by name.
pub type Measures = BTreeMap<String, Measure>;

/// A number with its unit and its good direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub value: f64,
    /// The unit: `1/s`, `bytes/s`, `ns`, `s`, or the source's own.
    pub unit: String,
    pub better: Better,
    /// Whether the measurement timed out: the true number is more than `value`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub censored: bool,
    /// The least amount that differs measurably from zero, for a number that may be zero. Ratios
    /// replace smaller values by this amount.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The total for a count. Counts of several trials are added up, since a median would hide the
    /// trial that lost something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<f64>,
}

/// Whether higher or lower values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

impl Measure {
    /// Returns a number that is neither censored nor a count out of a total.
    pub fn new(value: f64, unit: &str, better: Better) -> Self {
        Self { value, unit: unit.to_owned(), better, censored: false, least: None, of: None }
    }

    /// Returns a number of which more is better, such as a rate.
    pub fn rate(value: f64, unit: &str) -> Self {
        Self::new(value, unit, Better::Higher)
    }

    /// Returns a number of which less is better, such as a latency, in ns.
    pub fn time(ns: f64) -> Self {
        Self::new(ns, "ns", Better::Lower)
    }
}
