//! Programs that run beside the measured load, each started again as soon as it has ended.

use super::io_context::IoContext;
use super::perform::{Beside, Perform, Session};
use super::program::{self, Words};
use super::steps::{Failure, Steps};
use super::threads::{Syncing, locked};
use super::{fsload, snapshots};
use crate::site::Site;
use disklab_config::command::TREE;
use disklab_protocol::action::{RepeatedProgram, StartBackground, StopBackground};
use disklab_protocol::places::{FSLOAD, tree};
use disklab_protocol::shell;
use disklab_protocol::step::Step;
use rustix::process::{Pid, Signal, kill_process};
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Name of the step in the record.
const STEP: &str = "background";

impl Perform for StartBackground {
    fn lines(&self, _: &dyn Site) -> Vec<String> {
        let snapshots = self.snapshots.iter().flat_map(snapshots::schedule_lines);
        let load = self.fsload.iter().map(|_| format!("# work on the files below {FSLOAD} &"));
        let programs =
            self.processes.iter().map(|program| format!("{} &", shell::command(&program.command)));
        snapshots.chain(load).chain(programs).collect()
    }

    /// Starts all programs and lets them run for the background's lead.
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let (place, environment) = (&session.beside, &session.environment);
        let all = self.processes.iter().enumerate();
        let started: Result<_, Failure> =
            all.map(|(number, process)| begin(number, process, place)).collect();
        let snapshots = self.snapshots.as_ref();
        let snapshots = snapshots.map(|what| snapshots::start(what, place, environment));
        let snapshots = snapshots.transpose()?;
        let files = self.fsload.as_ref().map(|load| fsload::start(load, place, environment));
        let files = files.transpose()?;
        let every = self.sync_every_ns.map(Duration::from_nanos);
        let syncing = every.map(Syncing::start);
        let running = Running { started: started?, snapshots, files, _syncing: syncing };
        std::thread::sleep(Duration::from_nanos(self.lead_ns));
        session.background_ended = running.has_ended();
        session.background = Some(Box::new(running));
        Ok(())
    }
}

impl Perform for StopBackground {
    fn run(&self, session: &mut Session) -> Result<(), Failure> {
        let measured = !std::mem::take(&mut session.background_ended);
        let running = session.background.take();
        running.map_or(Ok(()), |running| running.stop(measured, &mut session.steps))
    }
}

/// A background that runs.
struct Running {
    started: Vec<Started>,
    snapshots: Option<snapshots::Running>,
    files: Option<fsload::Running>,
    _syncing: Option<Syncing>,
}

/// A program that was started.
struct Started {
    repeat: Arc<Repeat>,
    begun: Instant,
    /// Thread that starts the program again and again, and returns the way in which that ended.
    thread: JoinHandle<Ended>,
}

/// State that the first process and a program's thread share.
#[derive(Default)]
struct RunState {
    /// Whether the program is to end.
    stop: bool,
    runs: Option<Pid>,
    /// Number of complete runs.
    passes: u32,
}

/// End of a program's last run, and the reason why there was no other.
struct Ended {
    status: String,
    /// The failure, or None if the first process stopped the program.
    reason: Option<Failure>,
    at: Instant,
}

fn begin(number: usize, process: &RepeatedProgram, place: &IoContext) -> Result<Started, Failure> {
    let words = Words::create(&format!("{STEP}-{number}"))?;
    let (process, place) = (process.clone(), place.clone());
    let repeat = Arc::new(Repeat {
        process,
        place,
        words,
        state: Mutex::default(),
        stopping: Condvar::new(),
    });
    // The first run is started here, so that a missing program is reported before anything is
    // measured.
    let first = repeat.launch(&mut locked(&repeat.state))?;
    let again = Arc::clone(&repeat);
    let thread = std::thread::Builder::new()
        .spawn(move || again.run(first))
        .map_err(|e| format!("{STEP}: starting a thread for {:?}: {e}", repeat.process.command))?;
    Ok(Started { repeat, begun: Instant::now(), thread })
}

/// A program of the background, which its thread starts again and again.
struct Repeat {
    process: RepeatedProgram,
    place: IoContext,
    words: Words,
    state: Mutex<RunState>,
    /// Signal that ends a pause when the program is to end.
    stopping: Condvar,
}

