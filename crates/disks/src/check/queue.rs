//! Checks that the queue of a hard disk chooses as its description says. No command is served
//! before one that arrived earlier by more than the patience, or before one that is nearer by more
//! than the drive's error. No command completes before its data has passed the head, and no more
//! commands than a batch are reported at once.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Seed};

use super::law::{Answered, Broken, Law, ensure};
use crate::event_log::DiskEvent;
use crate::hdd::geometry::Arm;
use crate::hdd::mechanics::Mechanics;
use crate::{Op, Request};

pub(super) struct QueueLaw {
    model: Hdd,
    mechanics: Mechanics,
    /// Longest time from the submission of a request until the drive has decoded it.
    decoding: Nanos,
    /// Submission time of each request that has not completed, by id.
    under_way: BTreeMap<u32, Nanos>,
    /// Ids of requests that found the drive's queue full. The queue is not responsible for the time
    /// that they wait outside.
    outside: BTreeSet<u32>,
    /// Completion time of the last flush, which no command overtakes.
    flushed: Nanos,
    /// Time at which the head had passed the data of each request that has not completed, by id.
    passed: BTreeMap<u32, Nanos>,
    /// The accesses for which the arm moved, by the time at which it left; these times are those of
    /// the drive's choices.
    accesses: BTreeMap<Nanos, ChosenAccess>,
    /// The sector behind the last access, if that was a read.
    read_up_to: Option<u64>,
    /// Completion time of the last request with an access of its own, and the number of such
    /// requests completed at that time.
    reported: (Nanos, u32),
}

/// An access to the medium for a request.
struct ChosenAccess {
    sectors: Range<u64>,
    write: bool,
    id: u32,
    /// Submission time of the request.
    submitted: Nanos,
    /// The place that the arm left.
    from: Arm,
    /// Whether this is a read that continues the last one. Such a read is next, whatever is nearer.
    sequel: bool,
}

/// Limit of the drive's error about a command, as a multiple of the arm's time to it.
const MOST_TRAVELS: u64 = 6;

/// Number of other choices that are checked for each request.
const CHOICES: usize = 32;

/// Number of past choices that are kept even if few requests are under way.
const KEPT: usize = 256;

impl QueueLaw {
    pub fn new(model: &Hdd, bytes: Bytes, seed: Seed) -> Self {
        Self {
            mechanics: Mechanics::new(model, bytes, seed),
            decoding: Nanos(model.command_overhead.0 + 1) * u64::from(model.queue_depth),
            under_way: BTreeMap::new(),
            passed: BTreeMap::new(),
            outside: BTreeSet::new(),
            flushed: Nanos::ZERO,
            accesses: BTreeMap::new(),
            read_up_to: None,
            reported: (Nanos::ZERO, 0),
            model: model.clone(),
        }
    }

    /// Returns the most that it costs a command to have arrived `later` than another.
    fn late(&self, later: Nanos) -> Nanos {
        let Hdd { queue_patience, queue_error, .. } = self.model;
        let longest = self.mechanics.longest_reach() + queue_error.0 + 1;
        let part = later.0.min(queue_patience.0) as f64 / queue_patience.0.max(1) as f64;
        // The additions are for rounding, and because the drive rounds its rate of costs up.
        Nanos((longest as f64 * part) as u64 + 2 + (queue_patience.0 >> 16))
    }

