//! Cells in which the order of policies agrees with a published one, and the reasons for the order
//! here.

use std::cmp::Ordering;
use std::fmt::Write;

use disklab_config::Lab;
use disklab_results::Spread;
use disklab_units::prose::count;
use itertools::Itertools;

use super::axes::CellPlace;
use super::causes::{self, Side};
use super::merged::Merged;
use super::orders::{self, Counts, VERDICTS, Verdict};
use super::published::Published;
use super::words::test;

/// A policy with its IOPS here.
type Ours<'a> = (Side<'a>, Spread);

/// A cell here, compared with a published source.
struct Compared<'a> {
    source: &'a str,
    counts: Counts,
    /// The order in the table, from most to fewest.
    theirs: String,
    /// Pairs whose first policy is ahead here, and whose second is ahead there; with the ratio
    /// here.
    reversed: Vec<(&'a Ours<'a>, &'a Ours<'a>)>,
    lacking: bool,
}

/// The text about the orders, and the verdicts of all pairs with published numbers.
pub struct Agreement {
    pub text: String,
    pub published: Counts,
}

pub fn section(lab: &Lab, merged: &Merged, published: &Published) -> Agreement {
    let policies = merged.plain_policies();
    let mut rows = Vec::new();
    let mut total = Counts::default();
    let mut of_arrays: Vec<(String, Counts)> = Vec::new();
    let mut text = String::new();
    for places in merged.groups() {
        let sources = published.sources_of(&places, &policies);
        let Some(first) = places.first() else { continue };
        let _ = writeln!(text, "### {}\n", heading(first));
        for place in &places {
            let ours = ours(merged, place, &policies);
            let compared: Vec<Compared> = sources
                .iter()
                .filter_map(|source| compare(published, place, source, &ours))
                .collect();
            for compared in &compared {
                rows.push(summary_row(place, compared.source, compared.counts));
                total.add_all(compared.counts);
                match of_arrays.iter_mut().find(|(array, _)| *array == place.array) {
                    Some((_, counts)) => counts.add_all(compared.counts),
                    None => of_arrays.push((place.array.clone(), compared.counts)),
                }
            }
            text.push_str(&cell(lab, place, &ours, &compared));
        }
        text.push('\n');
    }
    let label = |what: String, counts: Counts| {
        let mut row = vec![what];
        row.resize(5, String::new());
        row.extend(counts.0.map(|count| format!("**{count}**")));
        row
    };
    let several = of_arrays.len() > 1;
    rows.extend(
        of_arrays.into_iter().map(|(array, counts)| label(format!("**{array}**, all"), counts)),
    );
    if several {
        rows.push(label("**all**".to_owned(), total));
    }
    let mut head =
        ["array", "background", "jobs", "test", "published by"].map(str::to_owned).to_vec();
    head.extend(VERDICTS.map(|(_, name)| name.to_owned()));
    let table = if rows.is_empty() {
        "No cell of these records has been published.\n\n".to_owned()
    } else {
        super::words::table(&head, 5, &rows)
    };
    Agreement { text: format!("{table}{text}"), published: total }
}

pub fn heading(place: &CellPlace) -> String {
    let jobs = count(place.jobs as usize, "job");
    format!("{}, {}, {jobs}", place.array, background(&place.background))
}

pub fn background(name: &str) -> String {
    if name == "none" { "no background".to_owned() } else { format!("beside {name}") }
}

fn summary_row(place: &CellPlace, source: &str, counts: Counts) -> Vec<String> {
    let CellPlace { array, background, jobs, workload } = place;
    let mut row = vec![
        array.clone(),
        background.clone(),
        jobs.to_string(),
        test(workload),
        source.to_owned(),
    ];
    row.extend(counts.0.map(|count| count.to_string()));
    row
}

/// Returns the policies with a result, in the order of the tables.
fn ours<'a>(merged: &Merged<'a>, place: &CellPlace, policies: &[&'a str]) -> Vec<Ours<'a>> {
    let of = |policy: &&'a str| {
        let samples = merged.samples(place, policy);
        let spread = Spread::over(samples.iter().map(|(_, sample)| sample.iops))?;
        Some((Side { policy, samples }, spread))
    };
    policies.iter().filter_map(of).collect()
}

