//! Derives the numbers of a trial in a guest again, from the raw files that a record keeps.

use super::end::End;
use super::evidence::{self, Who};
use super::outcome::{TrialResults, results};
use super::power_cut::{self, Left};
use disklab_config::Trial;
use disklab_protocol::machine::cut_images;
use disklab_record::{Outcome, Status};
use disklab_units::Nanos;
use std::path::Path;
use std::process::ExitStatus;

/// Replaces the numbers of `outcome` by those that follow from the raw files in `folder`. The
/// measures of a trial with power cuts come from the raw files of each cut. An error gives the
/// reason why the raw files give no result.
pub fn derive(trial: &Trial, folder: &Path, outcome: &mut Outcome) -> Result<(), String> {
    let ended = End::Exited(ExitStatus::default());
    let mut results = results(trial, folder, &ended, Who::Guest)?;
    let mut left = Left::default();
    for (number, cut) in results.closing.power_cuts.iter().enumerate() {
        let looked = evidence::examined(folder, number)
            .unwrap_or_else(|| Err(format!("state {} was not examined", number + 1)));
        let mounted = || evidence::mount_time(&cut_images(folder, number));
        left.add(cut, looked.map(|_| mounted()));
    }
    let (measures, remark) = power_cut::results(trial, &results.closing, &left)?;
    results.measures.extend(measures);
    results.remarks.extend(remark);
    outcome.virtual_ns = Some(results.closing.virtual_ns).filter(|time| *time > Nanos(0));
    results.put_into(outcome);
    Ok(())
}

impl TrialResults {
    /// Moves the results into the outcome, which has failed if a remark voids them.
    pub(super) fn put_into(self, outcome: &mut Outcome) {
        let Self { sample, remarks, measures, .. } = self;
        outcome.reason = remarks.iter().find(|remark| remark.voids()).map(ToString::to_string);
        outcome.status = if outcome.reason.is_some() { Status::Failed } else { Status::Ok };
        (outcome.sample, outcome.remarks, outcome.measures) = (sample, remarks, measures);
    }
}
