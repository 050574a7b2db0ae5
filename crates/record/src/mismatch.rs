//! Differences between two manifests.

use std::fmt;

/// A difference from the time when the record was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    pub what: String,
    pub recorded: String,
    pub now: String,
}

impl Mismatch {
    /// Compares two values of one name. Returns None if they are the same.
    pub(crate) fn between(
        what: impl Into<String>,
        recorded: impl Into<String>,
        now: impl Into<String>,
    ) -> Option<Self> {
        let (what, recorded, now) = (what.into(), recorded.into(), now.into());
        (recorded != now).then_some(Self { what, recorded, now })
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        let Self { what, recorded, now } = self;
        write!(out, "{what}: recorded {recorded}, now {now}")
    }
}

/// Lists mismatches, each on an indented line of its own.
pub(crate) fn listed(differences: &[Mismatch]) -> String {
    differences.iter().fold(String::new(), |text, difference| format!("{text}\n  {difference}"))
}
