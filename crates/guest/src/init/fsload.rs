//! Threads that work on many files, in a guest.

use super::environment::Environment;
use super::filesystem::{drop_caches, settle};
use super::io_context::IoContext;
use super::perform::{Perform, Session};
use super::steps::{Failure, Steps, on};
use super::threads::{locked, spawn};
use crate::site::Site;
use disklab_config::fsload::Fsload;
use disklab_fsload::{LoadDone, LoadRun, Surroundings, layout};
use disklab_protocol::Mark;
use disklab_protocol::action::{BackgroundFsload, LayOutFsload};
use disklab_protocol::names;
use disklab_protocol::places::{FSLOAD, TRIAL};
use disklab_protocol::step::Step;
use disklab_units::{Nanos, Seed};
use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the step in the record.
const STEP: &str = "fsload";
/// Name of the step of a background load.
const BESIDE: &str = "background fsload";
/// Time longer than any trial.
const ENDLESS: Duration = Duration::from_secs(30 * 24 * 3600);

impl Perform for LayOutFsload {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        vec![format!("# write the workload's files below {FSLOAD}")]
    }

    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        fs::create_dir(FSLOAD).map_err(|e| format!("{STEP}: creating {FSLOAD}: {e}"))?;
        let (files, bytes) = layout::lay_out(&self.load, Path::new(FSLOAD))?;
        session.steps.say(&Step::LaidOut { files, bytes });
        Ok(())
    }
}

/// Runs the load for this time after its ramp.
pub fn measure(
    load: &Fsload,
    seed: Seed,
    [ramp, length]: [Nanos; 2],
    notes: bool,
    environment: &Arc<dyn Environment>,
) -> Result<LoadDone, Failure> {
    settle();
    disklab_fsload::run(&LoadRun {
        load,
        root: Path::new(FSLOAD),
        seed,
        ramp: Duration::from_nanos(ramp.0),
        length: Duration::from_nanos(length.0),
        stop: &AtomicBool::new(false),
        surroundings: &Processor::new(load, notes, environment),
    })
}

/// A load that runs in the background.
pub struct Running {
    begun: Instant,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Result<LoadDone, Failure>>,
}

pub fn start(
    beside: &BackgroundFsload,
    place: &IoContext,
    environment: &Arc<dyn Environment>,
) -> Result<Running, Failure> {
    let BackgroundFsload { load, seed } = beside.clone();
    let (stop, place) = (Arc::new(AtomicBool::new(false)), place.clone());
    let (told, environment) = (Arc::clone(&stop), Arc::clone(environment));
    let work = move || {
        place.enter().map_err(|e| format!("{BESIDE}: setting its I/O priority: {e}"))?;
        disklab_fsload::run(&LoadRun {
            load: &load,
            root: Path::new(FSLOAD),
            seed,
            ramp: Duration::ZERO,
            length: ENDLESS,
            stop: &told,
            surroundings: &Processor::new(&load, false, &environment),
        })
    };
    let thread = spawn(BESIDE, work)?;
    Ok(Running { begun: Instant::now(), stop, thread })
}

impl Running {
    /// Returns true if it failed.
    pub fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Makes all threads end after their present operation, and compares the files on the disks
    /// with the written data.
    pub fn stop(self, steps: &mut Steps) -> Result<(), Failure> {
        self.stop.store(true, Ordering::Relaxed);
        let ran = self.begun.elapsed();
        let done = self.thread.join().map_err(|_| format!("{BESIDE}: its thread failed"))??;
        let checked = done.check(Path::new(FSLOAD))?;
        let operations: u64 = done.report.operations.iter().map(|each| each.count).sum();
        steps.say(&Step::BackgroundFsload {
            operations,
            ran_ns: ran.as_nanos() as u64,
            files_as_written: checked.files,
            bytes: checked.bytes,
        });
        Ok(())
    }
}

/// Writes the measurements, and compares the files on the disks with the written data.
pub fn account(done: &LoadDone, steps: &mut Steps) -> Result<(), Failure> {
    let path = Path::new(TRIAL).join(names::FSLOAD);
    let text = serde_json::to_vec(&done.report).map_err(|e| format!("{STEP}: {e}"))?;
    fs::write(&path, text).map_err(on(&path))?;
    // The comparison must read the disks, and not memory.
    rustix::fs::sync();
    drop_caches()?;
    let checked = done.check(Path::new(FSLOAD))?;
    steps.say(&Step::Fsload { files_as_written: checked.files, bytes: checked.bytes });
    Ok(())
}

/// The guest's only processor, which serves the operations of all threads in the order of their
/// requests.
struct Processor {
    /// Time at which it is free again.
    free: Mutex<Instant>,
    operation: Duration,
    notes_promises: bool,
    environment: Arc<dyn Environment>,
}

impl Processor {
    fn new(load: &Fsload, notes_promises: bool, environment: &Arc<dyn Environment>) -> Self {
        let operation = Duration::from_nanos(load.operation.0);
        let environment = Arc::clone(environment);
        Self { free: Mutex::new(Instant::now()), operation, notes_promises, environment }
    }
}

impl Surroundings for Processor {
    fn thread_begins(&self) {
        // The default slack adds up to 50 us to each sleep. A failure here is the same in all runs.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }

    fn processor(&self) -> Instant {
        let mut free = locked(&self.free);
        let begun = Instant::now().max(*free);
        let over = begun + self.operation;
        *free = over;
        drop(free);
        std::thread::sleep(over.saturating_duration_since(Instant::now()));
        begun
    }

    fn notes_promises(&self) -> bool {
        self.notes_promises
    }

    fn promised(&self, number: u64) -> Result<(), Failure> {
        self.environment.mark(Mark::Promised(number)).map_err(|e| format!("{STEP}: {e}"))
    }
}
