//! Trials in the fast model: no guest, no filesystem, and raw files of the same form.

use super::executor::{Event, Events, Executor, Summary};
use super::fio_report::FioReport;
use super::share::share;
use super::tally::{Tally, interrupted, note};
use crate::error::{Error, Result};
use crate::estimate;
use crate::interpret::end::End;
use crate::interpret::evidence::Who;
use crate::interpret::outcome::{outcome, results};
use disklab_config::Trial;
use disklab_disks::{Bank, Completion, Request};
use disklab_guest::meter::Meter;
use disklab_guest::order::Arrival;
use disklab_model::Observer;
use disklab_protocol::mark::MEASURED_PHASE;
use disklab_protocol::{Closing, names};
use disklab_record::{Outcome, RecordWriter};
use disklab_trace::Served;
use disklab_units::Nanos;
use serde_json::Value;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A trial takes roughly this many times longer in a kernel.
const FASTER: u32 = 30;

/// The settings of a run in the model.
#[derive(Debug, Clone)]
pub struct Model {
    /// Number of trials at a time. Results do not depend on it.
    pub jobs: usize,
    /// Time after which no trial begins.
    pub deadline: Option<Instant>,
    /// Flag that ends the run, set by a signal handler for example.
    pub stop: &'static AtomicBool,
}

impl Executor for Model {
    fn run_trials(
        &self,
        trials: &[Trial],
        writer: &RecordWriter,
        events: Events,
    ) -> Result<Summary> {
        let tally = Tally::new(events);
        let possible = tally.possible(trials, writer, &disklab_model::obstacle)?;
        share(self.jobs, possible.len(), &|index| {
            let trial = possible[index];
            if self.stop.load(Ordering::Relaxed) {
                tally.ended(&note(writer, interrupted(trial))?);
            } else if !self.is_over(index) {
                events(Event::Began { trial });
                let raw = writer.begin(&trial.id)?;
                let outcome = self.one(trial, raw.path())?;
                tally.ended(&writer.finish(raw, outcome)?);
            }
            Ok(())
        })?;
        Ok(tally.summary())
    }

    fn stop(&self) -> &'static AtomicBool {
        self.stop
    }

    fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    fn jobs(&self) -> usize {
        self.jobs
    }

    fn wall(&self, trial: &Trial) -> Duration {
        estimate::wall(trial) / FASTER
    }

    fn preparing(&self, _: &Trial) -> Duration {
        Duration::ZERO
    }
}

impl Model {
    fn one(&self, trial: &Trial, folder: &Path) -> Result<Outcome> {
        let started = Instant::now();
        run_model(trial, folder)?;
        let end = End::Exited(ExitStatus::default());
        let results = results(trial, folder, &end, Who::Guest);
        let virtual_ns = results.as_ref().ok().map(|results| results.closing.virtual_ns);
        let mut outcome = outcome(trial, folder, &end, results, self.stop);
        outcome.virtual_ns = virtual_ns;
        outcome.wall_ms = started.elapsed().as_millis().try_into().unwrap_or(u64::MAX);
        Ok(outcome)
    }
}

/// Runs a trial without [`disklab_model::obstacle`], and writes the files that a guest would write:
/// fio's report, the closing record, and the last of the steps.
fn run_model(trial: &Trial, folder: &Path) -> Result<()> {
    let mut start = Nanos::ZERO;
    let mut reads = Vec::new();
    let begin = |now, bank: &Bank| {
        start = now;
        ModelMeter::new(bank, trial.ramp)
    };
    let Some((now, bank, mut seen)) = disklab_model::run(trial, begin, |read| reads.push(read))
    else {
        return Ok(());
    };
    seen.meter.end(&counters(&bank), std::iter::empty());
    let disks = trial.devices.iter().take(bank.counters().count());
    let closing = Closing {
        virtual_ns: now,
        requests: seen.requests,
        devices: disks.map(|disk| disk.name.clone()).collect(),
        phases: seen.meter.phases().to_vec(),
        trace_sha256: None,
        power_cuts: Vec::new(),
    };
    let report = FioReport::new(&trial.workload.name, &reads, start + trial.ramp);
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(Error::io("write", &path))
    };
    write(names::FIO, report.text())?;
    write(names::STEPS, "{\"step\":\"finished\"}\n".to_owned())?;
    let path = folder.join(names::CLOSING);
    closing.write(folder, None).map_err(Error::io("write", &path))
}

/// Counts requests as a guest's disk library does.
struct ModelMeter {
    meter: Meter,
    requests: u64,
}

impl ModelMeter {
    fn new(bank: &Bank, ramp: Nanos) -> Self {
        let disks = 0..bank.counters().count();
        let mut meter = Meter::new(disks.map(disklab_config::places::disk_name).collect());
        meter.announce(MEASURED_PHASE.to_owned(), ramp.0);
        Self { meter, requests: 0 }
    }
}

impl Observer for ModelMeter {
    fn arrived(&mut self, now: Nanos, disk: usize, request: &Request, bank: &Bank) {
        let &Request { id: tag, op, sector, sectors, fua } = request;
        let arrival = Arrival { disk, tag, op, fua, sector, sectors };
        self.meter.arrived(&arrival, now.0, || counters(bank));
    }

    fn ended(
        &mut self,
        disk: usize,
        request: &Request,
        submitted: Nanos,
        done: &Completion,
        bank: &Bank,
    ) {
        let &Request { op, sector, sectors, fua, .. } = request;
        let (submitted, started, ended) = (submitted.0, done.started.0, done.at.0);
        let served = Served { disk, op, fua, sector, sectors, submitted, started, ended };
        self.meter.ended(&served, || counters(bank));
        self.requests += 1;
    }
}

fn counters(bank: &Bank) -> Vec<Value> {
    bank.counters().map(|counters| serde_json::to_value(counters).unwrap_or_default()).collect()
}
