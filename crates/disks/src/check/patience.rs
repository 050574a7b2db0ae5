//! A hard disk with a patience serves no command before one that arrived so much earlier.

use std::collections::{BTreeMap, BTreeSet};

use disklab_config::device::Hdd;
use disklab_units::Nanos;

use super::law::{Answered, Broken, Law, ensure};
use crate::event_log::DiskEvent;
use crate::{Op, Request};

pub(super) struct Patience {
    /// The patience, and all that may lie between the submission of a request and the drive's
    /// knowing it.
    most: Nanos,
    depth: usize,
    under_way: usize,
    /// By id: requests that the drive has no place for at first. How long they wait for one is
    /// not the queue's.
    outside: BTreeSet<u32>,
    /// When the last flush was done, which nothing passes.
    flushed: Nanos,
    /// When the arm left for a place: the moments of choice.
    left: BTreeSet<Nanos>,
    /// The accesses of commands that were chosen: when each was submitted, by the moment of choice.
    chosen: BTreeMap<Nanos, Nanos>,
}

impl Patience {
    /// Returns the law of a model that promises anything.
    pub fn new(model: &Hdd) -> Option<Self> {
        let decoding = Nanos(model.command_overhead.0 + 1) * u64::from(model.queue_depth);
        Some(Self {
            most: model.queue_patience? + decoding,
            depth: model.queue_depth as usize,
            under_way: 0,
            outside: BTreeSet::new(),
            flushed: Nanos::ZERO,
            left: BTreeSet::new(),
            chosen: BTreeMap::new(),
        })
    }
}

impl Law for Patience {
    fn submitted(&mut self, _now: Nanos, request: &Request) {
        self.under_way += 1;
        if self.under_way > self.depth {
            self.outside.insert(request.id);
        }
    }

    fn happened(&mut self, event: &DiskEvent) -> Broken {
        if let DiskEvent::Medium { from: Some((left, ..)), .. } = event {
            self.left.insert(*left);
        }
        Ok(())
    }

    fn answered(&mut self, answered: &Answered) -> Broken {
        let &Answered { request, submitted, started, at } = answered;
        self.under_way -= 1;
        let waited_outside = self.outside.remove(&request.id);
        if request.op == Op::Flush {
            self.flushed = at;
        }
        // What began at no moment of choice was answered from memory.
        if !self.left.contains(&started) {
            return Ok(());
        }
        self.chosen.insert(started, submitted);
        if waited_outside {
            return Ok(());
        }
        let arrived = submitted.max(self.flushed);
        let passed = self.chosen.range(..started).find(|(_, other)| **other > arrived + self.most);
        let broken = passed.map(|(chosen, other)| {
            format!(
                "request {} of {arrived} waits until {started}: one of {other} went before it, \
                 at {chosen}",
                request.id
            )
        });
        ensure(broken.is_none(), || broken.unwrap_or_default())
    }

    fn idle(&mut self) -> Broken {
        self.left.clear();
        self.chosen.clear();
        Ok(())
    }
}
