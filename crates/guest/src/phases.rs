//! What the first process says of phases.

use serde::{Deserialize, Serialize};

/// The step's name in the record; one for each phase that began.
pub const STEP: &str = "phase";

/// The name of the step that says in its field `phase` which one has begun.
pub const BEGUN: &str = "phase begun";

/// How a phase went, in its step's field `went`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Went {
    pub phase: String,
    /// From its begin until it was done, in virtual ns.
    pub took_ns: u64,
    /// It was given up then.
    pub given_up: bool,
}

/// A line of [`disklab_protocol::names::PHASES`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    pub phase: String,
    /// The end of what its program said.
    pub said: String,
    /// fio's report, where it was fio.
    pub fio: Option<String>,
    /// That of its reader.
    pub reader: Option<String>,
}
