//! All threads, from their begin to their end.

use crate::Failure;
use crate::books::Books;
use crate::check::{self, Checked};
use crate::choice::Chooser;
use crate::place::Surroundings;
use crate::report::{Files, Loops, Operations, Report};
use crate::worker::{Tally, Worker};
use disklab_config::fsload::{Fsload, Operation};
use disklab_units::Seed;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What is to be done.
pub struct Run<'a> {
    pub load: &'a Fsload,
    /// Where its files were laid out ([`crate::layout::lay_out`]).
    pub root: &'a Path,
    pub seed: Seed,
    /// Nothing is counted before that.
    pub ramp: Duration,
    pub length: Duration,
    /// It is over when this is set, too.
    pub stop: &'a AtomicBool,
    pub surroundings: &'a dyn Surroundings,
}

/// What was done.
#[derive(Debug)]
pub struct Done {
    pub report: Report,
    books: Books,
}

impl Done {
    /// Holds what is on the disk against the account.
    pub fn check(&self, root: &Path) -> Result<Checked, Failure> {
        check::check(&self.books, root)
    }
}

/// What all threads share.
pub struct Shared<'a> {
    pub run: &'a Run<'a>,
    /// Since then operations count, and until then.
    pub window: (Instant, Instant),
    books: Mutex<Books>,
    stop: AtomicBool,
    failure: Mutex<Option<Failure>>,
}

impl Shared<'_> {
    pub fn books(&self) -> MutexGuard<'_, Books> {
        locked(&self.books)
    }

    pub fn is_over(&self) -> bool {
        let told = self.stop.load(Ordering::Relaxed) || self.run.stop.load(Ordering::Relaxed);
        told || Instant::now() >= self.window.1
    }

    /// The first failure is the trial's; it ends all threads.
    fn fail(&self, failure: Failure) {
        locked(&self.failure).get_or_insert(failure);
        self.stop.store(true, Ordering::Relaxed);
    }
}

/// A thread that panicked has failed the run by itself.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries it out.
pub fn run(run: &Run) -> Result<Done, Failure> {
    let books = Books::new(run.load, run.seed, run.surroundings.notes_promises());
    let names: Vec<usize> = (0..run.load.files.len()).map(|set| books.names(set)).collect();
    let begin = Instant::now() + run.ramp;
    let shared = Shared {
        run,
        window: (begin, begin + run.length),
        books: Mutex::new(books),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    let tallies = threads(&shared, &names)?;
    if let Some(failure) = locked(&shared.failure).take() {
        return Err(failure);
    }
    let mut books = shared.books.into_inner().unwrap_or_else(PoisonError::into_inner);
    let notes = books.notes.take().unwrap_or_default();
    Ok(Done { report: Report { notes, ..report(run, &tallies, &books) }, books })
}

/// By kind of thread.
fn threads(shared: &Shared, names: &[usize]) -> Result<Vec<Tally>, Failure> {
    // Little of a stack is used, and there may be hundreds.
    const STACK: usize = 256 << 10;
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (kind, threads) in shared.run.load.threads.iter().enumerate() {
            // Drawing by rank takes a table of all of them: made once.
            let choosers: Vec<_> =
                names.iter().map(|count| Chooser::new(threads.pick, *count)).collect();
            for number in 0..threads.count {
                let seed = shared.run.seed.derive(&format!("{} {number}", threads.name));
                let worker = Worker::new(shared, threads, choosers.clone(), seed);
                let work = move || {
                    let (tally, failure) = worker.work();
                    if let Some(failure) = failure {
                        shared.fail(failure);
                    }
                    tally
                };
                let thread =
                    std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
                match thread {
                    Ok(thread) => running.push((kind, thread)),
                    Err(e) => shared.fail(format!("fsload: a thread of {}: {e}", threads.name)),
                }
            }
        }
        let mut tallies = vec![Tally::default(); shared.run.load.threads.len()];
        for (kind, thread) in running {
            let tally =
                thread.join().map_err(|_| "fsload: a thread of its own failed".to_owned())?;
            tallies[kind].merge(&tally);
        }
        Ok(tallies)
    })
}

fn report(run: &Run, tallies: &[Tally], books: &Books) -> Report {
    let mut all = Tally::default();
    for tally in tallies {
        all.merge(tally);
    }
    let operations = Operation::ALL.iter().filter_map(|operation| {
        let (latency, bytes) = all.of(*operation);
        (latency.count() > 0).then(|| Operations {
            name: operation.to_string(),
            count: latency.count(),
            bytes,
            mean_ns: latency.mean(),
            p50_ns: latency.percentile(0.5),
            p99_ns: latency.percentile(0.99),
            max_ns: latency.max(),
        })
    });
    let loops = |(threads, tally): (&disklab_config::fsload::Threads, &Tally)| Loops {
        name: threads.name.clone(),
        loops: tally.loops,
        idle: tally.idle,
    };
    Report {
        length_ns: run.length.as_nanos() as u64,
        operations: operations.collect(),
        threads: run.load.threads.iter().zip(tallies).map(loops).collect(),
        files: books
            .totals()
            .into_iter()
            .map(|(set, count, bytes)| Files { set, count, bytes })
            .collect(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
pub mod tests;
