//! Results of others, as they were found: before they are a record.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::integrity::Claim;
use crate::remark::Remark;
use crate::sample::Sample;

/// One run of something.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// Where in its source, to find it again: `line 12`, `job 3`.
    pub place: String,
    /// (axis, value), as far as the source says: `policy`, `pid`.
    pub cell: Vec<(String, String)>,
    /// Which repeat of its cell it is, where the source says so.
    pub repeat: Option<u32>,
    /// What fio measured, where it was fio and said all of it.
    pub sample: Option<Sample>,
    /// Other numbers, or what there is of fio's, by name: `iops`, `read p99`, `dbench throughput`.
    pub measures: Measures,
    /// To be checked.
    pub claim: Claim,
    /// What its reader saw already.
    pub remarks: Vec<Remark>,
}

/// By name.
pub type Measures = BTreeMap<String, Measure>;

/// A number that says itself what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    pub value: f64,
    /// `1/s`, `bytes/s`, `ns`, `s`, or whatever the source has.
    pub unit: String,
    pub better: Better,
    /// It was given up then: it is more than that.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub censored: bool,
    /// Of a number that may be nothing: what cannot be told from it. Ratios take less than this for
    /// this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// Of a count: of so many. Over several trials the counts are added up, since a median would
    /// hide the trial that lost.
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
    /// More is better, as with rates.
    pub fn rate(value: f64, unit: &str) -> Self {
        Self {
            value,
            unit: unit.to_owned(),
            better: Better::Higher,
            censored: false,
            least: None,
            of: None,
        }
    }

    /// Less is better, as with latencies, in ns.
    pub fn time(ns: f64) -> Self {
        Self {
            value: ns,
            unit: "ns".to_owned(),
            better: Better::Lower,
            censored: false,
            least: None,
            of: None,
        }
    }
}
