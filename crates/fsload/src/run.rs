//! Runs all threads of the load from begin to end.

use crate::Failure;
use crate::books::Books;
use crate::choice::Chooser;
use crate::report::{LoadReport, Loops, Operations};
use crate::shared::{LoadRun, Shared, locked};
use crate::worker::{ThreadTally, Worker};
use disklab_config::fsload::Operation;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// The results of a run.
#[derive(Debug)]
pub struct LoadDone {
    pub report: LoadReport,
    /// The account of all files.
    pub(crate) books: Books,
}

/// Runs the load.
pub fn run(run: &LoadRun) -> Result<LoadDone, Failure> {
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
    Ok(LoadDone { report: LoadReport { notes, ..report(run, &tallies, &books) }, books })
}

/// Runs the threads, and returns their counts by kind of thread.
fn threads(shared: &Shared, names: &[usize]) -> Result<Vec<ThreadTally>, Failure> {
    // Threads use little of their stacks, and there may be hundreds of threads.
    const STACK: usize = 256 << 10;
    std::thread::scope(|scope| {
        let mut running = Vec::new();
        for (kind, threads) in shared.run.load.threads.iter().enumerate() {
            // Drawing by rank needs a table of all names of a set, which is made once.
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
        let mut tallies = vec![ThreadTally::default(); shared.run.load.threads.len()];
        for (kind, thread) in running {
            let tally =
                thread.join().map_err(|_| "fsload: a thread of its own failed".to_owned())?;
            tallies[kind].merge(&tally);
        }
        Ok(tallies)
    })
}

fn report(run: &LoadRun, tallies: &[ThreadTally], books: &Books) -> LoadReport {
    let mut all = ThreadTally::default();
    for tally in tallies {
        all.merge(tally);
    }
    let operations = Operation::ALL.iter().filter_map(|operation| {
        let (latency, bytes) = all.operation(*operation);
        (latency.count > 0).then(|| Operations {
            name: operation.to_string(),
            count: latency.count,
            bytes,
            mean_ns: latency.mean(),
            p50_ns: latency.percentile(0.5),
            p99_ns: latency.percentile(0.99),
            max_ns: latency.max,
        })
    });
    let loops = |(threads, tally): (&disklab_config::fsload::FileThreads, &ThreadTally)| Loops {
        name: threads.name.clone(),
        loops: tally.loops,
        idle: tally.idle,
    };
    LoadReport {
        length_ns: run.length.as_nanos() as u64,
        operations: operations.collect(),
        threads: run.load.threads.iter().zip(tallies).map(loops).collect(),
        files: books.totals(),
        notes: Vec::new(),
    }
}

#[cfg(test)]
pub mod tests;
