//! The block layer's queue of one disk: requests that wait for the disk, and their order.

use std::collections::VecDeque;

use disklab_config::scheduler::Scheduler;
use disklab_units::Nanos;

/// Pieces of memory in a request: a page each, as direct reads have them.
const PAGE: u64 = 4096;
/// The most bytes of a request, whatever the disk takes: `BLK_DEF_MAX_SECTORS_CAP`.
const LARGEST: u64 = 4 << 20;
/// mq-deadline's `fifo_batch` and `read_expire`.
const BATCH: u32 = 16;
const READ_EXPIRE: Nanos = Nanos::from_millis(500);

/// A request of the block layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueuedRequest {
    /// Bytes from the start of the disk.
    pub start: u64,
    pub bytes: u64,
    /// The reads of btrfs that it belongs to.
    pub reads: Vec<usize>,
    pub submitted: Nanos,
}

impl QueuedRequest {
    /// Takes a piece that begins where the request ends, if the request does not get larger than
    /// `largest` by it. Returns whether it did.
    pub fn merge(&mut self, start: u64, bytes: u64, largest: u64, read: usize) -> bool {
        let does = self.start + self.bytes == start && self.bytes + bytes <= largest;
        if does {
            self.bytes += bytes;
            self.reads.push(read);
        }
        does
    }
}

/// Jobs that wait for a tag, as the kernel's lib/sbitmap.c has them wait: each sleeps in the next
/// of eight lines, and so many ended requests as are a batch wake so many jobs, line after line.
/// Who is woken first takes all tags that it can use, and sleeps in a line before the others: jobs
/// that began together drift apart.
#[derive(Debug, Clone)]
struct TagWaits {
    lines: [VecDeque<usize>; 8],
    /// The line that the next sleeper takes, and the first to be woken.
    next_sleeper: usize,
    next_woken: usize,
    batch: u32,
    /// Ended requests that have woken nobody.
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

    /// A request has ended. Adds the jobs that this wakes.
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
    /// Requests that may be allocated, and those that are.
    tags: u32,
    allocated: u32,
    waits: TagWaits,
    /// Requests that the disk takes at once, and has.
    depth: u32,
    at_disk: u32,
    /// The most bytes of a request.
    pub largest: u64,
    /// In order of arrival.
    waiting: Vec<QueuedRequest>,
    /// End of the last request that went to the disk, and how many requests its batch has.
    position: u64,
    batch: u32,
}

impl DiskQueue {
    /// A disk with `depth` requests at once and `tags` in its driver, which takes up to `sectors`
    /// and `segments` in a request.
    pub fn new(scheduler: Scheduler, depth: u32, tags: u32, sectors: u32, segments: u32) -> Self {
        // A scheduler has twice as many requests to order: blk_mq_init_sched().
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

    /// Inserts requests that have got no tags: the queue may be longer than the kernel's.
    pub fn insert_beyond(&mut self, requests: Vec<QueuedRequest>) {
        self.allocated += requests.len() as u32;
        self.waiting.extend(requests);
    }

    /// The requests of a read.
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

    /// Whether no request waits or is at the disk.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.at_disk == 0
    }

    /// The next request for the disk, if it takes one more.
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

    /// A request has ended. Adds the jobs that this wakes.
    pub fn ended(&mut self, woken: &mut VecDeque<usize>) {
        self.allocated -= 1;
        self.at_disk -= 1;
        self.waits.ended(woken);
    }

    /// mq-deadline: in order of sectors, in batches; each batch begins with what has waited too
    /// long, if something has.
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
