//! Comparisons in which the compared policy or scheduler had no choice.

use disklab_config::suite::Axis;
use disklab_record::Outcome;
use disklab_results::Remark;

use crate::matching::MatchedTrials;
use crate::served::trace;

/// Returns the reason why the two sides of a comparison are necessarily the same: in each trial of
/// both, the compared policy or scheduler had no choice, or chose the same. Returns None if that is
/// not known for every trial.
pub fn nothing_to_choose(matched: &MatchedTrials) -> Option<String> {
    had_no_choice(matched).or_else(|| chose_the_same(matched))
}

/// Returns the reason if the digests of the traces show the same requests at the same times on both
/// sides.
fn chose_the_same(matched: &MatchedTrials) -> Option<String> {
    let mut pairs = matched.treatments.iter().zip(&matched.baselines);
    let are_equal = matched.paired
        && !matched.treatments.is_empty()
        && pairs.all(|(ours, theirs)| trace(ours).is_some() && trace(ours) == trace(theirs));
    are_equal.then(|| "the disks had the same requests at the same times".to_owned())
}

fn had_no_choice(matched: &MatchedTrials) -> Option<String> {
    let (first, other) = (matched.treatments.first()?, matched.baselines.first()?);
    let differs = |(axis, value): &&(String, String)| other.cell.value(axis) != Some(value);
    let mut differing = first.cell.0.iter().filter(differs);
    let (axis, None) = (&differing.next()?.0, differing.next()) else { return None };
    let concerns = |remark: &&Remark| match remark {
        Remark::NothingToSchedule { .. } => *axis == Axis::Scheduler.as_str(),
        Remark::NoMirrorToChoose { .. } => *axis == Axis::Policy.as_str(),
        _ => false,
    };
    let outcomes = matched.treatments.iter().chain(&matched.baselines).copied();
    let all: Option<Vec<&Remark>> =
        outcomes.map(|outcome: &Outcome| outcome.remarks.iter().find(concerns)).collect();
    // The trial with most requests at a disk covers all.
    let most = |remark: &&Remark| match remark {
        Remark::NothingToSchedule { most, .. } => *most,
        _ => 0,
    };
    all?.into_iter().max_by_key(most).map(ToString::to_string)
}
