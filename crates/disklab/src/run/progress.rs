//! Shows the progress of a run in virtual time, and the expected time left: as a bar on a terminal,
//! and as a line now and then elsewhere.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use disklab_block_devices::change::{UndoNews, Undone};
use disklab_config::Trial;
use disklab_record::{Outcome, Record, Status, Writer};
use disklab_results::Remark;
use disklab_runner::Event;
use disklab_runner::Executor;
use disklab_units::Nanos;
use itertools::Itertools;

use crate::bar::Bar;
use crate::exit::Failure;
use crate::plan;
use crate::screen::Screen;
use crate::watch::matrix;
use crate::words;

/// Weight of the estimate from the models, as measured time: the first trials say little about the
/// rest.
const TRUST: Duration = Duration::from_secs(5);
/// Interval between two drawings of the matrix. Each drawing reads the record.
const MATRIX_PAUSE: Duration = Duration::from_millis(300);
/// Intervals between two lines without a terminal: the shortest, for each tenth of the work, and
/// the longest.
const SELDOM: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(30));

#[derive(Debug)]
pub struct Progress<'a> {
    screen: &'a Screen,
    bar: Bar<'a>,
    /// Record whose matrix is drawn above the bar.
    watched: Option<&'a Path>,
    start: Instant,
    jobs: usize,
    trials: usize,
    /// Virtual time of all trials, in ns.
    total: u64,
    state: Mutex<ProgressState>,
}

#[derive(Debug, Default)]
struct ProgressState {
    /// Trials that do not run yet.
    waiting: BTreeMap<String, TrialWork>,
    running: BTreeMap<String, RunningTrial>,
    ended: Vec<String>,
    /// Virtual time of the ended trials.
    virtual_time: Nanos,
    /// Expected wall time of all trials, in processor time.
    wall: Duration,
    /// Part of `wall` that is done.
    behind: Duration,
    preparing: Vec<Duration>,
    failed: usize,
    skipped: usize,
    last_line: LastLine,
    /// Time at which the matrix was drawn last.
    matrix: Option<Instant>,
}

/// The last printed line.
#[derive(Debug, Default)]
struct LastLine {
    tenths: u64,
    /// Time of the line since the run began.
    at: Duration,
}

impl LastLine {
    /// Returns true if another line is due, and records it as printed.
    fn again(&mut self, tenths: u64, now: Duration) -> bool {
        let since = now.saturating_sub(self.at);
        let due = since >= SELDOM.1 || since >= SELDOM.0 && tenths > self.tenths;
        if due {
            *self = Self { tenths, at: now };
        }
        due
    }
}

/// Expected work of a trial.
#[derive(Debug, Clone, Copy)]
struct TrialWork {
    virtual_time: Nanos,
    /// Virtual time before the measurement.
    ramp: Nanos,
    wall: Duration,
}

#[derive(Debug)]
struct RunningTrial {
    work: TrialWork,
    /// The guest's clock at the begin of the measurement. The time before that is not a part of the
    /// work.
    begun: Option<Nanos>,
    /// Virtual time of the trial that has passed.
    moved: Nanos,
}

impl RunningTrial {
    fn move_to(&mut self, now: Nanos) {
        let begun = *self.begun.get_or_insert(now);
        self.moved = (self.work.ramp + now.saturating_sub(begun)).min(self.work.virtual_time);
    }

    /// Returns the wall time of the trial that is done, by the estimate.
    fn behind(&self) -> Duration {
        let all = self.work.virtual_time.0;
        let part = if all == 0 { 0.0 } else { self.moved.0 as f64 / all as f64 };
        self.work.wall.mul_f64(part)
    }
}

impl<'a> Progress<'a> {
    /// Begins the progress of those of `trials` that are in `remaining`. `watched` is the record
    /// whose matrix is drawn.
    pub fn new(
        screen: &'a Screen,
        trials: &[Trial],
        remaining: &[String],
        run: &dyn Executor,
        watched: Option<&'a Path>,
    ) -> Self {
        let trials: Vec<Trial> =
            trials.iter().filter(|trial| remaining.contains(&trial.id)).cloned().collect();
        let work = |trial: &Trial| TrialWork {
            virtual_time: plan::virtual_time(trial),
            ramp: trial.ramp,
            wall: run.wall(trial),
        };
        let waiting: BTreeMap<_, _> =
            trials.iter().map(|trial| (trial.id.clone(), work(trial))).collect();
        let preparing: Vec<_> =
            plan::prepared_once(&trials).into_iter().map(|trial| run.preparing(trial)).collect();
        let total: Nanos = waiting.values().map(|work| work.virtual_time).sum();
        let template = match watched {
            Some(_) => "{prefix}\n{bar:30} {percent:>3} %  {msg}",
            None => "{bar:30} {percent:>3} %  {msg}",
        };
        let length = (!trials.is_empty()).then_some(total.0.max(1));
        let wall = waiting.values().map(|work| work.wall).chain(preparing.iter().copied()).sum();
        let state = ProgressState { waiting, wall, preparing, ..ProgressState::default() };
        Self {
            screen,
            bar: Bar::new(screen, length, template),
            watched,
            start: Instant::now(),
            jobs: run.jobs().clamp(1, trials.len().max(1)),
            trials: trials.len(),
            total: total.0.max(1),
            state: Mutex::new(state),
        }
    }

