use std::io;

use disklab_protocol::names;
use disklab_record::{Outcome, Record};
use disklab_results::Histogram;
use disklab_results::fio::{self, Direction};

use super::fields::{check_raw, ok};
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// Writes a row for each bucket of fio's histograms in which a trial that is ok has requests.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    ok(record).try_for_each(|outcome| trial(record, outcome, sink))
}

fn trial(record: &Record, outcome: &Outcome, sink: &mut Sink) -> Result<(), ExportError> {
    let Some(path) = record.raw(outcome).map(|raw| raw.join(names::FIO)) else { return Ok(()) };
    check_raw(record, outcome, &path)?;
    let bytes = match disklab_files::read(&path, &disklab_files::RAW) {
        Ok(bytes) => bytes,
        // Trials that did not run fio have no such report.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(source) => return Err(ExportError::Io { doing: "read", path, source }),
    };
    let report = fio::parse(&bytes)
        .map_err(|error| ExportError::Read { path, message: error.to_string() })?;
    for job in &report.jobs {
        let directions = [
            ("read", &job.read),
            ("write", &job.write),
            ("trim", &job.trim),
            ("mixed", &job.mixed),
        ];
        for (direction, Direction { slat, clat, lat, .. }) in directions {
            for (kind, latency) in [("slat", slat), ("clat", clat), ("lat", lat)] {
                let named = [outcome.trial.as_str(), &job.name, direction, kind];
                let [trial, job, direction, kind] = named.map(Field::Text);
                for (ns, requests) in latency.histogram.iter().flat_map(Histogram::bins) {
                    let [ns, requests] = [*ns, *requests].map(Field::Unsigned);
                    sink.row(&[trial, job, direction, kind, ns, requests])?;
                }
            }
        }
    }
    Ok(())
}
