//! The calendar: events in order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use disklab_units::Nanos;

/// Events to come, handed out in order of time; events of equal time in the order in which they were scheduled.
///
/// The calendar holds no clock: who pops an event moves their own clock to it. An event scheduled before one that was
/// already popped is simply the next.
///
/// There is no way to cancel an event. Where a plan may change, let `T` carry a generation number, count the
/// generation on when the plan changes, and drop events of an older one as they come up: that costs less than a
/// search, and nothing when plans hold.
///
/// It allocates only when more events are pending than ever before.
///
/// ```
/// use disklab_des::Calendar;
/// use disklab_units::Nanos;
///
/// let mut calendar = Calendar::new();
/// calendar.schedule(Nanos(20), "land");
/// calendar.schedule(Nanos(10), "start");
/// assert_eq!(calendar.next_at(), Some(Nanos(10)));
/// assert_eq!(calendar.pop_due(Nanos(15)), Some((Nanos(10), "start")));
/// assert_eq!(calendar.pop_due(Nanos(15)), None);
/// assert_eq!(calendar.pop(), Some((Nanos(20), "land")));
/// ```
#[derive(Debug, Clone)]
pub struct Calendar<T> {
    heap: BinaryHeap<Entry<T>>,
    scheduled: u64,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    at: Nanos,
    /// How many events were scheduled before this one: the order among equal times.
    number: u64,
    event: T,
}

impl<T> Entry<T> {
    /// One number to compare: a single branch where a tuple takes two.
    fn key(&self) -> u128 {
        u128::from(self.at.0) << 64 | u128::from(self.number)
    }
}

/// `BinaryHeap` hands out the greatest, so the earliest entry is the greatest.
impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> Calendar<T> {
    pub fn new() -> Self {
        Self::with_capacity(0)
    }

    /// An empty calendar with room for `pending` events before it must allocate.
    pub fn with_capacity(pending: usize) -> Self {
        Self { heap: BinaryHeap::with_capacity(pending), scheduled: 0 }
    }

    pub fn schedule(&mut self, at: Nanos, event: T) {
        self.heap.push(Entry { at, number: self.scheduled, event });
        self.scheduled += 1;
    }

    /// When the next event is due; `None` if nothing is scheduled.
    pub fn next_at(&self) -> Option<Nanos> {
        self.heap.peek().map(|entry| entry.at)
    }

    /// Takes the next event out, whenever it is due.
    pub fn pop(&mut self) -> Option<(Nanos, T)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// Takes the next event out if it is due at or before `now`.
    pub fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next_at()? <= now { self.pop() } else { None }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<T> Default for Calendar<T> {
    fn default() -> Self {
        Self::new()
    }
}
