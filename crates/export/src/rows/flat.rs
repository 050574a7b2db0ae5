use std::borrow::Cow;
use std::collections::HashMap;

use disklab_record::{Outcome, Record};
use indexmap::IndexMap;

use super::fields::{outcomes, text};
use super::metrics::{Metric, each};
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::{Column, Field, Kind, Table};

/// Name of the table.
pub const NAME: &str = "flat";

/// The first columns, before those of the axes.
const FIRST: [(&str, Kind); 2] = [("trial", Kind::Text), ("key", Kind::Text)];

/// The columns between axes and numbers.
const MIDDLE: [(&str, Kind); 7] = [
    ("seed_index", Kind::Unsigned),
    ("seed", Kind::Unsigned),
    ("status", Kind::Text),
    ("reason", Kind::Text),
    ("sound", Kind::Truth),
    ("virtual_ns", Kind::Unsigned),
    ("wall_ms", Kind::Unsigned),
];

/// The value of a number.
enum FlatValue {
    Text(String),
    Real(f64),
    Truth(bool),
}

/// Returns the record's columns: each axis, and each number of any of its trials with its unit.
pub fn table(record: &Record) -> Table {
    let mut columns: IndexMap<String, Kind> = IndexMap::new();
    let mut add = |name: &str, kind| _ = columns.entry(name.to_owned()).or_insert(kind);
    for (name, kind) in FIRST {
        add(name, kind);
    }
    for outcome in outcomes(record) {
        for (axis, _) in &outcome.cell.0 {
            add(&axis_column(axis), Kind::Text);
        }
    }
    for (name, kind) in MIDDLE {
        add(name, kind);
    }
    for outcome in outcomes(record) {
        for (name, value) in numbers(outcome) {
            let kind = match value {
                FlatValue::Text(_) => Kind::Text,
                FlatValue::Real(_) => Kind::Real,
                FlatValue::Truth(_) => Kind::Truth,
            };
            add(&name, kind);
        }
    }
    let columns = columns.into_iter().map(|(name, kind)| Column { name: Cow::Owned(name), kind });
    Table { name: NAME, columns: columns.collect() }
}

/// Writes a row for each trial that has run or was left out, in the order of the manifest.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    let table = table(record);
    for outcome in outcomes(record) {
        let numbers: HashMap<String, FlatValue> = numbers(outcome).into_iter().collect();
        let axes: HashMap<String, &str> = outcome
            .cell
            .0
            .iter()
            .map(|(axis, value)| (axis_column(axis), value.as_str()))
            .collect();
        let status = outcome.status.to_string();
        let field = |column: &Column| match column.name.as_ref() {
            "trial" => Field::Text(&outcome.trial),
            "key" => text(outcome.key.as_deref()),
            "seed_index" => Field::Unsigned(outcome.seed_index.into()),
            "seed" => Field::Unsigned(outcome.seed.0),
            "status" => Field::Text(&status),
            "reason" => text(outcome.reason.as_deref()),
            "sound" => Field::Truth(outcome.is_sound()),
            "virtual_ns" => {
                outcome.virtual_ns.map_or(Field::Nothing, |time| Field::Unsigned(time.0))
            }
            "wall_ms" => Field::Unsigned(outcome.wall_ms),
            name => match (axes.get(name), numbers.get(name)) {
                (Some(value), _) => Field::Text(value),
                (None, Some(FlatValue::Text(value))) => Field::Text(value),
                (None, Some(FlatValue::Real(value))) => Field::Real(*value),
                (None, Some(FlatValue::Truth(value))) => Field::Truth(*value),
                (None, None) => Field::Nothing,
            },
        };
        sink.row(&table.columns.iter().map(field).collect::<Vec<_>>())?;
    }
    Ok(())
}

/// Returns the name of an axis's column: its own name, unless every record has a column of this
/// name.
fn axis_column(axis: &str) -> String {
    let is_taken = FIRST.iter().chain(&MIDDLE).any(|(name, _)| *name == axis);
    if is_taken { format!("axis {axis}") } else { axis.to_owned() }
}

/// Returns the numbers of a trial, each with the name of its column: `p99_ns [ns]`, `vda reads`.
fn numbers(outcome: &Outcome) -> Vec<(String, FlatValue)> {
    let mut all = Vec::new();
    let collected = each(outcome, |metric| {
        let Metric { disk, device, name, unit, value, censored, of, .. } = *metric;
        let whose = disk.map_or_else(String::new, |disk| format!("{disk} "));
        if let (Some(disk), Some(device)) = (disk, device) {
            all.push((format!("{disk} device"), FlatValue::Text(device.to_owned())));
        }
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        all.push((format!("{whose}{name}{unit}"), FlatValue::Real(value)));
        if censored {
            all.push((format!("{whose}{name} censored"), FlatValue::Truth(true)));
        }
        if let Some(of) = of {
            all.push((format!("{whose}{name} of"), FlatValue::Real(of)));
        }
        Ok(())
    });
    // The closure never fails.
    debug_assert!(collected.is_ok());
    all
}