    pub fn event(&self, event: &Event<'_>) {
        let mut state = self.state();
        match event {
            Event::Preparing { array } => {
                self.bar.message(&format!("preparing the disks of {array}"));
            }
            Event::Waiting { array } => {
                self.bar.say(&format!(
                    "another disklab is preparing the disks of {array}; waiting for it"
                ));
            }
            Event::Prepared { array, fresh } => {
                if *fresh && self.bar.drawn().is_none() {
                    self.bar.say(&format!("prepared the disks of {array}"));
                }
                let took = state.preparing.pop().unwrap_or_default();
                state.behind += took;
            }
            Event::Began { trial } => {
                if let Some(work) = state.waiting.remove(&trial.id) {
                    let running = RunningTrial { work, begun: None, moved: Nanos::ZERO };
                    state.running.insert(trial.id.clone(), running);
                }
            }
            Event::Moved { trial, now, measured } => {
                if let Some(running) = state.running.get_mut(&trial.id).filter(|_| *measured) {
                    running.move_to(*now);
                }
            }
            Event::Undoing { news: UndoNews::Undone(Undone { failed: Some(why), what }) } => {
                self.bar.message(&format!("not undone yet: {what}: {why}"));
            }
            Event::Undoing { news: UndoNews::Waits(what) } => {
                self.bar.message(&format!("waiting: {what}"));
            }
            Event::Undoing { .. } => {}
            Event::Ended { outcome } => {
                state.end(outcome);
                if matches!(outcome.status, Status::Failed | Status::Skipped) {
                    let reason = outcome.reason.as_deref().unwrap_or("no reason given");
                    self.bar.say(&format!("{} {}: {reason}", outcome.trial, outcome.status));
                }
                for remark in outcome.remarks.iter().filter(|r| **r == Remark::StartedAgain) {
                    self.bar.say(&format!("{}: {remark}", outcome.trial));
                }
            }
        }
        if !matches!(event, Event::Preparing { .. } | Event::Waiting { .. }) {
            self.draw(&mut state);
        }
    }

    pub fn end(&self) {
        self.bar.end();
    }

    /// Returns the trials that have ended, by id.
    pub fn ended(&self) -> Vec<String> {
        self.state().ended.clone()
    }

    fn draw(&self, state: &mut ProgressState) {
        let moved: Nanos = state.running.values().map(|running| running.moved).sum();
        let (ended, running) = (state.ended.len(), state.running.len());
        let position = (state.virtual_time + moved).0;
        let percent = position.saturating_mul(100) / self.total;
        if let Some(bar) = self.bar.drawn() {
            bar.set_position(position);
            self.draw_matrix(bar, state);
        } else if !state.last_line.again(percent / 10, self.start.elapsed()) {
            return;
        }
        let others = [(state.failed, "failed"), (state.skipped, "skipped")];
        let others = others.iter().filter(|(count, _)| *count > 0);
        let mut others = others.map(|(count, what)| format!(", {count} {what}"));
        let others = others.join("");
        let left = words::wall(state.left(self.start.elapsed(), self.jobs));
        let trials = self.trials;
        let text =
            format!("{ended} of {trials} trials{others}, {running} running, about {left} left");
        match self.bar.drawn() {
            Some(bar) => bar.set_message(text),
            None => self.screen.remark(&format!("{percent} %: {text}")),
        }
    }

    fn draw_matrix(&self, bar: &indicatif::ProgressBar, state: &mut ProgressState) {
        let Some(folder) = self.watched else { return };
        if state.matrix.is_some_and(|drawn| drawn.elapsed() < MATRIX_PAUSE) {
            return;
        }
        state.matrix = Some(Instant::now());
        // A record that cannot be read now is drawn the next time.
        if let Ok(record) = Record::open(folder) {
            bar.set_prefix(matrix::lines(&record, self.screen, 1).join("\n"));
        }
    }

