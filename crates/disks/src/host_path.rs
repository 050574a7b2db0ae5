//! The path of a request through the host, from the kernel to its disk, and of its completion back.

use std::collections::VecDeque;

use disklab_config::host::HostTime;
use disklab_units::Nanos;

#[cfg(test)]
use crate::plant::Bug;
use crate::port::earlier;
use crate::{Completion, Request};

/// The requests and completions, of all disks, that are on their way through the host.
#[derive(Clone)]
pub(crate) struct HostPath {
    time: HostTime,
    /// Requests on the way to their disks, in order, each with its time of arrival there and its
    /// disk.
    leaving: VecDeque<(Nanos, usize, Request)>,
    /// Completions on the way to the kernel, in order, each with its disk.
    returning: VecDeque<(usize, Completion)>,
    /// Time from which the processor is free.
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

    /// Occupies the processor with a request or completion that comes at `at`, and returns the time
    /// at which it begins.
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

    /// Removes and returns the request to which [`HostPath::next_leaving`] refers, with its disk.
    pub fn leave(&mut self) -> Option<(usize, Request)> {
        self.leaving.pop_front().map(|(_, disk, request)| (disk, request))
    }

    /// Takes over a completion from a disk. Completions come in the order of their times.
    pub fn answered(&mut self, disk: usize, mut completion: Completion) {
        completion.at = self.use_core(completion.at).saturating_add(self.time.way_back());
        self.returning.push_back((disk, completion));
    }

    pub fn next_event(&self) -> Option<Nanos> {
        earlier(self.next_leaving(), self.returning.front().map(|(_, completion)| completion.at))
    }

    /// Appends the completions that have reached the kernel by `now`.
    pub fn deliver(&mut self, now: Nanos, done: &mut Vec<(usize, Completion)>) {
        let due = self.returning.partition_point(|(_, completion)| completion.at <= now);
        done.extend(self.returning.drain(..due));
    }
}
