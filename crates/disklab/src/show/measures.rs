//! Numbers that are not all of fio's, of imported results: a column for each name, a row for each cell.

use std::io::Write;

use disklab_collect::Spread;
use disklab_store::{Outcome, Status};
use serde::Serialize;

use super::merge::Group;
use crate::compare::answer;
use crate::exit::Failure;
use crate::screen::Screen;
use crate::table::{Side, Table};

/// Over the trials of a cell that are ok.
#[derive(Debug, Serialize)]
pub struct Measured {
    pub name: String,
    pub unit: String,
    #[serde(flatten)]
    pub spread: Spread,
}

/// By name.
pub fn over(outcomes: &[&Outcome]) -> Vec<Measured> {
    let ok = || outcomes.iter().filter(|outcome| outcome.status == Status::Ok);
    let mut names: Vec<(&String, &String)> =
        ok().flat_map(|outcome| &outcome.measures).map(|(name, measure)| (name, &measure.unit)).collect();
    names.sort_unstable();
    names.dedup_by(|(one, _), (other, _)| one == other);
    let spread = |(name, unit): (&String, &String)| {
        let values = ok().filter_map(|outcome| outcome.measures.get(name)).map(|measure| measure.value);
        Some(Measured { name: name.clone(), unit: unit.clone(), spread: Spread::of(values)? })
    };
    names.into_iter().filter_map(spread).collect()
}

/// Whether a group has these and nothing of fio's.
pub fn has_only(group: &Group) -> bool {
    group.cells.iter().all(|cell| cell.measured.is_none())
        && group.cells.iter().any(|cell| !cell.measures.is_empty())
}

pub fn print(group: &Group, labels: &[String], screen: &Screen, out: &mut dyn Write) -> Result<(), Failure> {
    let mut names: Vec<&str> = Vec::new();
    for measured in group.cells.iter().flat_map(|cell| &cell.measures) {
        if !names.contains(&measured.name.as_str()) {
            names.push(&measured.name);
        }
    }
    let axes = group.axes.join(", ");
    let columns: Vec<(&str, Side)> = std::iter::once((axes.as_str(), Side::Left))
        .chain(names.iter().map(|name| (*name, Side::Right)))
        .collect();
    let mut table = Table::new(&columns, screen.color);
    for (cell, label) in group.cells.iter().zip(labels) {
        let of = |name: &&str| {
            let found = cell.measures.iter().find(|measured| measured.name == *name);
            found.map_or_else(|| "-".to_owned(), |it| answer::value(it.spread.median, &it.unit))
        };
        table.row(std::iter::once(label.clone()).chain(names.iter().map(of)));
    }
    table.print(screen, "  ", out)
}
