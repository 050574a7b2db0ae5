//! A modelled disk as the disk under test. It runs in virtual time, so measuring takes hardly any
//! real time.

use disklab_disks::{Completion, Disk, Request};
use disklab_units::{Bytes, Nanos};

use crate::error::Result;
use crate::target::{Probe, Target, Timed};

pub struct Modelled {
    disk: Box<dyn Disk>,
    bytes: Bytes,
    now: Nanos,
    done: Vec<Completion>,
}

impl Modelled {
    /// Returns `disk`, of size `bytes`, as a target at time 0.
    pub fn new(disk: Box<dyn Disk>, bytes: Bytes) -> Self {
        Self { disk, bytes, now: Nanos::ZERO, done: Vec::new() }
    }
}

impl Target for Modelled {
    fn bytes(&self) -> Bytes {
        self.bytes
    }

    fn now(&self) -> Nanos {
        self.now
    }

    fn idle(&mut self, time: Nanos) {
        self.now += time;
    }

    fn serve(&mut self, depth: usize, probes: &[Probe]) -> Result<Vec<Timed>> {
        let mut timed: Vec<Timed> = Vec::with_capacity(probes.len());
        let mut under_way = 0;
        loop {
            while under_way < depth.max(1)
                && let Some(probe) = probes.get(timed.len())
            {
                let id = timed.len() as u32;
                timed.push(Timed { submitted: self.now, done: Nanos::MAX });
                let Probe { op, sector, sectors } = *probe;
                self.disk.submit(self.now, Request { id, op, sector, sectors, fua: false });
                under_way += 1;
            }
            let Some(next) = self.disk.next_event().filter(|_| under_way > 0) else { break };
            self.now = next;
            self.disk.advance(next, &mut self.done);
            for completion in self.done.drain(..) {
                timed[completion.id as usize].done = completion.at;
                under_way -= 1;
            }
        }
        Ok(timed)
    }
}
