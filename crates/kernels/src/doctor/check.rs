//! A finding of doctor.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// There, and fit for use.
    Good,
    /// Not there, and can be had.
    Missing,
    /// There, and not fit for use.
    Bad,
    /// Not there, and nothing wants it as long as the kernel that is built is used.
    Unneeded,
}

impl CheckState {
    /// Whether disklab can do without anything being done about it.
    pub fn will_do(self) -> bool {
        matches!(self, Self::Good | Self::Unneeded)
    }
}

/// A thing that disklab needs, as it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: String,
    pub state: CheckState,
    /// The finding, for people.
    pub detail: String,
    /// Command to type, or what to do; None if nothing need be done.
    pub remedy: Option<String>,
}

impl Check {
    pub(super) fn good(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state: CheckState::Good, detail: detail.into(), remedy: None }
    }

    pub(super) fn missing(
        name: &str,
        detail: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = Some(remedy.into());
        Self { state: CheckState::Missing, remedy, ..Self::good(name, detail) }
    }

    pub(super) fn bad(name: &str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: CheckState::Bad, ..Self::missing(name, detail, remedy) }
    }
}
