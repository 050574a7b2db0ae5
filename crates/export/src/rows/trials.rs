use disklab_record::Record;

use super::fields::{identity, outcomes, parameters, text};
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// Writes a row for each trial that has run or was left out, in the order of the manifest.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    for outcome in outcomes(record) {
        let parameters = parameters(outcome);
        let status = outcome.status.to_string();
        let remarks = serde_json::to_string(&outcome.remarks).unwrap_or_default();
        let remarks = Some(remarks).filter(|_| !outcome.remarks.is_empty());
        let mut fields = identity(outcome, parameters.as_deref());
        fields.extend([
            Field::Unsigned(outcome.seed.0),
            Field::Text(&status),
            text(outcome.reason.as_deref()),
            text(remarks.as_deref()),
            Field::Truth(outcome.is_sound()),
            outcome.virtual_ns.map_or(Field::Nothing, |time| Field::Unsigned(time.0)),
            Field::Unsigned(outcome.wall_ms),
        ]);
        sink.row(&fields)?;
    }
    Ok(())
}
