//! The tables in the form of the published ones, for comparison.

use disklab_results::Spread;
use disklab_units::prose::digits;

use super::axes::CellPlace;
use super::kind::Kind;
use super::merged::Merged;
use super::published::{Published, Row};
use super::words::{range, test};

pub const BROKEN: &str = "†";

/// Returns the table of one array, background and number of jobs: a row for each test and policy.
pub fn table(kind: &Kind, merged: &Merged, published: &Published, places: &[CellPlace]) -> String {
    let policies = merged.plain_policies();
    let sources = published.sources_of(places, &policies);
    let mut head = vec!["test".to_owned(), "policy".to_owned()];
    head.extend(kind.columns.iter().map(|column| column.head.to_owned()));
    for source in &sources {
        head.extend(kind.columns.iter().map(|column| format!("{source}: {}", column.head)));
    }
    let mut rows = Vec::new();
    for place in places {
        let ours: Vec<_> =
            policies.iter().map(|policy| our_cells(kind, merged, place, policy)).collect();
        let mut blocks = vec![bold(kind, ours)];
        for source in &sources {
            let of = |policy: &&str| their_cells(kind, published.find(source, place, policy));
            blocks.push(bold(kind, policies.iter().map(of).collect()));
        }
        for (at, policy) in policies.iter().enumerate() {
            let mut row = vec![test(&place.workload), (*policy).to_owned()];
            row.extend(blocks.iter().flat_map(|block| block[at].clone()));
            rows.push(row);
        }
    }
    super::words::table(&head, 2, &rows)
}

/// A field of a table.
struct Shown {
    /// Value for comparison, or `None` if it is not compared.
    value: Option<f64>,
    /// The number as text, which may be bold, and the text after it.
    number: String,
    rest: String,
}

impl Shown {
    fn text(text: &str) -> Self {
        Self { value: None, number: String::new(), rest: text.to_owned() }
    }
}

fn our_cells(kind: &Kind, merged: &Merged, place: &CellPlace, policy: &str) -> Vec<Shown> {
    let samples = merged.samples(place, policy);
    let cell = |(at, column): (usize, &super::kind::ResultColumn)| {
        if samples.is_empty() {
            return Shown::text(if at == 0 { marked(merged, place, policy) } else { "" });
        }
        // If one seed lacks a number, the median would be that of the other seeds.
        let values: Option<Vec<f64>> =
            samples.iter().map(|(_, sample)| (column.ours)(sample)).collect();
        let Some(spread) = values.and_then(Spread::over) else { return Shown::text("-") };
        Shown { value: Some(spread.median), number: digits(spread.median), rest: range(&spread) }
    };
    kind.columns.iter().enumerate().map(cell).collect()
}

/// Returns the reason why a cell has no numbers.
fn marked(merged: &Merged, place: &CellPlace, policy: &str) -> &'static str {
    let trials = merged.trials(place, policy);
    if trials.iter().all(|trial| trial.outcome.is_none()) { "no trial" } else { "no result" }
}

fn their_cells(kind: &Kind, row: Option<&Row>) -> Vec<Shown> {
    let Some(row) = row else { return kind.columns.iter().map(|_| Shown::text("")).collect() };
    let broken = row.breaks_littles_law();
    let cell = |((column, value), text): ((&super::kind::ResultColumn, &Option<f64>), &String)| {
        let Some(value) = *value else { return Shown::text("-") };
        let doubted = broken && column.is.latency();
        let rest = if doubted { BROKEN } else { "" }.to_owned();
        Shown { value: (!doubted).then_some(value), number: text.clone(), rest }
    };
    kind.columns.iter().zip(&row.values).zip(&row.texts).map(cell).collect()
}

/// Makes the best of each column bold, unless all are equally good.
fn bold(kind: &Kind, rows: Vec<Vec<Shown>>) -> Vec<Vec<String>> {
    let best: Vec<Option<String>> = kind
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let compared =
                || rows.iter().map(move |row| &row[at]).filter(|cell| cell.value.is_some());
            let first = compared().reduce(|best, cell| {
                let better = if column.is.latency() {
                    cell.value < best.value
                } else {
                    cell.value > best.value
                };
                if better { cell } else { best }
            })?;
            let differ = compared().any(|cell| cell.number != first.number);
            differ.then(|| first.number.clone())
        })
        .collect();
    let cell = |(cell, best): (Shown, &Option<String>)| {
        if cell.value.is_some() && best.as_ref() == Some(&cell.number) {
            format!("**{}**{}", cell.number, cell.rest)
        } else {
            format!("{}{}", cell.number, cell.rest)
        }
    };
    rows.into_iter().map(|row| row.into_iter().zip(&best).map(cell).collect()).collect()
}
