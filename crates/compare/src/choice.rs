//! Comparisons in which what differs had nothing to choose.

use disklab_config::suite::Axis;
use disklab_record::Outcome;
use disklab_results::Remark;

use crate::matching::MatchedTrials;
use crate::served::trace;

/// Why the two sides of a comparison are the same by necessity: in each trial of both, what they
/// differ in had nothing to choose, or chose the same. None if that is not known of every trial.
pub fn nothing_to_choose(matched: &MatchedTrials) -> Option<String> {
    had_no_choice(matched).or_else(|| chose_the_same(matched))
}

/// The digests of the traces say that both sides made the same requests at the same times.
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
    // The one with most requests at a disk holds for all.
    let most = |remark: &&Remark| match remark {
        Remark::NothingToSchedule { most, .. } => *most,
        _ => 0,
    };
    all?.into_iter().max_by_key(most).map(ToString::to_string)
}
