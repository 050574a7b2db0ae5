//! The engine's report of a run: `fsload.json`.

use crate::promises::Note;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// Length in ns of the window in which everything below was counted.
    pub length_ns: u64,
    /// The operations that were done at least once.
    pub operations: Vec<Operations>,
    pub threads: Vec<Loops>,
    /// The files of each set at the end, by the account.
    pub files: Vec<Files>,
    /// The notes of promises and of their ends, in order. The list is empty if no power cut needs
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// Operations of one kind that ended in the window of the report.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Operations {
    pub name: String,
    pub count: u64,
    pub bytes: u64,
    /// Mean time in ns from when an operation got the processor until its end.
    pub mean_ns: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
}

/// Loops of the threads of one name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Loops {
    pub name: String,
    /// Number of loops that were run to their end.
    pub loops: u64,
    /// Loops that found nothing to work on.
    pub idle: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Files {
    pub set: String,
    pub count: u64,
    pub bytes: u64,
}

impl LoadReport {
    /// Returns the rate of all operations, per second.
    pub fn rate(&self) -> f64 {
        let count: u64 = self.operations.iter().map(|each| each.count).sum();
        self.a_second(count)
    }

    pub fn a_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.length_ns.max(1) as f64
    }
}
