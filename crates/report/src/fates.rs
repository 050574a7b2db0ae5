//! What became of the trials of a cell that gave no result which verdicts may rest on.

use disklab_config::suite::metric::SURVIVED;
use disklab_record::Status;
use disklab_results::Remark;
use disklab_units::prose::listed;

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

/// In the order of the trials. `goes_on`: somebody still runs them.
pub fn fates<'a>(trials: impl IntoIterator<Item = TrialRow<'a>>, goes_on: bool) -> Vec<Fate> {
    fates_in(trials, goes_on, None)
}

/// What was given up in another metric than this one is none.
pub fn fates_in<'a>(
    trials: impl IntoIterator<Item = TrialRow<'a>>,
    goes_on: bool,
    metric: Option<&str>,
) -> Vec<Fate> {
    let mut fates: Vec<(String, bool, Vec<String>)> = Vec::new();
    for trial in trials {
        let Some((fate, failed)) = fate(&trial, goes_on, metric) else { continue };
        let seed = trial.seed_index.map_or_else(|| trial.trial.to_owned(), |seed| seed.to_string());
        match fates.iter_mut().find(|(known, ..)| *known == fate) {
            Some((.., seeds)) => seeds.push(seed),
            None => fates.push((fate, failed, vec![seed])),
        }
    }
    let told = |(fate, failed, seeds): (String, bool, Vec<String>)| {
        let noun = if seeds.len() == 1 { "seed" } else { "seeds" };
        Fate { text: format!("{noun} {}: {fate}", listed(&seeds)), failed }
    };
    fates.into_iter().map(told).collect()
}

/// And whether something went wrong; `None` of a trial that nothing has to be said of.
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

/// Of a trial that has not run while the others do, and of one that nobody runs any more.
pub const NOT_YET: &str = "not yet";
pub const NOT_RUN: &str = "not run";
