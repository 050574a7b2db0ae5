//! Counts a record's trials by their outcomes.

use disklab_record::{Record, Status};
use disklab_results::Remark;
use serde::Serialize;

/// Progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    pub interrupted: usize,
    /// Trials that no verdict needs.
    #[serde(rename = "spared")]
    pub not_needed: usize,
    /// Trials that never began.
    pub not_run: usize,
    /// Trials that are ok but lost fsynced data in a power cut.
    #[serde(skip_serializing_if = "is_none")]
    pub lost: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl Tally {
    pub fn new(record: &Record) -> Self {
        let mut tally = Self::default();
        for (_, outcome) in record.outcomes().into_iter().chain(record.again()) {
            *match outcome.map(|outcome| outcome.status) {
                Some(Status::Ok) => &mut tally.ok,
                Some(Status::Failed) => &mut tally.failed,
                Some(Status::Skipped) => &mut tally.skipped,
                Some(Status::Interrupted) => &mut tally.interrupted,
                Some(Status::NotNeeded) => &mut tally.not_needed,
                None => &mut tally.not_run,
            } += 1;
            let not_survived = |remark: &Remark| matches!(remark, Remark::NotSurvived { .. });
            tally.lost += usize::from(
                outcome.is_some_and(|outcome| outcome.remarks.iter().any(not_survived)),
            );
        }
        tally
    }

    pub fn all(self) -> usize {
        self.ok + self.failed + self.skipped + self.interrupted + self.not_needed + self.not_run
    }

    /// Returns true if nothing failed and nothing is missing.
    pub fn is_whole(self) -> bool {
        self.ok + self.not_needed == self.all() && self.lost == 0
    }

    /// Returns the number of trials that a resume would run.
    pub fn missing(self) -> usize {
        self.interrupted + self.not_run
    }
}

/// Writes the counts: `106 of 108 trials ok, 2 failed`.
impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The status of such a trial is `ok`, since all was measured; to a reader it is not.
        let ok = if self.lost > 0 { "complete" } else { "ok" };
        write!(f, "{} of {} trials {ok}", self.ok, self.all())?;
        let others = [
            (self.failed, "failed"),
            (self.skipped, "skipped"),
            (self.interrupted, "interrupted"),
            (self.not_needed, "not needed"),
            (self.not_run, "not run"),
            (self.lost, "of them lost fsynced data"),
        ];
        others
            .iter()
            .filter(|(count, _)| *count > 0)
            .try_for_each(|(count, what)| write!(f, ", {count} {what}"))
    }
}
