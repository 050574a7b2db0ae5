//! The interval of an estimate.

/// A closed interval. It is unbounded (`-inf..inf`) if the data are too few for the requested
/// level.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    pub low: f64,
    pub high: f64,
}

impl Interval {
    pub const UNBOUNDED: Self = Self { low: f64::NEG_INFINITY, high: f64::INFINITY };

    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }

    /// Returns whether the interval lies in the open interval from `low` to `high`.
    pub fn is_inside(&self, low: f64, high: f64) -> bool {
        low < self.low && self.high < high
    }
}

/// A value with the interval that holds the truth in all but the stated share of cases.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub interval: Interval,
}
