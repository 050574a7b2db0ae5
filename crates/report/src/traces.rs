//! Reads traces of trials so that they can be compared: with the same addresses in the same rows.

use std::path::{Path, PathBuf};

use disklab_protocol::closing::Closing;
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_record::{Outcome, Record};
use disklab_trace::timeline::Shape;
use disklab_trace::{PACKED, PLAIN, Survey, Timeline, TracePhase};
use disklab_units::prose::digits;

use crate::addresses::{self, Outside, Places, Reach};
use crate::disks;
use crate::watched::{Detail, WatchedTrial};

/// Number of time bins; pixels of all disks' addresses together; least and most pixels of each
/// disk.
const BINS: usize = 180;
const COLUMNS: usize = 330;
const ROWS: (usize, usize, usize) = (300, 50, 120);

/// A trace after its first pass.
pub struct Surveyed {
    pub label: String,
    path: PathBuf,
    names: Vec<String>,
    survey: Survey,
    /// Places of the requests, by disk.
    places: Vec<Places>,
    /// Addresses that each disk's picture covers.
    frames: Vec<Reach>,
    phase: TracePhase,
    /// Length of the whole phase, as far as it is known.
    length: u64,
}

/// Returns the time from the begin of the phase of this name to its end, or to the end of the last
/// phase if there are several.
fn span(closing: &Closing, name: &str) -> Option<u64> {
    let last = if name == MEASURED_PHASE { closing.phase(name) } else { closing.phases.last() };
    Some(last?.end.0.saturating_sub(closing.phase(name)?.begin.0))
}

impl Surveyed {
    /// Makes the first pass over the trace of a trial. An error gives the reason why there is none
    /// to show.
    pub fn new(label: &str, record: &Record, outcome: &Outcome) -> Result<Self, String> {
        let Some(raw) = record.raw(outcome) else {
            return Err(match record.manifest().imported {
                Some(_) => "its results were imported, and have none".to_owned(),
                None => "it left no raw output".to_owned(),
            });
        };
        // The closing record is complete even if the trace is truncated.
        let closing = disks::closing(record, outcome);
        let path =
            disklab_trace::find(&raw).ok_or_else(|| missing(&raw, outcome, closing.as_ref()))?;
        let (mut places, mut measuring) = (Vec::new(), false);
        let entries = disklab_trace::open(&path).map_err(|error| error.to_string())?;
        let survey = Survey::read(entries.inspect(|entry| {
            if let Ok(entry) = entry {
                addresses::watch(&mut places, &mut measuring, entry);
            }
        }));
        let phase = match (survey.measure(), &survey.error) {
            (Some(phase), _) => phase,
            (None, Some(error)) => {
                return Err(format!("its trace is cut off before the measured phase: {error}"));
            }
            (None, None) => return Err("its trace has no measured phase".to_owned()),
        };
        let sample = disks::sample(record, outcome);
        let devices = sample.as_ref().map_or(&[][..], |sample| &sample.devices);
        let name = |index: usize| {
            let device = devices.get(index);
            device.map_or_else(|| format!("disk {}", index + 1), disks::name)
        };
        let told = phase.end - phase.begin;
        let whole = closing.and_then(|closing| span(&closing, &phase.name));
        Ok(Self {
            label: label.to_owned(),
            path,
            names: (0..survey.disks.len()).map(name).collect(),
            length: if phase.cut { whole.unwrap_or(told).max(told) } else { told },
            frames: Vec::new(),
            places,
            survey,
            phase,
        })
    }

    /// Returns a sentence if the trace ends before its phase does.
    pub fn cut(&self) -> Option<String> {
        let seconds = |ns: u64| digits(ns as f64 / 1e9);
        let (label, traced) = (&self.label, self.phase.end - self.phase.begin);
        let is_longer = self.length > traced;
        let of = if is_longer { format!(" of {} s", seconds(self.length)) } else { String::new() };
        let why = self.survey.error.as_deref().unwrap_or("the end of the phase is not in it");
        let traced = seconds(traced);
        self.phase.cut.then(|| {
            format!("{label}: its trace is drawn as far as it goes, {traced} s{of}: {why}")
        })
    }

