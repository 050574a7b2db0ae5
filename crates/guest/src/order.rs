//! The order of requests at the disks: their distances, and whether they are on the same disk as
//! before.

use disklab_disks::Op;

/// A request that the kernel hands over.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub disk: usize,
    pub tag: u32,
    pub op: Op,
    pub fua: bool,
    pub sector: u64,
    pub sectors: u32,
}

/// State after the last request.
#[derive(Debug)]
pub struct Order {
    /// End of each disk's last read or write, in sectors.
    ends: Vec<Option<u64>>,
    /// The disk of the last read.
    last_read: Option<usize>,
}

/// Relation of a request to earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OrderStep {
    /// Distance in sectors from the end of the same disk's previous read or write, in either
    /// direction. It is None for the first read or write, and for other requests.
    pub distance: Option<u64>,
    /// Whether the previous read went to another disk than this read. It is None for the first
    /// read, and for other requests.
    pub switched: Option<bool>,
}

impl Order {
    pub fn new(disks: usize) -> Self {
        Self { ends: vec![None; disks], last_read: None }
    }

    pub fn next(&mut self, arrival: &Arrival) -> OrderStep {
        if matches!(arrival.op, Op::Flush | Op::Discard) {
            return OrderStep::default();
        }
        let end = arrival.sector.saturating_add(u64::from(arrival.sectors));
        let before = self.ends[arrival.disk].replace(end);
        let mut step = OrderStep {
            distance: before.map(|before| before.abs_diff(arrival.sector)),
            switched: None,
        };
        if arrival.op == Op::Read {
            let before = self.last_read.replace(arrival.disk);
            step.switched = before.map(|before| before != arrival.disk);
        }
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(disk: usize, op: Op, sector: u64, sectors: u32) -> Arrival {
        Arrival { disk, tag: 0, op, fua: false, sector, sectors }
    }

    #[test]
    fn distances_are_each_disks_own_and_flushes_have_none() {
        let mut order = Order::new(2);
        let mut distance = |disk, op, sector| order.next(&arrival(disk, op, sector, 8)).distance;
        assert_eq!(distance(0, Op::Read, 100), None);
        assert_eq!(distance(1, Op::Write, 1000), None);
        assert_eq!(distance(0, Op::Read, 108), Some(0), "sequential");
        assert_eq!(distance(0, Op::Flush, 0), None);
        assert_eq!(distance(0, Op::Write, 16), Some(100), "backwards");
        assert_eq!(distance(1, Op::Read, 1108), Some(100));
    }

    #[test]
    fn reads_switch_disks_whatever_is_written_between_them() {
        let mut order = Order::new(3);
        let mut switched = |disk, op| order.next(&arrival(disk, op, 0, 8)).switched;
        assert_eq!(switched(0, Op::Read), None);
        assert_eq!(switched(1, Op::Write), None);
        assert_eq!(switched(0, Op::Read), Some(false));
        assert_eq!(switched(2, Op::Read), Some(true));
    }
}
