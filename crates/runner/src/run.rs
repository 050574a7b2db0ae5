//! A run: all trials that a record lacks, several guests at a time.

use crate::error::{Error, Result};
use crate::executor::{Events, Executor};
use crate::facts::{self, Makers};
use crate::guest::{Installation, Timeouts};
use crate::prepared::{self, Prepared};
use crate::{cpus, estimate, fault, scratch, trial};
use disklab_block_devices::change::UndoNews;
use disklab_config::{Layout, Trial};
use disklab_guest::heartbeat::Heartbeat;
use disklab_kernels::{Cache, Kernel};
use disklab_record::outcome::{Cell, Fault};
use disklab_record::{Outcome, RawFolder, Status, Writer};
use disklab_units::Nanos;
use rustix::fs::{FlockOperation, flock};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// In the cache: a file that every run locks, together with the others.
pub const IN_USE: &str = "in-use";

/// What a run needs besides its trials.
#[derive(Debug, Clone)]
pub struct Run {
    /// By the value of [`Trial::kernel`].
    pub kernels: BTreeMap<String, Kernel>,
    pub installation: Installation,
    pub cache: Cache,
    pub timeouts: Timeouts,
    /// Guests at a time; each has a processor to itself. Results do not depend on it.
    pub jobs: usize,
    /// Whether the guests record every request. Nothing else depends on it.
    pub trace: bool,
    /// No trial begins after that.
    pub deadline: Option<Instant>,
    /// Set, by a signal handler say, to end the run.
    pub stop: &'static AtomicBool,
}

/// What happens in a run, as it happens, from several threads.
#[derive(Debug)]
pub enum Event<'a> {
    /// The disks of an array are being prepared, or looked for in the cache.
    Preparing {
        array: &'a str,
    },
    /// Another disklab is preparing them; this one waits for it.
    Waiting {
        array: &'a str,
    },
    Prepared {
        array: &'a str,
        fresh: bool,
    },
    Began {
        trial: &'a Trial,
    },
    /// Virtual time since the guest's boot, and whether what counts has begun.
    Moved {
        trial: &'a Trial,
        now: Nanos,
        measured: bool,
    },
    Ended {
        outcome: &'a Outcome,
    },
    /// Something of this machine is again what it was before a trial, or could not be made so, or
    /// is waited for.
    Undoing {
        news: UndoNews<'a>,
    },
}

/// The places of trials, those of one key together: they are one trial by several names, as where
/// an axis goes over a parameter of some policies and another has none. Its result is the result of
/// each.
fn same(trials: &[&Trial], writer: &Writer) -> Vec<Vec<usize>> {
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let mut same: Vec<Vec<usize>> = Vec::new();
    for (at, trial) in trials.iter().enumerate() {
        let known = writer.key(&trial.id).map(|key| *places.entry(key).or_insert(same.len()));
        match known.and_then(|place| same.get_mut(place)) {
            Some(others) => others.push(at),
            None => same.push(vec![at]),
        }
    }
    same
}

/// Why there are no disks, and whose fault that is.
type Unprepared = (String, Fault);

fn failed(trial: &Trial, reason: String, fault: Fault) -> Outcome {
    Outcome { fault: Some(fault), ..trial::not_run(trial, Status::Failed, reason) }
}

/// How a run's trials ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    pub ok: usize,
    pub failed: usize,
    pub skipped: usize,
    pub interrupted: usize,
}

