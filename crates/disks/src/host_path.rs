//! The way of a request through the machine: from the kernel to its disk, and of the answer back.

use std::collections::VecDeque;

use disklab_config::host::HostTime;
use disklab_units::Nanos;

#[cfg(test)]
use crate::plant::Bug;
use crate::port::earlier;
use crate::{Completion, Request};

/// The requests and answers of all disks that are in the machine's hands.
#[derive(Clone)]
pub(crate) struct HostPath {
    time: HostTime,
    /// Requests on the way to their disks, in order: when they get there.
    leaving: VecDeque<(Nanos, usize, Request)>,
    /// Answers on the way to the kernel, in order.
    returning: VecDeque<(usize, Completion)>,
    /// When the processor is free.
    free: Nanos,
}

impl HostPath {
    pub fn new(time: HostTime) -> Self {
        let (leaving, returning) = (VecDeque::new(), VecDeque::new());
        Self { time, leaving, returning, free: Nanos::ZERO }
    }

    pub fn submit(&mut self, now: Nanos, disk: usize, request: Request) {
        let at = self.use_core(now).saturating_add(self.time.way_there());
        self.leaving.push_back((at, disk, request));
    }

    /// The processor begins with a request or an answer that comes at `at`: returns when.
    fn use_core(&mut self, at: Nanos) -> Nanos {
        let takes = self.time.core_time();
        #[cfg(test)]
        let takes = if Bug::TwoRequestsAtOnce.is_planted() { Nanos(takes.0 / 2) } else { takes };
        let begins = self.free.max(at);
        self.free = begins.saturating_add(takes);
        begins
    }

    pub fn next_leaving(&self) -> Option<Nanos> {
        self.leaving.front().map(|(at, ..)| *at)
    }

    /// Takes the request that [`HostPath::next_leaving`] is about.
    pub fn leave(&mut self) -> Option<(usize, Request)> {
        self.leaving.pop_front().map(|(_, disk, request)| (disk, request))
    }

    /// A disk has answered, no earlier than any answer before.
    pub fn answered(&mut self, disk: usize, mut completion: Completion) {
        completion.at = self.use_core(completion.at).saturating_add(self.time.way_back());
        self.returning.push_back((disk, completion));
    }

    pub fn next_event(&self) -> Option<Nanos> {
        earlier(self.next_leaving(), self.returning.front().map(|(_, completion)| completion.at))
    }

    /// Appends the answers that the kernel has by `now`.
    pub fn deliver(&mut self, now: Nanos, done: &mut Vec<(usize, Completion)>) {
        let due = self.returning.partition_point(|(_, completion)| completion.at <= now);
        done.extend(self.returning.drain(..due));
    }
}
