//! The beginning of a page: the number of cells in which each policy is best, and the best policies
//! of each cell.

use std::cmp::Ordering;

use disklab_results::Spread;
use disklab_units::prose::listed;
use itertools::Itertools;

use super::agreement::background;
use super::axes::CellPlace;
use super::merged::Merged;
use super::orders::{self, Counts, Verdict};
use super::words::{code, percent, table, test};

/// A policy's result in a cell.
struct Standing<'a> {
    policy: &'a str,
    /// Whether the policy has the greatest median, or ties with the one that has.
    best: bool,
    /// The median, as a share of the greatest one.
    share: f64,
}

/// Results of a policy over some cells: the number in which it is best, and its least share.
struct Score<'a> {
    policy: &'a str,
    best: usize,
    least_share: f64,
}

/// Returns sentences and two tables; `published` counts the pairs that have published numbers.
pub fn section(merged: &Merged, published: Counts) -> String {
    let policies = merged.plain_policies();
    let mut sentences = Vec::new();
    let mut head = vec!["policy".to_owned()];
    let mut rows: Vec<Vec<String>> = policies.iter().map(|policy| vec![code(policy)]).collect();
    for name in &merged.backgrounds {
        let places = merged.places().into_iter().filter(|place| place.background == *name);
        let cells: Vec<_> = places.filter_map(|place| standings(merged, &place)).collect();
        if cells.is_empty() {
            continue;
        }
        let scores: Vec<_> = policies.iter().filter_map(|policy| score(policy, &cells)).collect();
        sentences.push(most_often_best(name, &scores, cells.len()));
        head.push(format!("{}: best, of {}", background(name), cells.len()));
        head.push(format!("{}: least share of the best's IOPS, %", background(name)));
        for (policy, row) in policies.iter().zip(&mut rows) {
            let score = scores.iter().find(|score| score.policy == *policy);
            row.extend(score.map_or_else(
                || vec![String::new(); 2],
                |score| vec![score.best.to_string(), percent(score.least_share)],
            ));
        }
    }
    sentences.push(beside_published(published));
    format!(
        "{}\n\n{}The best policies of each cell are:\n\n{}\
         A policy is best in a cell if it has the most IOPS, or ties with the policy that has. Two \
         policies tie if their IOPS differ by less than {} %, or if the ranges of their seeds \
         overlap.\n\n",
        sentences.join(" "),
        table(&head, 1, &rows),
        best_of_cells(merged),
        100.0 * orders::TIE
    )
}

/// Compares the policies of a cell. Returns `None` if fewer than two have a result.
fn standings<'a>(merged: &'a Merged, place: &CellPlace) -> Option<Vec<Standing<'a>>> {
    let spread = |policy: &'a str| {
        let samples = merged.samples(place, policy);
        Some((policy, Spread::over(samples.iter().map(|(_, sample)| sample.iops))?))
    };
    let spreads: Vec<_> = merged.plain_policies().into_iter().filter_map(spread).collect();
    let [_, _, ..] = spreads.as_slice() else { return None };
    let (_, top) =
        *spreads.iter().max_by(|(_, one), (_, other)| one.median.total_cmp(&other.median))?;
    let standing = |(policy, spread): &(&'a str, Spread)| Standing {
        policy,
        best: orders::of_seeds(spread, &top) == Ordering::Equal,
        share: spread.median / top.median,
    };
    Some(spreads.iter().map(standing).collect())
}

/// Sums up a policy's cells. Returns `None` if it has a result in none.
fn score<'a>(policy: &'a str, cells: &[Vec<Standing>]) -> Option<Score<'a>> {
    let own = || cells.iter().flatten().filter(|standing| standing.policy == policy);
    let least_share = own().map(|standing| standing.share).reduce(f64::min)?;
    Some(Score { policy, best: own().filter(|standing| standing.best).count(), least_share })
}

fn most_often_best(name: &str, scores: &[Score], cells: usize) -> String {
    let most = scores.iter().map(|score| score.best).max().unwrap_or(0);
    let names: Vec<_> =
        scores.iter().filter(|score| score.best == most).map(|score| code(score.policy)).collect();
    let place =
        if name == "none" { "Without a background" } else { &format!("Beside {}", code(name)) };
    let verb = if names.len() == 1 { "is" } else { "are each" };
    let often = if most == cells { format!("all {cells}") } else { format!("{most} of {cells}") };
    format!("{place}, {} {verb} best in {often} cells.", listed(&names))
}

fn beside_published(published: Counts) -> String {
    let all: usize = published.0.iter().sum();
    if all == 0 {
        return "No cell of these records has been published.".to_owned();
    }
    format!(
        "{all} pairs of policies have published numbers: {} have the same order here, {} have the \
         opposite order, and the others tie here or there.",
        published.with(Verdict::Agreed),
        published.with(Verdict::Reversed)
    )
}

/// Returns a table of the best policies: a row for each array, background and number of jobs.
fn best_of_cells(merged: &Merged) -> String {
    let mut head = ["array", "background", "jobs"].map(str::to_owned).to_vec();
    head.extend(merged.workloads.iter().map(|workload| test(workload)));
    let best = |place: &CellPlace| {
        let Some(cell) = standings(merged, place) else { return String::new() };
        if cell.iter().all(|standing| standing.best) {
            return "all".to_owned();
        }
        cell.iter().filter(|standing| standing.best).map(|standing| standing.policy).join(", ")
    };
    let row = |places: &Vec<CellPlace>| {
        let first = places.first()?;
        let mut row = vec![first.array.clone(), first.background.clone(), first.jobs.to_string()];
        row.extend(merged.workloads.iter().map(|workload| {
            let place = places.iter().find(|place| place.workload == *workload);
            place.map_or_else(String::new, best)
        }));
        Some(row)
    };
    let rows: Vec<_> = merged.groups().iter().filter_map(row).collect();
    table(&head, head.len(), &rows)
}
