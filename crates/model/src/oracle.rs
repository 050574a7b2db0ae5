//! The oracle: a choice of mirrors that asks the disk models themselves.
//!
//! For each mirror it lets a copy of the disks and their queues go on with the read, as if no other
//! read came any more, and looks when the read ends. No kernel can do so; a policy that comes near
//! the oracle chooses well with what a kernel knows.
//!
//! The oracle knows the disks and not the jobs: it is no bound where the next reads matter, as
//! where a stream that changes its mirror costs the reads behind it a seek.

use std::collections::VecDeque;

use disklab_units::Nanos;

use crate::block_layer::{BlockLayer, Nobody};
use crate::queue::QueuedRequest;

/// What the oracle wants to be least.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// The time at which the read ends.
    Own,
    /// The sum of the times at which all reads of the disk end, more than without this one.
    All,
}

/// The number of the read that is to be placed, which has none yet.
pub const ASKED: usize = usize::MAX;

impl Oracle {
    /// Returns the price of a read at a disk. `layer` is a copy of everything but `asked`, the
    /// requests of the read.
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

/// Lets the disks go on until the requests of `asked` have ended, or all of that disk if
/// `all_count`. Returns when the last of `asked` ends, and the sum of the times of all that ended.
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

    /// Two disks that serve one request at a time, in so many microseconds each. The first has
    /// begun with one of sector 0, and the others wait, in the order of their places.
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
