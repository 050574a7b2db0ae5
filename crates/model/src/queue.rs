//! The block layer's queue of one disk: the requests that wait for the disk, and their order.

use std::collections::VecDeque;

use disklab_config::scheduler::Scheduler;
use disklab_units::Nanos;

/// Size of a piece of memory in a request: one page, as in direct reads.
const PAGE: u64 = 4096;
/// The most bytes of a request, whatever the disk takes: `BLK_DEF_MAX_SECTORS_CAP`.
const LARGEST: u64 = 4 << 20;
/// mq-deadline's `fifo_batch` and `read_expire`.
const BATCH: u32 = 16;
const READ_EXPIRE: Nanos = Nanos::from_millis(500);

/// A request of the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedRequest {
    /// Offset from the start of the disk, in bytes.
    pub start: u64,
    pub bytes: u64,
    /// The reads of btrfs to which the request belongs.
    pub reads: Vec<usize>,
    pub submitted: Nanos,
}

impl QueuedRequest {
    /// Merges a piece that begins where the request ends, unless the request would become larger
    /// than `largest`. Returns whether it merged the piece.
    pub fn merge(&mut self, start: u64, bytes: u64, largest: u64, read: usize) -> bool {
        let does = self.start + self.bytes == start && self.bytes + bytes <= largest;
        if does {
            self.bytes += bytes;
            self.reads.push(read);
        }
        does
    }
}

/// The jobs that wait for a tag, as in the kernel's lib/sbitmap.c. Each job sleeps in the next of
/// eight lines. Each batch of ended requests wakes as many jobs, line after line. The job that is
/// woken first takes all tags that it can use, and then sleeps in a line before the others. Jobs
/// that began together therefore drift apart.
#[derive(Debug, Clone)]
struct TagWaits {
    lines: [VecDeque<usize>; 8],
    /// The line that the next sleeper takes, and the first to be woken.
    next_sleeper: usize,
    next_woken: usize,
    batch: u32,
    /// Number of ended requests that have not woken a job.
    ended: u32,
}

impl TagWaits {
    fn new(tags: u32) -> Self {
        let lines: [VecDeque<usize>; 8] = Default::default();
        let batch = (tags / lines.len() as u32).clamp(1, 8);
        Self { lines, next_sleeper: 0, next_woken: 0, batch, ended: 0 }
    }

    fn sleep(&mut self, job: usize) {
        self.lines[self.next_sleeper].push_back(job);
        self.next_sleeper = (self.next_sleeper + 1) % self.lines.len();
    }

    /// Counts an ended request. Adds the jobs that this wakes to `woken`.
    fn ended(&mut self, woken: &mut VecDeque<usize>) {
        if self.lines.iter().all(VecDeque::is_empty) {
            return;
        }
        self.ended += 1;
        if self.ended < self.batch {
            return;
        }
        self.ended -= self.batch;
        let mut left = self.batch as usize;
        for _ in 0..self.lines.len() {
            let line = &mut self.lines[self.next_woken];
            self.next_woken = (self.next_woken + 1) % 8;
            let count = left.min(line.len());
            woken.extend(line.drain(..count));
            left -= count;
            if left == 0 {
                break;
            }
        }
    }
}

/// A disk's queue. A request has a tag from its allocation to its end.
#[derive(Debug, Clone)]
pub struct DiskQueue {
    scheduler: Scheduler,
    /// Number of requests that may be allocated; `allocated` is how many are.
    tags: u32,
    allocated: u32,
    waits: TagWaits,
    /// Number of requests that the disk takes at once; `at_disk` is how many it has.
    depth: u32,
    at_disk: u32,
    /// The most bytes of a request.
    pub largest: u64,
    /// Waiting requests, in order of arrival.
    waiting: Vec<QueuedRequest>,
    /// End of the last request that went to the disk; `batch` is the number of requests in its
    /// batch.
    position: u64,
    batch: u32,
}

impl DiskQueue {
    /// Returns the queue of a disk that takes `depth` requests at once, with `tags` in its driver,
    /// and up to `sectors` and `segments` in a request.
    pub fn new(scheduler: Scheduler, depth: u32, tags: u32, sectors: u32, segments: u32) -> Self {
        // A scheduler has twice as many requests to order (`blk_mq_init_sched()`).
        let tags = if scheduler == Scheduler::None { tags } else { 2 * tags.min(128) };
        let largest = (u64::from(sectors) * 512).min(u64::from(segments) * PAGE).min(LARGEST);
        Self {
            scheduler,
            tags,
            allocated: 0,
            waits: TagWaits::new(tags),
            depth,
            at_disk: 0,
            largest: largest / PAGE * PAGE,
            waiting: Vec::new(),
            position: 0,
            batch: 0,
        }
    }

    /// Takes a tag for a job; if none is left, the job sleeps until it is woken.
    pub fn allocate(&mut self, job: usize) -> bool {
        let has_room = self.allocated < self.tags;
        self.allocated += u32::from(has_room);
        if !has_room {
            self.waits.sleep(job);
        }
        has_room
    }