impl Repeat {
    /// Starts the program for the next of its passes.
    fn launch(&self, state: &mut RunState) -> Result<Child, Failure> {
        let tree = tree(state.passes);
        let words = self.process.command.iter();
        let command: Vec<_> = words.map(|word| word.replace(TREE, &tree)).collect();
        let mut prepared = program::prepare(&command, STEP, &self.words)?;
        self.place.hold(&mut prepared);
        let child = prepared.spawn().map_err(|e| program::not_started(&command, STEP, &e))?;
        state.runs = Some(Pid::from_child(&child));
        Ok(child)
    }

    fn run(&self, mut child: Child) -> Ended {
        loop {
            let begun = Instant::now();
            let status = child.wait();
            let at = Instant::now();
            let mut state = locked(&self.state);
            state.runs = None;
            let (status, failed) = match status {
                Ok(status) if status.success() => (status.to_string(), None),
                Ok(status) => {
                    let said = self.words.read().unwrap_or_default();
                    let failed = program::failed(&self.process.command, STEP, status, &said);
                    (status.to_string(), Some(failed))
                }
                Err(error) => (error.to_string(), Some(format!("{STEP}: waiting for it: {error}"))),
            };
            let ended = |reason| Ended { status, reason, at };
            if state.stop {
                return ended(None);
            }
            if failed.is_some() {
                return ended(failed);
            }
            state.passes += 1;
            if let Some(trees) = self.process.trees.filter(|&trees| state.passes >= trees) {
                return ended(Some(format!(
                    "{STEP}: all {trees} trees are used up; raise `count` in the background's file"
                )));
            }
            // A program that takes no time would be started for ever, and time would stand still.
            if at == begun && self.process.pause_ns == 0 {
                return ended(Some(format!(
                    "{STEP}: the program ended at once, and would do so each time"
                )));
            }
            if self.process.pause_ns > 0 {
                let pause = Duration::from_nanos(self.process.pause_ns);
                let waited = self.stopping.wait_timeout_while(state, pause, |state| !state.stop);
                (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
                if state.stop {
                    return ended(None);
                }
            }
            match self.launch(&mut state) {
                Ok(next) => child = next,
                Err(failure) => return ended(Some(failure)),
            }
        }
    }
}

impl Running {
    /// Returns true if a program has ended by itself.
    fn has_ended(&self) -> bool {
        self.started.iter().any(|started| started.thread.is_finished())
            || self.snapshots.as_ref().is_some_and(snapshots::Running::has_ended)
            || self.files.as_ref().is_some_and(fsload::Running::has_ended)
    }
}

impl Beside for Running {
    /// Ends the programs that still run, and writes the steps. Returns a failure if a program had
    /// ended by itself: the measured program then had another background than it should, or was not
    /// started at all.
    fn stop(self: Box<Self>, measured: bool, steps: &mut Steps) -> Result<(), Failure> {
        let until = Instant::now();
        let mut result = self.snapshots.map_or(Ok(()), |snapshots| snapshots.stop(steps));
        result = result.and(self.files.map_or(Ok(()), |files| files.stop(steps)));
        for Started { repeat, thread, .. } in &self.started {
            let mut state = locked(&repeat.state);
            state.stop = !thread.is_finished();
            repeat.stopping.notify_one();
            if let Some(pid) = state.runs {
                // The process may have ended at this moment.
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        for Started { repeat, begun, thread } in self.started {
            let ended = thread.join().map_err(|_| format!("{STEP}: its thread failed"))?;
            let ran = ended.at.duration_since(begun);
            steps.say(&Step::Background {
                command: repeat.process.command.clone(),
                passes: locked(&repeat.state).passes,
                ran_ns: ran.as_nanos() as u64,
                status: ended.status,
                stopped: ended.reason.is_none(),
                said: repeat.words.read()?,
            });
            if let Some(reason) = ended.reason {
                let early = until.duration_since(ended.at);
                let when = if measured {
                    format!(
                        "{early:?} less than the measurement, so the results would not be those of \
                         the requested load"
                    )
                } else {
                    "and the measurement had not begun".to_owned()
                };
                result = result.and(Err(format!("{reason}; it had run for {ran:?}, {when}")));
            }
        }
        result
    }
}
