//! Numbers that have a name and a unit of their own: what is not a sample of fio's.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// A run of a benchmark, as its output has it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BenchmarkRun {
    /// The line that it is on, from 1.
    pub line: usize,
    /// (axis, value), as far as the output says: `clients`, `32`.
    pub cell: Vec<(String, String)>,
    pub measures: Measures,
}

/// The axes whose values are known, with these.
pub fn cell_of<'a>(
    values: impl IntoIterator<Item = (&'a str, Option<&'a str>)>,
) -> Vec<(String, String)> {
    let known = |(axis, value): (&str, Option<&str>)| Some((axis.to_owned(), value?.to_owned()));
    values.into_iter().filter_map(known).collect()
}

/// Numbers by their names.
pub type Measures = BTreeMap<String, Measure>;

/// A number that says itself what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub value: f64,
    /// `1/s`, `bytes/s`, `ns`, `s`, or whatever the source has.
    pub unit: String,
    pub better: Better,
    /// Whether the measurement timed out: the number is more than `value`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub censored: bool,
    /// The least amount that can be told from nothing, for a number that may be nothing. Ratios
    /// take less than this for this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The total that a count is of. Over several trials the counts are added up, since a median
    /// would hide the trial that lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<f64>,
}

/// Which way is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    Higher,
    Lower,
}

impl Measure {
    /// A number that was not given up, and is no count of so many.
    pub fn new(value: f64, unit: &str, better: Better) -> Self {
        Self { value, unit: unit.to_owned(), better, censored: false, least: None, of: None }
    }

    /// More is better, as with rates.
    pub fn rate(value: f64, unit: &str) -> Self {
        Self::new(value, unit, Better::Higher)
    }

    /// Less is better, as with latencies, in ns.
    pub fn time(ns: f64) -> Self {
        Self::new(ns, "ns", Better::Lower)
    }
}