    pub fn insert(&mut self, request: QueuedRequest) {
        self.waiting.push(request);
    }

    /// Inserts requests that have no tags, so that the queue may be longer than the kernel's.
    pub fn insert_beyond(&mut self, requests: Vec<QueuedRequest>) {
        self.allocated += requests.len() as u32;
        self.waiting.extend(requests);
    }

    /// Returns the requests of a read.
    pub fn split(&self, start: u64, bytes: u64, read: usize, now: Nanos) -> Vec<QueuedRequest> {
        let starts = (start..start + bytes).step_by(self.largest as usize);
        let request = |first: u64| QueuedRequest {
            start: first,
            bytes: self.largest.min(start + bytes - first),
            reads: vec![read],
            submitted: now,
        };
        starts.map(request).collect()
    }

    /// Returns whether no request waits or is at the disk.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.at_disk == 0
    }

    /// Removes and returns the next request for the disk, if the disk takes one more.
    pub fn dispatch(&mut self, now: Nanos) -> Option<QueuedRequest> {
        if self.at_disk >= self.depth || self.waiting.is_empty() {
            return None;
        }
        let next = if self.scheduler == Scheduler::None { 0 } else { self.by_deadline(now) };
        let request = self.waiting.remove(next);
        self.position = request.start + request.bytes;
        self.at_disk += 1;
        Some(request)
    }

    /// Counts an ended request. Adds the jobs that this wakes to `woken`.
    pub fn ended(&mut self, woken: &mut VecDeque<usize>) {
        self.allocated -= 1;
        self.at_disk -= 1;
        self.waits.ended(woken);
    }

    /// Returns the index of mq-deadline's next request. It goes in batches in the order of sectors.
    /// A batch begins with the oldest request if that one has expired.
    fn by_deadline(&mut self, now: Nanos) -> usize {
        let ahead = self.waiting.iter().enumerate();
        let ahead = ahead.filter(|(_, request)| request.start >= self.position);
        let next = ahead.min_by_key(|(_, request)| request.start).map(|(index, _)| index);
        if let Some(next) = next.filter(|_| self.batch > 0 && self.batch < BATCH) {
            self.batch += 1;
            return next;
        }
        self.batch = 1;
        let is_expired = self.waiting[0].submitted.saturating_add(READ_EXPIRE) <= now;
        next.filter(|_| !is_expired).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(start: u64, submitted: u64) -> QueuedRequest {
        let submitted = Nanos::from_millis(submitted);
        QueuedRequest { start, bytes: PAGE, reads: Vec::new(), submitted }
    }

    fn order(scheduler: Scheduler, now: u64) -> Vec<u64> {
        let mut queue = DiskQueue::new(scheduler, 32, 32, 65535, 168);
        for (start, submitted) in [(500 * PAGE, 0), (100 * PAGE, 1), (300 * PAGE, 2)] {
            assert!(queue.allocate(0));
            queue.insert(request(start, submitted));
        }
        let now = Nanos::from_millis(now);
        std::iter::from_fn(|| queue.dispatch(now)).map(|request| request.start / PAGE).collect()
    }

    #[test]
    fn requests_go_to_the_disk_in_the_schedulers_order() {
        assert_eq!(order(Scheduler::None, 3), [500, 100, 300]);
        assert_eq!(order(Scheduler::MqDeadline, 3), [100, 300, 500]);
        assert_eq!(order(Scheduler::MqDeadline, 600), [500, 100, 300], "the first has expired");
    }

    #[test]
    fn a_disk_gets_no_more_than_it_takes() {
        let mut queue = DiskQueue::new(Scheduler::MqDeadline, 2, 2, 65535, 168);
        assert_eq!(queue.largest, 672 << 10, "168 pages");
        assert_eq!((0..9).filter(|_| queue.allocate(0)).count(), 4, "twice the driver's tags");
        (0..4).for_each(|n| queue.insert(request(n * PAGE, 0)));
        assert_eq!(std::iter::from_fn(|| queue.dispatch(Nanos::ZERO)).count(), 2);
        queue.ended(&mut VecDeque::new());
        assert!(queue.allocate(0));
        assert!(queue.dispatch(Nanos::ZERO).is_some());
        assert!(queue.dispatch(Nanos::ZERO).is_none());
    }

    #[test]
    fn ended_requests_wake_jobs_in_batches() {
        let mut waits = TagWaits::new(16);
        let mut woken = VecDeque::new();
        waits.ended(&mut woken);
        for job in [3, 1, 2] {
            waits.sleep(job);
        }
        waits.ended(&mut woken);
        assert!(woken.is_empty(), "a batch is two, and one ended while nobody slept: {woken:?}");
        waits.ended(&mut woken);
        assert_eq!(woken, [3, 1]);
        waits.sleep(3);
        (0..2).for_each(|_| waits.ended(&mut woken));
        assert_eq!(woken, [3, 1, 2, 3]);
    }
}
