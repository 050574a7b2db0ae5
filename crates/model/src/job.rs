//! The jobs of fio: the next read of each, and its time.

use std::collections::VecDeque;

use disklab_config::workload::{FioLoad, Job, Rw};
use disklab_units::{Nanos, Random, Seed};

/// A job of fio; a definition has `numjobs` of them.
#[derive(Debug)]
pub struct ReadingJob {
    pub pid: u32,
    pub depth: u32,
    /// Number of reads begun whose end fio has not seen.
    pub in_flight: u32,
    /// Reads that have ended and that fio has not seen yet: time of their begin, and bytes.
    pub unseen: VecDeque<(Nanos, u64)>,
    /// Whether the job sleeps within a submission, until a tag is free or a range is unlocked.
    pub sleeps: bool,
    /// The number of reads begun.
    pub begun: u64,
    bs: u64,
    is_random: bool,
    /// The first byte of the job's file; `blocks` is the number of blocks in the file.
    base: u64,
    blocks: u64,
    /// The next block of a sequential reader.
    next: u64,
    /// Time between two reads at a limited rate.
    interval: Option<Nanos>,
    random: Random,
}

impl ReadingJob {
    /// Returns all jobs of a load, in the order in which fio starts them. The first has process id
    /// `pid`.
    pub fn all(load: &FioLoad, pid: u32, seed: Seed) -> Vec<Self> {
        let definitions = load.jobs.iter();
        let jobs = definitions.flat_map(|job| (0..job.numjobs).map(move |_| job));
        jobs.zip(0..).map(|(job, number)| Self::new(load, job, number, pid, seed)).collect()
    }

    fn new(load: &FioLoad, job: &Job, number: u32, pid: u32, seed: Seed) -> Self {
        let file = if load.own_files { u64::from(number) } else { 0 };
        Self {
            pid: pid + number,
            depth: job.depth(),
            in_flight: 0,
            unseen: VecDeque::new(),
            sleeps: false,
            begun: 0,
            bs: job.bs.0,
            is_random: job.rw == Rw::Randread,
            base: file * load.file_size.0,
            blocks: (load.file_size.0 / job.bs.0).max(1),
            next: 0,
            interval: job.rate.map(|rate| rate.time_for(job.bs)),
            random: Random::new(seed.derive(&format!("job {number}"))),
        }
    }

    /// Returns whether the next read goes through the page cache, as the first read into each
    /// buffer does. btrfs serves a direct read into memory that was never touched in this way, and
    /// fio waits for it in `io_submit`.
    pub fn is_buffered(&self) -> bool {
        self.begun < u64::from(self.depth)
    }

    /// Returns the time at which the next read may begin, or `None` while the largest permitted
    /// number is under way.
    pub fn due(&self, now: Nanos) -> Option<Nanos> {
        // No read begins beside the last of the buffered reads either.
        let limit = if self.begun <= u64::from(self.depth) { 1 } else { self.depth };
        let begin = self.interval.map_or(now, |interval| Nanos(interval.0 * self.begun).max(now));
        (self.in_flight < limit).then_some(begin)
    }

    /// Begins the next read. Returns its first byte in the data of all files, and its length.
    pub fn begin(&mut self) -> (u64, u64) {
        let block = if self.is_random { self.random.below(self.blocks) } else { self.next };
        self.next = (block + 1) % self.blocks;
        self.begun += 1;
        self.in_flight += 1;
        (self.base + block * self.bs, self.bs)
    }
}
