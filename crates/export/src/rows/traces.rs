use disklab_record::Record;
use disklab_trace::{Served, TraceEntry};

use super::ok;
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// A row for each request of each disk and for each mark, in the order of their ends, of trials
/// that are ok and have a trace.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    for outcome in ok(record) {
        let Some(path) = record.raw(outcome).and_then(|raw| disklab_trace::find(&raw)) else {
            continue;
        };
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
    const NOTHING: Field<'static> = Field::Nothing;
    match entry {
        TraceEntry::Served(Served {
            disk,
            op,
            fua,
            sector,
            sectors,
            submitted,
            started,
            ended,
        }) => sink.row(&[
            Field::Text(trial),
            Field::Unsigned(*disk as u64),
            Field::Text(disklab_trace::word(*op)),
            Field::Truth(*fua),
            Field::Unsigned(*sector),
            Field::Unsigned((*sectors).into()),
            Field::Unsigned(*submitted),
            Field::Unsigned(*started),
            Field::Unsigned(*ended),
            NOTHING,
        ]),
        TraceEntry::Mark { at, text } => {
            let [time, text] = [Field::Unsigned(*at), Field::Text(text)];
            let op = Field::Text("mark");
            sink.row(&[
                Field::Text(trial),
                NOTHING,
                op,
                NOTHING,
                NOTHING,
                NOTHING,
                time,
                NOTHING,
                NOTHING,
                text,
            ])
        }
    }
}