    fn state(&self) -> MutexGuard<'_, ProgressState> {
        // The state is only displayed, so that half an update does no harm.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressState {
    fn end(&mut self, outcome: &Outcome) {
        let work = self.running.remove(&outcome.trial).map(|running| running.work);
        let work = work.or_else(|| self.waiting.remove(&outcome.trial));
        // An interrupted trial starts again, so that none of its work counts.
        if outcome.status == Status::Interrupted {
            return;
        }
        if let Some(work) = work {
            self.virtual_time += work.virtual_time;
            self.behind += work.wall;
        }
        self.ended.push(outcome.trial.clone());
        self.failed += usize::from(outcome.status == Status::Failed);
        self.skipped += usize::from(outcome.status == Status::Skipped);
    }

    /// Returns the time left: the estimate, corrected by its error so far.
    fn left(&self, elapsed: Duration, jobs: usize) -> Duration {
        let behind =
            self.behind + self.running.values().map(RunningTrial::behind).sum::<Duration>();
        let jobs = jobs as f64;
        let pace =
            (elapsed + TRUST).as_secs_f64() / (behind.as_secs_f64() / jobs + TRUST.as_secs_f64());
        Duration::from_secs_f64(self.wall.saturating_sub(behind).as_secs_f64() / jobs * pace)
    }
}

/// Runs trials with a progress bar, and returns their record.
pub fn run_trials(
    run: &dyn Executor,
    trials: &[Trial],
    writer: Writer,
    screen: &Screen,
) -> Result<Record, Failure> {
    let progress = Progress::new(screen, trials, &writer.remaining(), run, None);
    let done = run.run_trials(trials, &writer, &|event| progress.event(&event));
    progress.end();
    let folder = writer.folder().to_owned();
    drop(writer);
    done?;
    Ok(Record::open(&folder)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(wall: u64, behind: u64) -> ProgressState {
        let (wall, behind) = (Duration::from_secs(wall), Duration::from_secs(behind));
        ProgressState { wall, behind, ..ProgressState::default() }
    }

    #[test]
    fn lines_are_seldom() {
        let mut last = LastLine::default();
        let mut due = |seconds: u64, tenths| last.again(tenths, Duration::from_secs(seconds));
        let lines: Vec<u64> = (0..=120).filter(|&s| due(s, s / 20)).collect();
        assert_eq!(lines, [20, 40, 60, 80, 100, 120], "at each tenth");
        let lines: Vec<u64> = (120..=240).filter(|&s| due(s, 6)).collect();
        assert_eq!(lines, [150, 180, 210, 240], "where nothing moves, so that one knows it lives");
        let lines = (240..250).filter(|&s| due(s, s - 230)).count();
        assert_eq!(lines, 1, "a quick run says little");
    }

    #[test]
    fn at_first_the_estimate_counts_and_later_what_was_seen() {
        let left = |state: &ProgressState, elapsed: u64| {
            state.left(Duration::from_secs(elapsed), 2).as_secs()
        };
        assert_eq!(left(&state(100, 0), 0), 50);
        // Half of the work is done, in twice the expected time.
        let seen = left(&state(1000, 500), 500);
        assert!((480..500).contains(&seen), "{seen}");
    }

    #[test]
    fn what_was_interrupted_is_not_done() {
        let work = TrialWork {
            virtual_time: Nanos::from_secs(20),
            ramp: Nanos::ZERO,
            wall: Duration::from_secs(10),
        };
        let mut state = state(20, 0);
        let mut end = |id: &str, status| {
            state
                .running
                .insert(id.to_owned(), RunningTrial { work, begun: None, moved: Nanos::ZERO });
            state.end(&Outcome { status, ..disklab_testkit::outcome(id, &[], 1) });
            (state.virtual_time, state.behind, state.running.len(), state.ended.len())
        };
        assert_eq!(end("a", Status::Interrupted), (Nanos::ZERO, Duration::ZERO, 0, 0));
        assert_eq!(end("b", Status::Failed), (work.virtual_time, work.wall, 0, 1));
        end("c", Status::Skipped);
        assert_eq!((state.failed, state.skipped), (1, 1));
    }

    #[test]
    fn a_running_trial_counts_by_its_virtual_time_since_measuring_began() {
        let mut state = state(10, 0);
        let (virtual_time, ramp) = (Nanos::from_secs(20), Nanos::from_secs(4));
        let work = TrialWork { virtual_time, ramp, wall: Duration::from_secs(10) };
        let mut running = RunningTrial { work, begun: None, moved: Nanos::ZERO };
        running.move_to(Nanos::from_secs(100));
        assert_eq!(running.behind(), Duration::from_secs(2), "the ramp is behind it");
        running.move_to(Nanos::from_secs(500));
        assert_eq!(running.moved, virtual_time, "no more than all");
        state.running.insert("a".to_owned(), running);
        assert_eq!(state.left(Duration::from_secs(10), 1), Duration::ZERO);
    }
}