    /// Returns the phases of the measurement, in s from its begin. The list is empty if the
    /// measurement has no phases of its own.
    fn phases(&self) -> Vec<(String, f64, f64)> {
        let all = &self.survey.phases;
        if all.iter().any(|phase| phase.name == MEASURED_PHASE) {
            return Vec::new();
        }
        let at = |moment: u64| moment.saturating_sub(self.phase.begin) as f64 / 1e9;
        all.iter().map(|phase| (phase.name.clone(), at(phase.begin), at(phase.end))).collect()
    }

    /// Makes the second pass, over the frames that [`share_addresses`] has set.
    pub fn drawn(&self, detail: Detail) -> Result<WatchedTrial, String> {
        let (all, least, most) = ROWS;
        let rows = (all / self.survey.disks.len().max(1)).clamp(least, most);
        let times = if detail == Detail::Fine { 2 } else { 1 };
        let shape = Shape { bins: BINS, columns: COLUMNS * times, rows: rows * times };
        let entries = disklab_trace::open(&self.path).map_err(|error| error.to_string())?;
        let mut outside: Vec<Outside> = self.frames.iter().map(|_| Outside::default()).collect();
        let mut place = 0;
        let entries = entries.inspect(|entry| {
            if let Ok(entry) = entry {
                addresses::find(&mut outside, &self.frames, &self.phase, place, entry);
            }
            place += 1;
        });
        // Its rows cover the frames.
        let mut framed = self.survey.clone();
        for (disk, frame) in framed.disks.iter_mut().zip(&self.frames) {
            disk.touched = Some(*frame);
        }
        let mut line = Timeline::read(entries, &framed, &self.phase, shape)
            .map_err(|error| error.to_string())?;
        let time = line.bins;
        let beyond = line
            .disks
            .iter_mut()
            .zip(outside)
            .map(|(disk, outside)| outside.taken_out(time, &mut disk.reads, &mut disk.writes))
            .collect();
        Ok(WatchedTrial {
            label: self.label.clone(),
            names: self.names.clone(),
            line,
            frames: self.frames.clone(),
            beyond,
            detail,
            cut: self.phase.cut,
            seconds: self.length as f64 / 1e9,
            phases: self.phases(),
        })
    }
}

/// Returns the reason why a trial has no trace. A recorded trace may have been removed.
fn missing(raw: &Path, outcome: &Outcome, closing: Option<&Closing>) -> String {
    let named = [PLAIN, PACKED].iter().any(|name| outcome.files.contains_key(*name));
    let recorded = named || closing.is_some_and(|closing| closing.trace_sha256.is_some());
    match (recorded, raw.is_dir()) {
        (_, false) => "its raw output is gone".to_owned(),
        (true, true) => "its trace is gone from its raw output".to_owned(),
        (false, true) => "no trace of it was recorded (run --no-trace)".to_owned(),
    }
}

/// Makes all of these trials show the addresses with nearly all of their requests, for each disk.
pub fn share_addresses(all: &mut [Surveyed]) {
    let disks = all.iter().map(|trial| trial.survey.disks.len()).max().unwrap_or(0);
    let mut frames: Vec<Reach> = Vec::new();
    for disk in 0..disks {
        let own = all.iter().filter_map(|trial| trial.survey.disks.get(disk)?.touched);
        let touched = own.reduce(|one, other| (one.0.min(other.0), one.1.max(other.1)));
        let mut places = Places::default();
        all.iter().filter_map(|trial| trial.places.get(disk)).for_each(|own| places.join(own));
        frames.push(places.frame(touched.unwrap_or_default()));
    }
    for trial in all.iter_mut() {
        trial.frames = frames[..trial.survey.disks.len()].to_vec();
    }
}
