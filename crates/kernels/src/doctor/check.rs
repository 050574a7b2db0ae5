//! A result of doctor.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckState {
    /// Present, and fit for use.
    Good,
    /// Missing, and available.
    Missing,
    /// Present, and not fit for use.
    Bad,
    /// Missing, and not needed while the built kernel is used.
    Unneeded,
}

impl CheckState {
    /// Returns true if no action is needed.
    pub fn will_do(self) -> bool {
        matches!(self, Self::Good | Self::Unneeded)
    }
}

/// A thing that disklab needs, and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Check {
    pub name: String,
    pub state: CheckState,
    /// Detail of the state, for people.
    pub detail: String,
    /// Command to type, or an action. It is None if nothing is to be done.
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
