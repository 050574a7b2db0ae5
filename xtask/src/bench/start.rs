//! Measures the time from the run of a trial to its first measured request, with a kernel and
//! prepared disks in the cache.

use super::figure::{Figure, median};
use super::guest::{BenchSetup, STOP};
use anyhow::Context;
use disklab_config::suite::Seeds;
use disklab_config::{Lab, Trial};
use disklab_record::manifest::{Manifest, Suite};
use disklab_record::{Outcome, Record, Status};
use disklab_runner::{Event, Events, Executor, Run, Timeouts};
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

const TURNS: usize = 7;

pub fn run(place: &BenchSetup) -> anyhow::Result<Vec<Figure>> {
    let trials = trials(place, "read-policy-quick")?;
    let hdd = trials
        .iter()
        .find(|trial| trial.id.starts_with("hdd-8-mixed"))
        .context("bench start: read-policy-quick has no trial on hdd-8-mixed")?;
    let mut seconds = Vec::new();
    for turn in 0..=TURNS {
        let start = Instant::now();
        let first = Mutex::new(None);
        run_trials(place, std::slice::from_ref(hdd), 1, &|event| {
            if let Event::Moved { measured: true, .. } = event {
                first
                    .lock()
                    .unwrap_or_else(std::sync::PoisonError::into_inner)
                    .get_or_insert_with(|| start.elapsed());
            }
        })?;
        let first: Option<Duration> =
            first.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        let first =
            first.context("bench start: the trial ended before its measurement was seen")?;
        // The first turn may prepare the disks.
        if turn > 0 {
            seconds.push(first.as_secs_f64());
        }
    }
    let seconds = median(&seconds);
    let what = "from run to the first measured request, hdd-8-mixed, s";
    Ok(vec![Figure::number(what, seconds, 2).at_most(seconds, 1.5, Some(0.8), " s")])
}

/// Returns a suite's trials, with one seed.
pub fn trials(place: &BenchSetup, suite: &str) -> anyhow::Result<Vec<Trial>> {
    let lab = Lab::load(&place.share.lab())?;
    let mut suite = lab.suite(suite)?;
    suite.set_seeds(Seeds::first_ones(1));
    Ok(suite.trials(&lab)?)
}

/// Runs trials in guests, into a record that is removed. Returns the outcomes, and the time.
pub fn run_trials(
    place: &BenchSetup,
    trials: &[Trial],
    jobs: usize,
    events: Events<'_>,
) -> anyhow::Result<Vec<Outcome>> {
    let kernels = trials.iter().map(|trial| (trial.kernel.clone(), place.kernel.clone())).collect();
    let (installation, cache) = (place.installation.clone(), place.cache.clone());
    let guests = Run {
        kernels,
        installation,
        cache,
        timeouts: Timeouts::default(),
        jobs,
        trace: true,
        deadline: None,
        stop: &STOP,
    };
    run_with(&guests, trials, events)
}

/// Runs trials with any executor.
pub fn run_with(
    executor: &impl Executor,
    trials: &[Trial],
    events: Events<'_>,
) -> anyhow::Result<Vec<Outcome>> {
    let folder = tempfile::tempdir()?;
    let ids = trials.iter().map(|trial| trial.id.clone()).collect();
    let manifest =
        Manifest::new("bench", "1970-01-01T00:00:00Z", Suite::new("bench", "", Vec::new()), ids);
    let writer = Record::create(Path::new(folder.path()), "bench", &manifest)?;
    executor.run_trials(trials, &writer, events)?;
    let record = Record::open(writer.folder())?;
    if let Some(bad) = record.lines().iter().find(|outcome| outcome.status != Status::Ok) {
        let reason = bad.reason.as_deref().unwrap_or("the record gives no reason");
        anyhow::bail!("bench: trial {} failed: {reason}", bad.trial);
    }
    Ok(record.lines().to_vec())
}
