//! Traces of trials, read so that those which are held against each other can be: with the same addresses in the same rows.

use std::fs;
use std::path::PathBuf;

use disklab_collect::closing;
use disklab_store::{Outcome, Record};
use disklab_trace::timeline::Shape;
use disklab_trace::{Phase, Survey, Timeline};
use disklab_units::prose::digits;

use crate::over_time::Watched;

/// Of time; and pixels of all disks' addresses together, and of each one's at least and at most.
const BINS: usize = 180;
const COLUMNS: usize = 320;
const ROWS: (usize, usize, usize) = (240, 28, 120);

/// A trace that was read once.
pub struct Surveyed {
    pub label: String,
    path: PathBuf,
    names: Vec<String>,
    survey: Survey,
    phase: Phase,
    /// Of the whole phase, as far as it is known.
    length: u64,
}

impl Surveyed {
    /// The first pass over the trace of a trial.
    pub fn of(label: &str, record: &Record, outcome: &Outcome) -> Result<Self, String> {
        let raw = record.raw(outcome).ok_or("it left no raw output")?;
        let path = disklab_trace::find(&raw)
            .ok_or("it has no trace of its requests (run --no-trace, or imported)")?;
        let survey = Survey::of(disklab_trace::open(&path).map_err(|error| error.to_string())?);
        let phase = match (survey.measure(), &survey.error) {
            (Some(phase), _) => phase.clone(),
            (None, Some(error)) => {
                return Err(format!("its trace is cut off before the measured phase: {error}"));
            }
            (None, None) => return Err("its trace has no measured phase".to_owned()),
        };
        let devices = outcome.sample.as_ref().map_or(&[][..], |sample| &sample.devices);
        let name = |index: usize| {
            let device = devices.get(index);
            device.map_or_else(|| format!("disk {}", index + 1), |device| device.name.clone())
        };
        let told = phase.end - phase.begin;
        // What was lost of a trace is not lost of the closing record.
        let closing = fs::read(raw.join("disks.json")).ok().and_then(|bytes| closing::parse(&bytes).ok());
        let whole = closing.and_then(|closing| Some(closing.phase(&phase.name)?.length().0));
        Ok(Self {
            label: label.to_owned(),
            path,
            names: (0..survey.disks.len()).map(name).collect(),
            length: if phase.cut { whole.unwrap_or(told).max(told) } else { told },
            survey,
            phase,
        })
    }

    /// A sentence, where the trace ends before its phase does.
    pub fn cut(&self) -> Option<String> {
        let seconds = |ns: u64| digits(ns as f64 / 1e9);
        let told = self.phase.end - self.phase.begin;
        let of = if self.length > told { format!(" of {} s", seconds(self.length)) } else { String::new() };
        let why = self.survey.error.as_deref().unwrap_or("the end of the phase is not in it");
        self.phase.cut.then(|| {
            format!("{}: its trace is drawn as far as it goes, {} s{of}: {why}", self.label, seconds(told))
        })
    }

    /// The second pass.
    pub fn drawn(&self) -> Result<Watched, String> {
        let (all, least, most) = ROWS;
        let rows = (all / self.survey.disks.len().max(1)).clamp(least, most);
        let shape = Shape { bins: BINS, columns: COLUMNS, rows };
        let entries = disklab_trace::open(&self.path).map_err(|error| error.to_string())?;
        let line =
            Timeline::of(entries, &self.survey, &self.phase, shape).map_err(|error| error.to_string())?;
        Ok(Watched {
            label: self.label.clone(),
            names: self.names.clone(),
            line,
            reach: self.survey.disks.iter().map(|disk| disk.touched.unwrap_or_default()).collect(),
            cut: self.phase.cut,
            seconds: self.length as f64 / 1e9,
        })
    }
}

/// Has each disk drawn over the addresses that any of these trials touched on it.
pub fn share_addresses(all: &mut [Surveyed]) {
    let disks = all.iter().map(|it| it.survey.disks.len()).max().unwrap_or(0);
    for disk in 0..disks {
        let own = all.iter().filter_map(|it| it.survey.disks.get(disk)?.touched);
        let common = own.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        for it in all.iter_mut().filter_map(|it| it.survey.disks.get_mut(disk)) {
            it.touched = common;
        }
    }
}