impl Executor for Run {
    fn run_trials(&self, trials: &[Trial], writer: &Writer, events: Events) -> Result<Summary> {
        let _in_use = self.hold_cache()?;
        scratch::sweep(&self.trials_folder())?;
        let remaining: BTreeSet<String> = writer.remaining().into_iter().collect();
        let trials = trials.iter().filter(|trial| remaining.contains(&trial.id));
        let summary = Mutex::new(Summary::default());
        let trials = self.leave_out(trials, writer, events, &summary)?;
        let makers = Makers::of(&trials)?;
        let keys: Vec<Option<String>> = trials
            .iter()
            .map(|trial| prepared::key(trial, self.kernel(trial), &makers))
            .collect::<Result<_>>()?;
        let disks = self.prepare(&trials, &keys, events)?;
        let same = same(&trials, writer);
        self.share(same.len(), &|i| {
            let mut first: Option<Outcome> = None;
            for &at in &same[i] {
                let outcome = match &first {
                    Some(first) => {
                        let cell = Cell(trials[at].cell.clone());
                        writer.finish_as(&trials[at].id, cell, first)?
                    }
                    None if self.is_past_deadline() => return Ok(()),
                    None => {
                        let disks = keys[at].as_ref().map(|key| &disks[key]);
                        self.one(trials[at], disks, writer, events)?
                    }
                };
                summary.lock().unwrap_or_else(PoisonError::into_inner).count(outcome.status);
                events(Event::Ended { outcome: &outcome });
                first =
                    first.or_else(|| Some(outcome).filter(|outcome| outcome.status == Status::Ok));
            }
            Ok(())
        })?;
        Ok(summary.into_inner().unwrap_or_else(PoisonError::into_inner))
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
        estimate::wall(trial)
    }

    fn preparing(&self, trial: &Trial) -> Duration {
        estimate::preparing(trial)
    }
}