fn compare<'a>(
    published: &'a Published,
    place: &CellPlace,
    source: &'a str,
    ours: &'a [Ours<'a>],
) -> Option<Compared<'a>> {
    let found = |one: &'a Ours<'a>| Some((one, published.find(source, place, one.0.policy)?.iops));
    let both: Vec<_> = ours.iter().filter_map(found).collect();
    if both.len() < 2 {
        return None;
    }
    let (mut counts, mut reversed) = (Counts::default(), Vec::new());
    for (&(one, their_one), &(other, their_other)) in both.iter().tuple_combinations() {
        let order = orders::of_seeds(&one.1, &other.1);
        let verdict = Verdict::compare(order, orders::compare_numbers(their_one, their_other));
        counts.add(verdict);
        if verdict == Verdict::Reversed {
            reversed.push(if order == Ordering::Greater { (one, other) } else { (other, one) });
        }
    }
    let ratio = |(more, less): &(&Ours, &Ours)| more.1.median / less.1.median;
    reversed.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    let theirs: Vec<_> = both.iter().map(|(one, iops)| (one.0.policy, *iops)).collect();
    Some(Compared {
        source,
        counts,
        theirs: orders::chain(
            &theirs,
            |iops| *iops,
            |one, other| orders::compare_numbers(*one, *other),
        ),
        reversed,
        lacking: both.len() < ours.len(),
    })
}

/// Returns an entry of a list: the order here, the published order, and the reasons.
fn cell(lab: &Lab, place: &CellPlace, ours: &[Ours], compared: &[Compared]) -> String {
    let name = test(&place.workload);
    let [_, _, ..] = ours else { return format!("- **{name}**: no two policies have a result.\n") };
    let spreads: Vec<_> = ours.iter().map(|(side, spread)| (side.policy, *spread)).collect();
    let chain = orders::chain(&spreads, |spread| spread.median, orders::of_seeds);
    let mut text = format!("- **{name}**: here {chain}.\n");
    for Compared { source, theirs, lacking, .. } in compared {
        let others = if *lacking { " (no other policy is published)" } else { "" };
        let _ = writeln!(text, "  - {source}: {theirs}{others}.");
    }
    for compared in compared.iter().filter(|compared| !compared.reversed.is_empty()) {
        let pair = |(more, less): &(&Ours, &Ours)| format!("{} > {}", more.0.policy, less.0.policy);
        let pairs = compared.reversed.iter().map(pair).join(", ");
        let source = compared.source;
        let _ = writeln!(text, "  - Here {pairs}, and the opposite in {source}.");
    }
    for reason in reasons(lab, place, ours, compared) {
        let _ = writeln!(text, "  - {reason}");
    }
    text
}

/// Returns the reasons for the best against the worst, and for the reversed pair that differs most
/// here.
fn reasons(lab: &Lab, place: &CellPlace, ours: &[Ours], compared: &[Compared]) -> Vec<String> {
    let sides: Vec<Side> = ours.iter().map(|(side, _)| side.clone()).collect();
    let median = |one: &&Ours, other: &&Ours| one.1.median.total_cmp(&other.1.median);
    let differ = |one: &Ours, other: &Ours| orders::of_seeds(&one.1, &other.1) == Ordering::Greater;
    let (Some(best), Some(worst)) = (ours.iter().max_by(median), ours.iter().min_by(median)) else {
        return Vec::new();
    };
    if !differ(best, worst) {
        let any = ours.iter().any(|one| ours.iter().any(|other| differ(one, other)));
        return if any { vec![causes::NONE.to_owned()] } else { vec![causes::why_none(&sides)] };
    }
    let mut reasons = vec![causes::why(lab, place, &best.0, &worst.0)];
    let farthest = compared.iter().filter_map(|compared| compared.reversed.first());
    reasons.extend(farthest.map(|(more, less)| causes::why(lab, place, &more.0, &less.0)));
    reasons.into_iter().unique().collect()
}
