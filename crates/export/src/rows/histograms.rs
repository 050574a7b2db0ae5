use std::fs;
use std::io;

use disklab_protocol::names;
use disklab_record::{Outcome, Record};
use disklab_results::Histogram;
use disklab_results::fio::{self, Direction};

use super::ok;
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// A row for each bucket of fio's in which a trial that is ok has requests.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    ok(record).try_for_each(|outcome| trial(record, outcome, sink))
}

fn trial(record: &Record, outcome: &Outcome, sink: &mut Sink) -> Result<(), ExportError> {
    let Some(path) = record.raw(outcome).map(|raw| raw.join(names::FIO)) else { return Ok(()) };
    let bytes = match fs::read(&path) {
        Ok(bytes) => bytes,
        // Not every trial is fio's.
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
        for (name, direction) in directions {
            rows(&outcome.trial, &job.name, name, direction, sink)?;
        }
    }
    Ok(())
}

fn rows(
    trial: &str,
    job: &str,
    name: &str,
    direction: &Direction,
    sink: &mut Sink,
) -> Result<(), ExportError> {
    for (kind, latency) in
        [("slat", &direction.slat), ("clat", &direction.clat), ("lat", &direction.lat)]
    {
        for (ns, requests) in latency.histogram.iter().flat_map(Histogram::bins) {
            sink.row(&[
                Field::Text(trial),
                Field::Text(job),
                Field::Text(name),
                Field::Text(kind),
                Field::Unsigned(*ns),
                Field::Unsigned(*requests),
            ])?;
        }
    }
    Ok(())
}
