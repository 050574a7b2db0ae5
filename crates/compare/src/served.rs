//! Comparisons of kernels or records with equal numbers whose disks were used differently.

use disklab_config::suite::Axis;
use disklab_protocol::names;
use disklab_record::Outcome;
use disklab_results::Sample;
use disklab_units::prose::{count, listed};

use crate::matching::MatchedTrials;

/// The least difference of interest, as a share of all reads.
const LEAST: f64 = 0.05;

/// Counts the seeds whose reads other disks served, or disks in another order, on both sides of a
/// comparison, and describes the first one. Returns None if there are none, if it is not known, or
/// if the sides differ in more than kernel or record: another policy is expected to choose other
/// disks.
pub fn served_otherwise(matched: &MatchedTrials) -> Option<String> {
    let pairs = || matched.treatments.iter().zip(&matched.baselines);
    let is_kernel = |axis: &str| axis == Axis::Kernel.as_str();
    let differ_in_kernel = pairs().all(|(treatment, baseline)| {
        let mut axes = treatment.cell.0.iter();
        axes.all(|(axis, value)| is_kernel(axis) || baseline.cell.value(axis) == Some(value))
    });
    if !matched.paired || !differ_in_kernel {
        return None;
    }
    let found: Vec<(u32, String)> = pairs()
        .filter_map(|(treatment, baseline)| {
            let how = difference(treatment.sample.as_ref()?, baseline.sample.as_ref()?)?;
            Some((treatment.seed_index, how))
        })
        .collect();
    let all = count(matched.treatments.len(), "seed");
    let Some((seed, how)) = found.first() else {
        let in_virtual_time =
            pairs().all(|(ours, theirs)| ours.virtual_ns.is_some() && theirs.virtual_ns.is_some());
        let differ = |(ours, theirs): &(&&Outcome, &&Outcome)| {
            trace(ours).zip(trace(theirs)).is_some_and(|(ours, theirs)| ours != theirs)
        };
        let other = pairs().filter(differ).count();
        // On a machine's own disks, no two runs have the same trace.
        return (in_virtual_time && other > 0).then(|| {
            format!(
                "in {other} of {all}, the requests at the disks differ from the baseline's; each \
                 disk's share of the reads is about the same"
            )
        });
    };
    Some(format!("other disks served the reads in {} of {all}; seed {seed}: {how}", found.len()))
}

/// Returns the digest of a trial's trace of requests.
pub fn trace(outcome: &Outcome) -> Option<&String> {
    [names::REQUESTS, names::REQUESTS_PACKED].into_iter().find_map(|name| outcome.files.get(name))
}

/// Describes the disks' shares of the reads, or else the share of reads that went to another disk
/// than the previous one.
fn difference(treatment: &Sample, baseline: &Sample) -> Option<String> {
    let shares = |sample: &Sample| -> Option<Vec<f64>> {
        sample.devices.iter().map(|device| device.read_share).collect()
    };
    let differs = |left: f64, right: f64| (left - right).abs() >= LEAST;
    let (ours, theirs) = (shares(treatment)?, shares(baseline)?);
    if ours.iter().zip(&theirs).any(|(ours, theirs)| differs(*ours, *theirs)) {
        let words =
            |shares: &[f64]| listed(&shares.iter().copied().map(percent).collect::<Vec<_>>());
        return Some(format!("{} by disk, compared with {}", words(&ours), words(&theirs)));
    }
    let (ours, theirs) = (treatment.read_switches?, baseline.read_switches?);
    differs(ours, theirs).then(|| {
        let (ours, theirs) = (percent(ours), percent(theirs));
        format!(
            "{ours} of them went to another disk than the previous read, compared with {theirs}"
        )
    })
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
