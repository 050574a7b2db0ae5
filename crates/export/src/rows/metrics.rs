use disklab_record::{Outcome, Record};
use disklab_results::measure::Better;
use serde_json::Value;

use super::fields::{identity, outcomes, parameters, text};
use crate::error::ExportError;
use crate::sink::Sink;
use crate::table::Field;

/// Key of the disks in a sample.
const DEVICES: &str = "devices";

/// Writes a row for each number of a trial's line: of the sample, of its disks, and of its
/// measures.
pub fn write(record: &Record, sink: &mut Sink) -> Result<(), ExportError> {
    outcomes(record).try_for_each(|outcome| trial(outcome, sink))
}

/// A number, its name and unit, and the disk that it belongs to, if any.
#[derive(Clone, Copy, Default)]
pub struct Metric<'a> {
    pub disk: Option<&'a str>,
    pub device: Option<&'a str>,
    pub name: &'a str,
    pub unit: &'a str,
    better: Option<&'a str>,
    pub value: f64,
    pub censored: bool,
    pub of: Option<f64>,
}

impl<'a> Metric<'a> {
    /// Returns a number of a sample, which is always one of the whole trial.
    fn of_sample(name: &'a str, value: f64) -> Self {
        Self { name, unit: unit(name), value, ..Self::default() }
    }
}

fn trial(outcome: &Outcome, sink: &mut Sink) -> Result<(), ExportError> {
    let parameters = parameters(outcome);
    let mut fields = identity(outcome, parameters.as_deref());
    fields.push(Field::Truth(outcome.is_sound()));
    each(outcome, |metric| {
        let own = [
            text(metric.disk),
            text(metric.device),
            Field::Text(metric.name),
            text(Some(metric.unit).filter(|unit| !unit.is_empty())),
            text(metric.better),
            Field::Real(metric.value),
            Field::Truth(metric.censored),
            metric.of.map_or(Field::Nothing, Field::Real),
        ];
        sink.row(&[fields.as_slice(), &own].concat())
    })
}

/// Calls `tell` with each number of a trial.
pub fn each(
    outcome: &Outcome,
    mut tell: impl FnMut(&Metric) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    // A sample consists of plain numbers. Each of its fields is a metric, by its own name.
    let sample = outcome.sample.as_ref().and_then(|sample| serde_json::to_value(sample).ok());
    let mut numbers = Vec::new();
    if let Some(Value::Object(mut sample)) = sample {
        let devices = sample.remove(DEVICES);
        flatten("", &Value::Object(sample), &mut numbers);
        for (name, value) in &numbers {
            tell(&Metric::of_sample(name, *value))?;
        }
        for device in devices.iter().filter_map(Value::as_array).flatten() {
            numbers.clear();
            flatten("", device, &mut numbers);
            let of = |key: &str| device.get(key).and_then(Value::as_str);
            for (name, value) in &numbers {
                let (disk, device) = (of("name"), of("device"));
                tell(&Metric { disk, device, ..Metric::of_sample(name, *value) })?;
            }
        }
    }
    for (name, measure) in &outcome.measures {
        let better = match measure.better {
            Better::Higher => "higher",
            Better::Lower => "lower",
        };
        tell(&Metric {
            unit: &measure.unit,
            better: Some(better),
            censored: measure.censored,
            of: measure.of,
            ..Metric::of_sample(name, measure.value)
        })?;
    }
    Ok(())
}

/// Collects the numbers of an object and of the objects in it, each by its path.
fn flatten(prefix: &str, value: &Value, numbers: &mut Vec<(String, f64)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&path, value, numbers);
            }
        }
        Value::Number(number) => {
            numbers.extend(number.as_f64().map(|number| (prefix.to_owned(), number)));
        }
        // Words have columns of their own, or name the latency of the percentiles.
        Value::Null | Value::Bool(_) | Value::String(_) | Value::Array(_) => {}
    }
}

fn unit(name: &str) -> &'static str {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last {
        "iops" => "1/s",
        "bw_bytes" => "bytes/s",
        _ if last.ends_with("_ns") => "ns",
        _ if last.ends_with("_bytes") => "bytes",
        _ => "",
    }
}
