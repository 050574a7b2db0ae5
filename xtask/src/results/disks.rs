//! The disks' view of each policy, in the trial with the median IOPS, so that its numbers belong
//! together.

use disklab_results::Sample;
use disklab_units::prose::digits;

use super::axes::CellPlace;
use super::facts;
use super::merged::Merged;
use super::words::{percent, test};

/// The heads of the columns, divided by `|`.
const HEADS: &str = "test|policy|disks at work|busy %, most and least|depth, most and least|\
                     reads to another disk %|distance GB|sequential %|service ms|\
                     btrfs's mean ms, least and most|checkpoints|reads of each disk %";

pub fn table(merged: &Merged, places: &[CellPlace]) -> String {
    let heads: Vec<&str> = HEADS.split('|').collect();
    let mut rows = Vec::new();
    for place in places {
        for policy in merged.plain_policies() {
            let mut row = vec![test(&place.workload), policy.to_owned()];
            row.extend(median(&merged.samples(place, policy)).map_or_else(Vec::new, cells));
            row.resize(heads.len(), String::new());
            rows.push(row);
        }
    }
    super::words::table(&heads, 2, &rows)
}

/// Returns the sample with the median IOPS; for an even number, the lower of the two in the middle.
fn median<'a>(samples: &[(u32, &'a Sample)]) -> Option<&'a Sample> {
    let mut samples: Vec<&Sample> = samples.iter().map(|(_, sample)| *sample).collect();
    samples.sort_by(|one, other| one.iops.total_cmp(&other.iops));
    samples.get(samples.len().saturating_sub(1) / 2).copied()
}

fn cells(sample: &Sample) -> Vec<String> {
    let missing = || "-".to_owned();
    let busy: Vec<_> = facts::utilisations(sample).collect();
    let depths = facts::depths(sample).and_then(|depths| ends(&depths));
    let read_stats = || sample.devices.iter().filter_map(|device| device.read_stats);
    let means: Vec<f64> =
        read_stats().filter_map(|stats| stats.avg_ns).map(|mean| mean.0 as f64 / 1e6).collect();
    let checkpoints: u64 = read_stats().map(|stats| stats.checkpoints).sum();
    let shares: Option<Vec<String>> =
        sample.devices.iter().map(|device| device.read_share.map(percent)).collect();
    let range = |ends: Option<(f64, f64)>, text: fn(f64) -> String, most_first: bool| {
        let Some((least, most)) = ends else { return missing() };
        let (one, other) = if most_first { (most, least) } else { (least, most) };
        format!("{}, {}", text(one), text(other))
    };
    vec![
        digits(facts::at_work(sample)),
        range(ends(&busy), percent, true),
        range(depths, digits, true),
        sample.read_switches.map_or_else(missing, percent),
        facts::distance(sample).map_or_else(missing, |distance| digits(distance / 1e9)),
        facts::sequential(sample).map_or_else(missing, percent),
        facts::service_ms(sample).map_or_else(missing, digits),
        range(ends(&means), digits, false),
        read_stats().next().map_or_else(missing, |_| checkpoints.to_string()),
        shares.map_or_else(missing, |shares| shares.join(" / ")),
    ]
}

/// Returns the least and the greatest value.
fn ends(values: &[f64]) -> Option<(f64, f64)> {
    let least = values.iter().copied().reduce(f64::min)?;
    Some((least, values.iter().copied().reduce(f64::max)?))
}