impl Run {
    /// Those of the trials that can be carried out here; the others are rows with their reason.
    fn leave_out<'a>(
        &self,
        trials: impl Iterator<Item = &'a Trial>,
        writer: &Writer,
        events: Events,
        summary: &Mutex<Summary>,
    ) -> Result<Vec<&'a Trial>> {
        let mut possible = Vec::new();
        for trial in trials {
            let Some(reason) = self.obstacle(trial) else {
                possible.push(trial);
                continue;
            };
            let outcome = Self::note(writer, trial::not_run(trial, Status::Skipped, reason))?;
            summary.lock().unwrap_or_else(PoisonError::into_inner).count(outcome.status);
            events(Event::Ended { outcome: &outcome });
        }
        Ok(possible)
    }

    /// Why a trial cannot be carried out here.
    pub fn obstacle(&self, trial: &Trial) -> Option<String> {
        facts::obstacle(trial).or_else(|| without_zfs(trial, self.kernel(trial)))
    }

    /// As long as this is held, nobody takes prepared disks away (`disklab clean` asks for it
    /// alone).
    pub fn hold_cache(&self) -> Result<File> {
        let path = self.cache.root().join(IN_USE);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        flock(&file, FlockOperation::LockShared).map_err(|e| Error::io("lock", &path)(e.into()))?;
        Ok(file)
    }

    /// Where trials have their disks: in the cache, so that copies can share what they do not
    /// change.
    pub(crate) fn trials_folder(&self) -> PathBuf {
        self.cache.root().join("trials")
    }

    pub(crate) fn kernel(&self, trial: &Trial) -> &Kernel {
        &self.kernels[&trial.kernel]
    }

    /// The disks of each key; what could not be prepared is a reason that all its trials share.
    fn prepare(
        &self,
        trials: &[&Trial],
        keys: &[Option<String>],
        events: Events,
    ) -> Result<BTreeMap<String, std::result::Result<Prepared, Unprepared>>> {
        let mut distinct: BTreeMap<&String, &Trial> = BTreeMap::new();
        for (trial, key) in trials.iter().zip(keys) {
            if let Some(key) = key {
                distinct.entry(key).or_insert(trial);
            }
        }
        let distinct: Vec<_> = distinct.into_iter().collect();
        let disks = Mutex::new(BTreeMap::new());
        self.share(distinct.len(), &|i| {
            let (key, trial) = distinct[i];
            let array = &trial.array.name;
            events(Event::Preparing { array });
            let waiting = &mut |_| events(Event::Waiting { array });
            let prepared = match prepared::get(self, trial, self.kernel(trial), key, waiting) {
                Err(Error::Interrupted | Error::Cache(disklab_kernels::Error::Interrupted)) => {
                    Err(("interrupted".to_owned(), Fault::Machine))
                }
                other => other.map_err(|error| (error.to_string(), fault::of_error(&error))),
            };
            if let Ok(Prepared { fresh, .. }) = prepared {
                events(Event::Prepared { array, fresh });
            }
            disks.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone(), prepared);
            Ok(())
        })?;
        Ok(disks.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    fn one(
        &self,
        trial: &Trial,
        disks: Option<&std::result::Result<Prepared, Unprepared>>,
        writer: &Writer,
        events: Events,
    ) -> Result<Outcome> {
        if self.stop.load(Ordering::Relaxed) {
            return Self::note(
                writer,
                trial::not_run(trial, Status::Interrupted, "interrupted".to_owned()),
            );
        }
        let disks = match disks {
            Some(Err((reason, fault))) => {
                return Self::note(writer, failed(trial, reason.clone(), *fault));
            }
            Some(Ok(disks)) => Some(disks),
            None => None,
        };
        events(Event::Began { trial });
        let raw = writer.begin(&trial.id)?;
        let moved = &mut |beat: Heartbeat| {
            events(Event::Moved { trial, now: Nanos(beat.now), measured: beat.measured });
        };
        match trial::run(self, trial, self.kernel(trial), disks, raw.path(), moved) {
            Ok(outcome) if outcome.status == Status::Interrupted => Self::note(writer, outcome),
            Ok(outcome) => Self::keep(writer, raw, outcome),
            // The host has no room or no program: this trial cannot be, the next one may.
            Err(error) => Self::keep(writer, raw, failed(trial, error.to_string(), Fault::Machine)),
        }
    }

    fn note(writer: &Writer, outcome: Outcome) -> Result<Outcome> {
        writer.note(outcome.clone())?;
        Ok(outcome)
    }

    fn keep(writer: &Writer, raw: RawFolder, outcome: Outcome) -> Result<Outcome> {
        Ok(writer.finish(raw, outcome)?)
    }

    /// Does `work` for 0, 1, ... below `count`, by as many threads as there are jobs, each on a
    /// processor of its own. The first error ends it.
    pub(crate) fn share(
        &self,
        count: usize,
        work: &(dyn Fn(usize) -> Result<()> + Sync),
    ) -> Result<()> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None);
        let cpus = cpus::allowed();
        std::thread::scope(|scope| {
            for job in 0..self.jobs.clamp(1, count.max(1)) {
                let (next, failed, cpu) = (&next, &failed, cpus[job % cpus.len()]);
                scope.spawn(move || {
                    cpus::keep_to(cpu);
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= count {
                            return;
                        }
                        if let Err(error) = work(i) {
                            next.store(count, Ordering::Relaxed);
                            failed
                                .lock()
                                .unwrap_or_else(PoisonError::into_inner)
                                .get_or_insert(error);
                            return;
                        }
                    }
                });
            }
        });
        failed.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
    }
}

/// Why a kernel cannot carry a trial out that wants OpenZFS. A run is not refused for it: few
/// kernels have it.
pub fn without_zfs(trial: &Trial, kernel: &Kernel) -> Option<String> {
    let wanted = trial.array.layout == Layout::ZfsMirrors && !kernel.has_option(Layout::ZFS);
    wanted.then(|| {
        format!(
            "Linux {} ({}) has no OpenZFS; `install/zfs-tree` puts it into a kernel's source, for `disklab kernel build \
             --source`, and `--set kernel=...` takes that kernel",
            kernel.version,
            kernel.path.display()
        )
    })
}

impl Summary {
    pub(crate) fn count(&mut self, status: Status) {
        *match status {
            Status::Ok => &mut self.ok,
            Status::Failed => &mut self.failed,
            Status::Skipped => &mut self.skipped,
            Status::Interrupted => &mut self.interrupted,
            Status::Spared => return,
        } += 1;
    }
}
