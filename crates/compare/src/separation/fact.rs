//! The numbers of two choices side by side.

use disklab_results::{Sample, Spread};
use disklab_units::Nanos;
use disklab_units::prose::digits;

/// Least number of trials for a range.
pub(super) const FEWEST: usize = 2;

/// A choice and the samples of its trials.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub name: &'a str,
    pub samples: &'a [&'a Sample],
    /// The mean queueing time of a request before its disk began to serve it, over all disks'
    /// requests, in ns: one value for each trial whose closing record has it.
    pub queued: &'a [f64],
}

/// Two choices side by side.
#[derive(Clone, Copy)]
pub(super) struct Sides<'a> {
    pub treatment: Side<'a>,
    pub baseline: Side<'a>,
    /// Changes below this share are of no interest.
    pub smallest: f64,
}

/// A number of the two choices.
#[derive(Debug, Clone, PartialEq)]
pub struct Fact {
    pub name: &'static str,
    pub unit: Unit,
    /// The spread over the trials that have the number.
    pub treatment: Option<Spread>,
    pub baseline: Option<Spread>,
    pub apart: bool,
}

/// The unit of a fact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Nanos,
    Bytes,
    /// A share, 0 to 1, shown as per cent.
    Share,
    Count,
}

impl Unit {
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Nanos => Nanos(value.max(0.0).round() as u64).to_string(),
            Self::Bytes => disklab_units::Bytes(value.max(0.0).round() as u64).to_string(),
            Self::Share => format!("{} %", digits(value * 100.0)),
            Self::Count => digits(value),
        }
    }
}

impl<'a> Sides<'a> {
    pub fn new(treatment: Side<'a>, baseline: Side<'a>, smallest: f64) -> Self {
        Self { treatment, baseline, smallest }
    }

    /// Compares a number that some trials of a side have.
    pub fn fact(
        self,
        name: &'static str,
        unit: Unit,
        values: impl Fn(Side<'a>) -> Vec<f64>,
    ) -> Fact {
        let (ours, theirs) = (values(self.treatment), values(self.baseline));
        let enough = ours.len().min(theirs.len()) >= FEWEST;
        let (treatment, baseline) = (Spread::over(ours), Spread::over(theirs));
        let apart = match (&treatment, &baseline) {
            (Some(one), Some(other)) if enough => {
                !one.overlaps(other) && !near(one.median, other.median, self.smallest)
            }
            _ => false,
        };
        Fact { name, unit, treatment, baseline, apart }
    }

    /// Returns true if a side has too few trials for a range.
    pub fn are_few(self) -> bool {
        self.treatment.samples.len().min(self.baseline.samples.len()) < FEWEST
    }

    /// Formats the medians of both sides between some words, if the sides are apart. `unit` begins
    /// with a blank.
    pub fn in_words(self, fact: &Fact, before: &str, unit: &str) -> Option<String> {
        let (one, other) = fact.medians().filter(|_| fact.apart)?;
        let (treatment, baseline) = (self.treatment.name, self.baseline.name);
        Some(format!("{before} {one}{unit} with {treatment}, {other} with {baseline}"))
    }
}

impl Fact {
    /// Formats the medians, if both sides have one.
    pub(super) fn medians(&self) -> Option<(String, String)> {
        Some((self.unit.show(self.treatment?.median), self.unit.show(self.baseline?.median)))
    }
}

pub(super) fn near(one: f64, other: f64, smallest: f64) -> bool {
    (one - other).abs() <= smallest * one.abs().max(other.abs())
}
