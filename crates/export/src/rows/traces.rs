use disklab_record::Record;
use disklab_trace::TraceEntry;

use super::fields::{check_raw, ok};
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// Writes a row for each request of each disk and for each mark, in the order of their ends, of
/// trials that are ok and have a trace.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    for outcome in ok(record) {
        let Some(path) = record.raw(outcome).and_then(|raw| disklab_trace::find(&raw)) else {
            continue;
        };
        check_raw(record, outcome, &path)?;
        let damaged = |error: disklab_trace::Error| ExportError::Read {
            path: path.clone(),
            message: error.to_string(),
        };
        for entry in disklab_trace::open(&path).map_err(damaged)? {
            row(&outcome.trial, &entry.map_err(damaged)?, sink)?;
        }
    }
    Ok(())
}

fn row(trial: &str, entry: &TraceEntry, sink: &mut Sink) -> Result<(), ExportError> {
    const NONE: Field<'static> = Field::Nothing;
    let trial = Field::Text(trial);
    match entry {
        TraceEntry::Served(served) => {
            let place = [served.disk as u64, served.sector, served.sectors.into()];
            let [disk, sector, sectors] = place.map(Field::Unsigned);
            let times = [served.submitted, served.started, served.ended];
            let [submitted, started, ended] = times.map(Field::Unsigned);
            let (op, fua) = (Field::Text(disklab_trace::word(served.op)), Field::Truth(served.fua));
            sink.row(&[trial, disk, op, fua, sector, sectors, submitted, started, ended, NONE])
        }
        TraceEntry::Mark { at, text } => {
            let [op, text] = ["mark", text].map(Field::Text);
            let at = Field::Unsigned(*at);
            sink.row(&[trial, NONE, op, NONE, NONE, NONE, at, NONE, NONE, text])
        }
    }
}
