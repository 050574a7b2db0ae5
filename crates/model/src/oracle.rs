//! The oracle: a read policy that simulates each choice on the disk models.
//!
//! For each mirror, the oracle gives the read to a copy of the disks and their queues, and runs the
//! copy until the read ends, as if no other read followed. No kernel can do this. A policy whose
//! results are near the oracle's makes good use of the facts that a kernel has.
//!
//! The oracle does not know the reads that follow. Its results are not a bound if those reads
//! matter: a stream that changes its mirror makes its next reads seek.

use std::collections::VecDeque;

use disklab_units::Nanos;

use crate::block_layer::{BlockLayer, Nobody};
use crate::queue::QueuedRequest;

/// The cost that the oracle minimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// The time at which the read ends.
    Own,
    /// The increase, by this read, of the sum of the times at which all reads of the disk end.
    All,
}

/// Number of the read for which a mirror is chosen; it has no number of its own yet.
pub const ASKED: usize = usize::MAX;

impl Oracle {
    /// Returns the cost of a read on a disk, in ns. `layer` is a copy of everything but `asked`,
    /// the requests of the read.
    pub fn price(
        self,
        layer: BlockLayer,
        now: Nanos,
        disk: usize,
        asked: Vec<QueuedRequest>,
    ) -> i128 {
        match self {
            Self::Own => ends(layer, now, disk, asked, false).0.0.into(),
            Self::All => {
                let without = ends(layer.clone(), now, disk, Vec::new(), true).1;
                ends(layer, now, disk, asked, true).1 - without
            }
        }
    }
}

/// Runs the disks until the requests of `asked` have ended, or all requests of that disk if
/// `all_count`. Returns the time at which the last request of `asked` ends, and the sum of the
/// times at which reads of the disk end.
fn ends(
    mut layer: BlockLayer,
    mut now: Nanos,
    disk: usize,
    asked: Vec<QueuedRequest>,
    all_count: bool,
) -> (Nanos, i128) {
    let mut left = asked.len();
    layer.queues[disk].insert_beyond(asked);
    let (mut last, mut sum) = (Nanos::ZERO, 0);
    let (mut done, mut woken) = (Vec::new(), VecDeque::new());
    for disk in 0..layer.queues.len() {
        layer.feed(now, disk, &mut Nobody);
    }
    while if all_count { !layer.queues[disk].is_idle() } else { left > 0 }
        && let Some(next) = layer.bank().next_event()
    {
        now = next;
        layer.advance(now, &mut done);
        for (of, completion) in done.drain(..) {
            let Some(queued) = layer.take(of, &completion, &mut Nobody) else { continue };
            layer.queues[of].ended(&mut woken);
            layer.feed(now, of, &mut Nobody);
            if of == disk {
                sum += i128::from(completion.at.0) * queued.reads.len() as i128;
                if queued.reads.contains(&ASKED) {
                    last = completion.at;
                    left -= 1;
                }
            }
        }
    }
    (last, sum)
}

#[cfg(test)]
mod tests {
    use disklab_config::device::{Constant, Model};
    use disklab_config::scheduler::Scheduler;
    use disklab_disks::Bank;
    use disklab_units::{Bytes, Seed};

    use super::*;
    use crate::queue::DiskQueue;

    /// Makes two disks that serve one request at a time, each in its number of microseconds. The
    /// first disk serves a request at sector 0, and `at_first - 1` others wait, in the order of
    /// their sectors.
    fn layer(micros: [u64; 2], at_first: u64) -> BlockLayer {
        let disk = |micros| {
            let latency = Nanos::from_micros(micros);
            let model = Constant { latency, servers: 1, rotational: false, queue_depth: 1 };
            disklab_disks::build(&Model::Constant(model), Bytes::gib(1), Seed(1))
        };
        let queue = DiskQueue::new(Scheduler::MqDeadline, 1, 32, 256, 168);
        let bank = Bank::new(micros.map(disk).into(), None, None);
        let mut layer = BlockLayer::new(vec![queue.clone(), queue], bank);
        let requests = (0..at_first).map(|number| request(number << 20, number as usize));
        layer.queues[0].insert_beyond(requests.collect());
        layer.feed(Nanos::ZERO, 0, &mut Nobody);
        layer
    }

    fn request(start: u64, read: usize) -> QueuedRequest {
        QueuedRequest { start, bytes: 4096, reads: vec![read], submitted: Nanos::ZERO }
    }

    fn prices(oracle: Oracle, layer: &BlockLayer, start: u64) -> [i128; 2] {
        let asked = || vec![request(start, ASKED)];
        [0, 1].map(|disk| oracle.price(layer.clone(), Nanos::ZERO, disk, asked()) / 1000)
    }

    #[test]
    fn a_busy_disk_may_end_a_read_before_an_idle_one() {
        let far = 512 << 20;
        for (waiting, wanted) in [(0, [300, 1000]), (2, [900, 1000]), (3, [1200, 1000])] {
            assert_eq!(prices(Oracle::Own, &layer([300, 1000], waiting), far), wanted);
        }
        assert_eq!(prices(Oracle::All, &layer([300, 1000], 3), far), [1200, 1000]);
    }

    /// The scheduler puts the read before the three that wait, each of which then ends 1 ms later.
    #[test]
    fn what_a_read_costs_the_others_counts_if_it_is_wanted() {
        let layer = layer([1000, 4500], 4);
        assert_eq!(prices(Oracle::Own, &layer, 4096), [2000, 4500]);
        assert_eq!(prices(Oracle::All, &layer, 4096), [5000, 4500]);
    }

    #[test]
    fn asking_changes_nothing() {
        let asked = layer([1000, 4500], 4);
        prices(Oracle::All, &asked, 4096);
        let left = |layer: BlockLayer| ends(layer, Nanos::ZERO, 0, Vec::new(), true);
        assert_eq!(left(asked), left(layer([1000, 4500], 4)));
        assert_eq!(left(layer([1000, 4500], 4)).1, 10_000_000, "1, 2, 3 and 4 ms");
    }
}
