//! The effect of other values of a policy's parameters.

use std::cmp::Ordering;
use std::fmt::Write;

use disklab_results::Spread;
use disklab_units::prose::digits;

use super::axes::CellPlace;
use super::merged::Merged;
use super::words::{range, test};
use super::{agreement, notes, orders};

pub fn section(merged: &Merged) -> String {
    let policies = merged.policies.iter().map(String::as_str);
    let choices: Vec<&str> = policies.filter(|policy| policy.contains(':')).collect();
    if choices.is_empty() {
        return "These records have one value of each policy's parameters.\n\n".to_owned();
    }
    let rows: Vec<_> = merged.places().iter().flat_map(|place| rows(merged, place)).collect();
    let mut failed = String::new();
    for place in merged.places() {
        let not_ok = notes::not_ok(merged, std::slice::from_ref(&place), &choices);
        if !not_ok.is_empty() {
            let _ = write!(failed, "{}:\n\n{not_ok}", agreement::heading(&place));
        }
    }
    let heads = "array|background|jobs|test|choice|IOPS|against|its IOPS|ratio|differ";
    let heads: Vec<&str> = heads.split('|').collect();
    let table = super::words::table(&heads, 5, &rows);
    format!("{table}{failed}")
}

fn base(policy: &str) -> &str {
    policy.split(':').next().unwrap_or(policy)
}

fn rows(merged: &Merged, place: &CellPlace) -> Vec<Vec<String>> {
    let spread = |policy: &str| {
        Spread::over(merged.samples(place, policy).iter().map(|(_, sample)| sample.iops))
    };
    let mut rows = Vec::new();
    for choice in merged.policies.iter().filter(|policy| policy.contains(':')) {
        // The baseline is the policy with defaults, or else the first other choice with a result.
        let of_same = |policy: &&String| base(policy) == base(choice) && *policy != choice;
        let mut others: Vec<_> = merged.policies.iter().filter(of_same).collect();
        others.sort_by_key(|policy| policy.contains(':'));
        let Some(ours) = spread(choice) else { continue };
        let Some((against, theirs)) = others.iter().find_map(|other| Some((other, spread(other)?)))
        else {
            continue;
        };
        let differ = match orders::of_seeds(&ours, &theirs) {
            Ordering::Equal => "no",
            Ordering::Less => "fewer",
            Ordering::Greater => "more",
        };
        rows.push(vec![
            place.array.clone(),
            place.background.clone(),
            place.jobs.to_string(),
            test(&place.workload),
            choice.clone(),
            format!("{}{}", digits(ours.median), range(&ours)),
            (*against).clone(),
            format!("{}{}", digits(theirs.median), range(&theirs)),
            digits(ours.median / theirs.median),
            differ.to_owned(),
        ]);
    }
    rows
}
