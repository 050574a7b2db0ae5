//! Verdicts of a record over several drives (`--drives`): the drives on which each is given.

use disklab_config::suite::sweep::DRIVE;
use disklab_record::outcome::Cell;
use disklab_stats::Verdict;
use disklab_units::prose::{count, listed};
use indexmap::{IndexMap, IndexSet};
use serde::Serialize;

use crate::answer::{self, RelativeChange};
use crate::comparison::Comparison;
use crate::sensitivity::is_at_end;

/// A comparison on each of several drives.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OverDrives {
    /// Cell without the axis over drives.
    pub cell: Cell,
    pub metric: String,
    pub treatment: String,
    pub baseline: String,
    pub drives: Vec<VerdictOnDrive>,
}

/// The verdict on a drive.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct VerdictOnDrive {
    pub drive: String,
    pub verdict: String,
    /// Change, or `None` if the drive has too few results to compare.
    pub change: Option<RelativeChange>,
}

/// Returns each comparison over its drives, in the order of the comparisons. The list is empty for
/// a record of one drive.
pub fn over_drives(comparisons: &[Comparison]) -> Vec<OverDrives> {
    let mut all: IndexMap<(Cell, &str, &str, &str), Vec<VerdictOnDrive>> = IndexMap::new();
    for own in comparisons.iter().filter(|own| !is_at_end(&own.cell)) {
        let Some(drive) = own.cell.value(DRIVE) else { continue };
        let key = (own.cell.without(DRIVE), own.metric.name(), &*own.treatment, &*own.baseline);
        let (drive, verdict) = (drive.to_owned(), own.verdict.to_string());
        all.entry(key).or_default().push(VerdictOnDrive { drive, verdict, change: own.change });
    }
    let several = all.into_iter().filter(|(_, drives)| drives.len() > 1);
    several
        .map(|((cell, metric, treatment, baseline), drives)| OverDrives {
            cell,
            metric: metric.to_owned(),
            treatment: treatment.to_owned(),
            baseline: baseline.to_owned(),
            drives,
        })
        .collect()
}

/// Returns sentences, without their full stops, about comparisons over drives: the drives, and for
/// each comparison the number of drives with each verdict.
pub fn sentences(comparisons: &[Comparison]) -> Vec<String> {
    let all = over_drives(comparisons);
    let names: IndexSet<&str> =
        all.iter().flat_map(|own| &own.drives).map(|own| own.drive.as_str()).collect();
    let names: Vec<&str> = names.into_iter().collect();
    let head = format!("Over {}: {}", count(names.len(), "drive"), listed(&names));
    let head = Some(head).filter(|_| !names.is_empty());
    head.into_iter().chain(all.iter().map(OverDrives::sentence)).collect()
}

impl OverDrives {
    /// Formats a comparison. The most frequent verdict comes first, with the changes; for the
    /// others, the drives are named.
    fn sentence(&self) -> String {
        let verdicts =
            [Verdict::Better, Verdict::Worse, Verdict::Same, Verdict::Undecided].into_iter();
        let mut groups: Vec<(String, Vec<&VerdictOnDrive>)> = verdicts
            .map(|verdict| verdict.to_string())
            .map(|verdict| {
                let own = self.drives.iter().filter(|own| own.verdict == verdict).collect();
                (verdict, own)
            })
            .filter(|(_, own): &(_, Vec<_>)| !own.is_empty())
            .collect();
        groups.sort_by_key(|(_, own)| std::cmp::Reverse(own.len()));
        let part = |(at, (verdict, own)): (usize, &(String, Vec<&VerdictOnDrive>))| {
            let changes = own.iter().filter_map(|own| own.change).map(|change| change.percent);
            let (low, high) = changes
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), own| {
                    (low.min(own), high.max(own))
                });
            let names: Vec<&str> = own.iter().map(|own| own.drive.as_str()).collect();
            let on = match (at, own.len()) {
                (0, number) if number == self.drives.len() => format!("all {number}"),
                (0, number) => format!("{number} of {}", self.drives.len()),
                _ => listed(&names),
            };
            if low > high {
                return format!("{verdict} on {on}");
            }
            let (low, high) = (answer::change(low), answer::change(high));
            let range = if low == high { low } else { format!("{low} to {high}") };
            format!("{verdict} on {on} ({range})")
        };
        let parts: Vec<String> = groups.iter().enumerate().map(part).collect();
        let cell = answer::values(&self.cell);
        let place = if cell.is_empty() { String::new() } else { format!(" ({cell})") };
        let [treatment, baseline] = [&self.treatment, &self.baseline].map(|one| answer::name(one));
        format!(
            "{} of {treatment} compared with {baseline}{place}: {}",
            self.metric,
            parts.join(", ")
        )
    }
}
