//! Reasons why trials of a cell gave no valid result.

use disklab_compare::answer;
use disklab_config::suite::metric::SURVIVED;
use disklab_record::Status;
use disklab_results::Remark;
use indexmap::IndexMap;

use crate::merge::TrialRow;

/// Trials that gave no result for the same reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct TrialFailure {
    /// Text such as `seeds 1 and 3: failed: no answer within 60 s`.
    pub text: String,
    /// Whether something went wrong. Otherwise the trials did not run to their end, and a resume
    /// would run them.
    pub failed: bool,
}

/// Returns the failures, and the trials that have not run, in the order of the trials. `goes_on` is
/// true while a process runs them.
pub fn failures<'a>(
    trials: impl IntoIterator<Item = TrialRow<'a>>,
    goes_on: bool,
) -> Vec<TrialFailure> {
    failures_in(trials, goes_on, None)
}

/// Returns [`failures`], without trials that timed out in another metric than this one.
pub fn failures_in<'a>(
    trials: impl IntoIterator<Item = TrialRow<'a>>,
    goes_on: bool,
    metric: Option<&str>,
) -> Vec<TrialFailure> {
    let mut failures: IndexMap<(String, bool), Vec<String>> = IndexMap::new();
    for trial in trials {
        let Some(failure) = failure(&trial, goes_on, metric) else { continue };
        let seed = trial.seed_index.map_or_else(|| trial.trial.to_owned(), |seed| seed.to_string());
        failures.entry(failure).or_default().push(seed);
    }
    let numbered = |((failure, failed), seeds): ((String, bool), Vec<String>)| TrialFailure {
        text: format!("{}: {failure}", answer::numbered_seeds(&seeds)),
        failed,
    };
    failures.into_iter().map(numbered).collect()
}

/// Returns the reason, and whether something went wrong, or `None` if the trial needs no remark.
fn failure(trial: &TrialRow, goes_on: bool, metric: Option<&str>) -> Option<(String, bool)> {
    Some(match trial.status {
        None | Some(Status::Interrupted) if goes_on => (NOT_YET.to_owned(), false),
        None => (NOT_RUN.to_owned(), false),
        Some(Status::Interrupted) => ("interrupted".to_owned(), false),
        Some(Status::NotNeeded) => return None,
        Some(Status::Ok) => {
            let doubts = trial.remarks.iter().filter(|remark| remark.doubts());
            let doubts: Vec<String> = doubts.map(Remark::in_doubt).collect();
            let is_bad = |remark: &&Remark| match remark {
                Remark::NotWithin { what, .. } => metric.is_none_or(|metric| metric == what),
                Remark::NotSurvived { .. } => metric.is_none_or(|metric| metric == SURVIVED),
                _ => false,
            };
            if let Some(bad) = trial.remarks.iter().find(is_bad) {
                return Some((bad.to_string(), true));
            }
            if doubts.is_empty() {
                return None;
            }
            (doubts.join("; "), true)
        }
        Some(status) => (format!("{status}: {}", trial.reason.unwrap_or("no reason given")), true),
    })
}

/// Reasons of a trial that has not run: while the run goes on, and after its end.
pub const NOT_YET: &str = "not yet";
pub const NOT_RUN: &str = "not run";
