//! The fates of the trials of a cell that gave no result which verdicts may rest on.

use disklab_compare::answer;
use disklab_config::suite::metric::SURVIVED;
use disklab_record::Status;
use disklab_results::Remark;
use indexmap::IndexMap;

use crate::merge::TrialRow;

/// Trials with the same fate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fate {
    /// `seeds 1 and 3: failed: no answer within 60 s`.
    pub text: String,
    /// Something went wrong. Else they have not run, or not to their end, and a resume would run
    /// them.
    pub failed: bool,
}

/// Returns the fates in the order of the trials. `goes_on`: somebody still runs them.
pub fn fates<'a>(trials: impl IntoIterator<Item = TrialRow<'a>>, goes_on: bool) -> Vec<Fate> {
    fates_in(trials, goes_on, None)
}

/// Returns the fates without trials that were given up in another metric than this one.
pub fn fates_in<'a>(
    trials: impl IntoIterator<Item = TrialRow<'a>>,
    goes_on: bool,
    metric: Option<&str>,
) -> Vec<Fate> {
    let mut fates: IndexMap<(String, bool), Vec<String>> = IndexMap::new();
    for trial in trials {
        let Some(fate) = fate(&trial, goes_on, metric) else { continue };
        let seed = trial.seed_index.map_or_else(|| trial.trial.to_owned(), |seed| seed.to_string());
        fates.entry(fate).or_default().push(seed);
    }
    let told = |((fate, failed), seeds): ((String, bool), Vec<String>)| Fate {
        text: format!("{}: {fate}", answer::numbered_seeds(&seeds)),
        failed,
    };
    fates.into_iter().map(told).collect()
}

/// The fate, and whether something went wrong; `None` if nothing has to be said of the trial.
fn fate(trial: &TrialRow, goes_on: bool, metric: Option<&str>) -> Option<(String, bool)> {
    Some(match trial.status {
        None | Some(Status::Interrupted) if goes_on => (NOT_YET.to_owned(), false),
        None => (NOT_RUN.to_owned(), false),
        Some(Status::Interrupted) => ("interrupted".to_owned(), false),
        Some(Status::Spared) => return None,
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

/// Fates of a trial that has not run while the others do, and of one that nobody runs any more.
pub const NOT_YET: &str = "not yet";
pub const NOT_RUN: &str = "not run";