    /// Checks the choices of other commands during `waited`, while a command waited and the drive
    /// knew it. `access` is the command's own, later access.
    fn choices(&self, id: u32, waited: Range<Nanos>, access: &ChosenAccess) -> Broken {
        let geometry = &self.mechanics.geometry;
        let target = |access: &ChosenAccess| {
            self.mechanics.target(geometry.place(access.sectors.start), access.write)
        };
        let waiting = target(access);
        let error = self.model.queue_error.0;
        let others = self.accesses.range(waited.clone()).filter(|(_, other)| !other.sequel);
        for (at, other) in others.take(CHOICES) {
            let angle = self.mechanics.angle_at(*at);
            let reach = self.mechanics.reach(other.from, angle, &target(other));
            let nearer = self.mechanics.reach(other.from, angle, &waiting);
            let error = error.min(MOST_TRAVELS * self.mechanics.travel(other.from, &waiting));
            let late = self.late(waited.start.saturating_sub(other.submitted));
            ensure(Nanos(reach) <= Nanos(nearer + error) + late, || {
                let [reach, nearer, error] = [reach, nearer, error].map(Nanos);
                format!(
                    "at {at} the drive chooses an access {reach} away, and request {id} is \
                     {nearer} away: it errs by {error} at most, and age makes no more than {late}"
                )
            })?;
        }
        Ok(())
    }

    /// Forgets the choices before the submission of the oldest request under way.
    fn forget(&mut self) {
        if self.accesses.len() > KEPT + 4 * self.under_way.len() {
            let oldest = self.under_way.values().min().copied().unwrap_or(Nanos::MAX);
            self.accesses = self.accesses.split_off(&oldest);
        }
    }
}

impl Law for QueueLaw {
    fn submitted(&mut self, now: Nanos, request: &Request) {
        self.under_way.insert(request.id, now);
        if self.under_way.len() > self.model.queue_depth as usize {
            self.outside.insert(request.id);
        }
    }

    fn happened(&mut self, event: &DiskEvent) -> Broken {
        let &DiskEvent::Medium { ref sectors, write, request, from, end, .. } = event else {
            return Ok(());
        };
        let sequel = !write && self.read_up_to == Some(sectors.start);
        self.read_up_to = (!write).then_some(sectors.end);
        let Some(id) = request else { return Ok(()) };
        let submitted = self.under_way.get(&id).copied();
        let submitted =
            submitted.ok_or_else(|| format!("request {id} gets its data and is not under way"))?;
        self.passed.insert(id, end);
        if let Some((left, cylinder, surface)) = from {
            let (sectors, from) = (sectors.clone(), Arm { cylinder, surface });
            let access = ChosenAccess { sectors, write, id, submitted, from, sequel };
            self.accesses.insert(left, access);
        }
        Ok(())
    }

    fn answered(&mut self, answered: &Answered) -> Broken {
        let &Answered { request, submitted, started, at } = answered;
        let id = request.id;
        self.under_way.remove(&id);
        let waited_outside = self.outside.remove(&id);
        if request.op == Op::Flush {
            self.flushed = at;
        }
        self.forget();
        // Data that did not pass the head for this request came from memory or went there.
        let Some(end) = self.passed.remove(&id) else { return Ok(()) };
        ensure(at >= end, || {
            format!("request {id} is done at {at}, and its data passed the head until {end}")
        })?;
        self.reported = if self.reported.0 == at { (at, self.reported.1 + 1) } else { (at, 1) };
        // One more than a batch is allowed, because the transfer of an earlier request may end at
        // the same time.
        let (many, batch) = (self.reported.1, self.model.completion_batch);
        ensure(many <= batch + 1, || {
            format!("{many} requests are reported at {at}, and a batch is {batch}")
        })?;
        let own = self.accesses.get(&started).filter(|access| access.id == id && !waited_outside);
        let Some(access) = own else { return Ok(()) };
        let arrived = submitted.max(self.flushed).min(started);
        let latest = arrived + self.model.queue_patience + self.decoding;
        let mut others = self.accesses.range(arrived..started);
        if let Some((chosen, other)) = others.find(|(_, other)| other.submitted > latest) {
            return Err(format!(
                "request {id} of {arrived} waits until {started}: one of {} went before it, at \
                 {chosen}",
                other.submitted
            ));
        }
        // This holds only for an access that begins at the request's first sector: a read may have
        // found its first part in the cache after one of the choices.
        if access.sectors.start == request.sector {
            let known = (arrived + self.decoding).min(started);
            self.choices(id, known..started, access)?;
        }
        Ok(())
    }

    fn idle(&mut self) -> Broken {
        self.accesses.clear();
        Ok(())
    }
}
