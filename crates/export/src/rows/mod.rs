//! What a record has of each table.

pub mod histograms;
pub mod metrics;
pub mod traces;
pub mod trials;

use disklab_record::{Outcome, Record, Status};

use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::{self, AXES, Field, Table};

/// What fills a table.
pub type Fill = fn(&Record, &mut Sink) -> Result<(), ExportError>;

/// All tables, in the order in which they are written.
pub const ALL: [(Table, Fill); 4] = [
    (table::TRIALS, trials::write),
    (table::METRICS, metrics::write),
    (table::HISTOGRAMS, histograms::write),
    (table::TRACES, traces::write),
];

/// The trials that have run or were left out, in the order of the manifest.
fn outcomes(record: &Record) -> impl Iterator<Item = &Outcome> {
    record.outcomes().into_iter().filter_map(|(_, outcome)| outcome)
}

/// The trials that are ok.
fn ok(record: &Record) -> impl Iterator<Item = &Outcome> {
    outcomes(record).filter(|outcome| outcome.status == Status::Ok)
}

/// What tells a trial apart, as the first columns of a table have it.
fn identity<'a>(outcome: &'a Outcome, parameters: Option<&'a str>) -> Vec<Field<'a>> {
    let mut fields = vec![Field::Text(&outcome.trial), text(outcome.key.as_deref())];
    fields.extend(AXES.map(|axis| text(outcome.cell.value(axis))));
    fields.extend([text(parameters), Field::Unsigned(outcome.seed_index.into())]);
    fields
}

/// A text, or nothing.
fn text(text: Option<&str>) -> Field<'_> {
    text.map_or(Field::Nothing, Field::Text)
}

/// The values of the axes without a column as a JSON object, in the suite's order; nothing where there are none.
fn parameters(outcome: &Outcome) -> Option<String> {
    let others = outcome.cell.0.iter().filter(|(axis, _)| !AXES.contains(&axis.as_str()));
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let pairs: Vec<String> =
        others.map(|(axis, value)| format!("{}:{}", quoted(axis), quoted(value))).collect();
    (!pairs.is_empty()).then(|| format!("{{{}}}", pairs.join(",")))
}
