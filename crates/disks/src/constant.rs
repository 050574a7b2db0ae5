//! A disk on which every request takes the same time, whatever its size and place. It serves to
//! test theory, and to measure everything that is not the disk.

use std::collections::VecDeque;

use disklab_config::device::Constant;
use disklab_units::Nanos;

use crate::{Completion, Counters, Disk, Op, Request};

/// A disk that serves `servers` requests at a time, for `latency` each. The others wait in the
/// order of their submission.
///
/// Because all requests take equally long, they also complete in that order, and the time of
/// completion is known at submission.
#[derive(Clone, Default)]
pub(crate) struct ConstantDisk {
    latency: Nanos,
    servers: usize,
    /// Requests that were submitted and not delivered, in order of completion, each with its
    /// operation and number of sectors for the counters. Whole requests would make the queue half
    /// as large again, and this device is the baseline for the speed of others.
    pending: VecDeque<(Completion, Op, u32)>,
    /// Completion times of the last `servers` requests, oldest first. The server of the first of
    /// them serves the next request.
    servers_free: VecDeque<Nanos>,
    busy_until: Nanos,
    counters: Counters,
}

impl ConstantDisk {
    pub fn new(model: &Constant) -> Self {
        Self {
            latency: model.latency,
            servers: model.servers.max(1) as usize,
            pending: VecDeque::with_capacity(64),
            servers_free: VecDeque::with_capacity(64),
            ..Self::default()
        }
    }
}

impl Disk for ConstantDisk {
    fn copy(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        let all_taken = self.servers_free.len() >= self.servers;
        let free = if all_taken { self.servers_free.pop_front() } else { None };
        let started = free.map_or(now, |free| free.max(now));
        let at = started.saturating_add(self.latency);
        self.servers_free.push_back(at);
        let completion = Completion { id: request.id, at, started };
        self.pending.push_back((completion, request.op, request.sectors));
    }

    fn next_event(&self) -> Option<Nanos> {
        self.pending.front().map(|(completion, ..)| completion.at)
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let due = self.pending.iter().take_while(|(completion, ..)| completion.at <= now).count();
        for (completion, op, sectors) in self.pending.drain(..due) {
            let counters = &mut self.counters;
            let sectors = u64::from(sectors);
            match op {
                Op::Read => counters.media_read_sectors += sectors,
                Op::Write => counters.media_written_sectors += sectors,
                Op::Flush => counters.flushes += 1,
                Op::Discard | Op::WriteZeroes => {}
            }
            let begin = completion.started.max(self.busy_until);
            counters.busy_ns += completion.at.saturating_sub(begin).0;
            self.busy_until = completion.at;
            done.push(completion);
        }
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}
