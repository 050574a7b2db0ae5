//! The block layer's queue of one disk: requests that wait for the disk, and their order.

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

/// A disk's queue. A request has a tag from its allocation to its end.
#[derive(Debug)]
pub struct DiskQueue {
    scheduler: Scheduler,
    /// Requests that may be allocated, and those that are.
    tags: u32,
    allocated: u32,
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
            depth,
            at_disk: 0,
            largest: largest / PAGE * PAGE,
            waiting: Vec::new(),
            position: 0,
            batch: 0,
        }
    }

    /// Takes a tag; false if none is left.
    pub fn allocate(&mut self) -> bool {
        let has_room = self.allocated < self.tags;
        self.allocated += u32::from(has_room);
        has_room
    }

    pub fn insert(&mut self, request: QueuedRequest) {
        self.waiting.push(request);
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

    /// A request has ended.
    pub fn ended(&mut self) {
        self.allocated -= 1;
        self.at_disk -= 1;
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
            assert!(queue.allocate());
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
        assert_eq!((0..9).filter(|_| queue.allocate()).count(), 4, "twice the driver's tags");
        (0..4).for_each(|n| queue.insert(request(n * PAGE, 0)));
        assert_eq!(std::iter::from_fn(|| queue.dispatch(Nanos::ZERO)).count(), 2);
        queue.ended();
        assert!(queue.allocate());
        assert!(queue.dispatch(Nanos::ZERO).is_some());
        assert!(queue.dispatch(Nanos::ZERO).is_none());
    }
}
