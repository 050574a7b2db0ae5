//! Keeps each guest on one processor.
//!
//! A guest is two host processes that take turns: the kernel and the program that runs in it. On
//! two processors, each turn wakes the other processor, which costs five times as much as the turn
//! itself. On one processor, a turn is a context switch.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// The processors that a run may use, each with the number of its jobs that are kept there.
pub struct Processors(Mutex<Vec<(usize, u32)>>);

/// Keeps a thread on one processor until it is dropped.
pub struct KeptProcessor<'a> {
    of: &'a Processors,
    cpu: usize,
}

impl Processors {
    /// Returns the processors that this process may use, without jobs.
    pub fn allowed() -> Self {
        let set = sched_getaffinity(None).unwrap_or_else(|_| only(&[0]));
        let allowed = (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu));
        Self(Mutex::new(allowed.map(|cpu| (cpu, 0)).collect()))
    }

    /// Keeps the calling thread, and the processes that it starts from now on, on one processor.
    /// Among the processors with the fewest jobs of this run, it takes the one on which the host's
    /// scheduler puts a new thread. The scheduler knows the machine's other work: if each run took
    /// the first processor, two runs would share it and leave the second idle.
    ///
    /// If the host forbids this, the guest is slower and its results are the same, so that it is no
    /// error.
    pub fn keep_to_one(&self) -> KeptProcessor<'_> {
        let mut jobs = self.jobs();
        let fewest = jobs.iter().map(|&(_, jobs)| jobs).min();
        let free = jobs.iter().filter(|&&(_, jobs)| Some(jobs) == fewest).map(|&(cpu, _)| cpu);
        let free: Vec<usize> = free.collect();
        let _ = sched_setaffinity(None, &only(&free));
        let put =
            std::thread::Builder::new().spawn(sched_getcpu).map(std::thread::JoinHandle::join);
        let put = put.ok().and_then(Result::ok).filter(|cpu| free.contains(cpu));
        let cpu = put.or_else(|| free.first().copied()).unwrap_or_default();
        let _ = sched_setaffinity(None, &only(&[cpu]));
        jobs.iter_mut().filter(|(kept, _)| *kept == cpu).for_each(|(_, jobs)| *jobs += 1);
        KeptProcessor { of: self, cpu }
    }

    fn jobs(&self) -> MutexGuard<'_, Vec<(usize, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeptProcessor<'_> {
    fn drop(&mut self) {
        let mut jobs = self.of.jobs();
        jobs.iter_mut().filter(|(kept, _)| *kept == self.cpu).for_each(|(_, jobs)| *jobs -= 1);
        let all: Vec<usize> = jobs.iter().map(|&(cpu, _)| cpu).collect();
        let _ = sched_setaffinity(None, &only(&all));
    }
}

fn only(cpus: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    for &cpu in cpus {
        set.set(cpu);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_of_one_run_have_processors_of_their_own() {
        let processors = Processors::allowed();
        let count = processors.jobs().len();
        // These run in threads of their own: the test's thread must not stay on one processor.
        let kept: Vec<KeptProcessor> = std::thread::scope(|scope| {
            let jobs: Vec<_> = (0..count)
                .map(|_| {
                    scope.spawn(|| {
                        let kept = processors.keep_to_one();
                        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
                        kept
                    })
                })
                .collect();
            jobs.into_iter().map(|job| job.join().unwrap()).collect()
        });
        assert!(processors.jobs().iter().all(|&(_, jobs)| jobs == 1));
        drop(kept);
        assert!(processors.jobs().iter().all(|&(_, jobs)| jobs == 0));
    }
}
