//! The drive's side of the cable. Commands come in and are decoded one after another, all data
//! shares one link, and completions go out. Every family except `constant` has a port.

use std::collections::VecDeque;

use disklab_units::{Bytes, Nanos, Rate};

use crate::event_log::{DiskEvent, EventLog};
#[cfg(test)]
use crate::plant::Bug;
use crate::{Completion, Counters, Disk, Op, Request};

/// Returns the earlier of two times, each of which may be absent. (This is called several times a
/// request, and an iterator's minimum takes longer.)
pub(crate) fn earlier(one: Option<Nanos>, other: Option<Nanos>) -> Option<Nanos> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// The times that a [`Port`] takes.
#[derive(Clone)]
pub(crate) struct PortSpeed {
    /// Time from a command's submission until the drive has decoded it.
    pub decode: Nanos,
    /// Least time between the decoding of two commands that both wait: what the firmware spends on
    /// each.
    pub pace: Nanos,
    /// The rate of the cable, which both directions share, as in SATA.
    pub link: Rate,
    /// The cable's time for the protocol around the data of each command.
    pub link_command: Nanos,
    /// Number of commands that the drive holds at a time; the others wait outside.
    pub depth: u32,
    /// Whether a flush is queued like other commands. In SATA it is not: it waits for all others,
    /// and they wait for it.
    pub queued_flush: bool,
}

impl Default for PortSpeed {
    /// Returns the speed of a port that takes no time and serves one command after another.
    fn default() -> Self {
        let none = Nanos::ZERO;
        let link = Rate(u64::MAX);
        Self { decode: none, pace: none, link, link_command: none, depth: 1, queued_flush: false }
    }
}

/// A drive behind a [`Port`], which advances in steps: either a command has been decoded, or work
/// that the drive had begun is done.
pub(crate) trait PortedDrive: Clone + Send + 'static {
    fn port(&self) -> &Port;

    fn port_mut(&mut self) -> &mut Port;

    /// Returns the time of the next step.
    fn next_step(&self) -> Option<Nanos>;

    /// Executes the step that is due at `at`.
    fn step(&mut self, at: Nanos);

    /// Prepares for a command that will be decoded soon.
    fn expect(&self, _request: &Request) {}

    /// Returns [`Disk::next_event`] for a port that is not quiet. `settled` is the first completion
    /// whose time is known.
    fn next_end(&self, settled: Option<Nanos>) -> Option<Nanos> {
        earlier(settled, self.next_step())
    }

    fn totals(&self) -> Counters;

    fn for_each_log(&mut self, mut visit: impl FnMut(&mut EventLog)) {
        visit(&mut self.port_mut().event_log);
    }

    /// Executes all steps up to `now`, and those after `now` that no later command could change.
    fn run(&mut self, now: Nanos) {
        let sure_before = self.port().next_decoded(now);
        while let Some(at) = self.next_step() {
            if at > now && at >= sure_before {
                break;
            }
            self.port_mut().clock = at;
            self.step(at);
        }
    }
}

impl<D: PortedDrive> Disk for D {
    fn copy(&self) -> Box<dyn Disk> {
        Box::new(self.clone())
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        self.expect(&request);
        self.port_mut().submit(now, request);
        self.run(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        let settled = self.port().next_completion();
        if self.port().is_quiet() { settled } else { self.next_end(settled) }
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        self.run(now);
        self.port_mut().deliver(now, done);
    }

    fn counters(&self) -> Counters {
        self.totals()
    }

    fn record_events(&mut self) {
        self.for_each_log(EventLog::open);
    }

    fn events(&mut self, into: &mut Vec<DiskEvent>) {
        self.for_each_log(|log| log.drain(into));
    }
}

#[derive(Clone, Default)]
pub(crate) struct Port {
    /// Time up to which everything has happened.
    pub clock: Nanos,
    speed: PortSpeed,
    /// Commands that the drive has not taken, each with the time at which it is decoded.
    arriving: VecDeque<(Nanos, Request)>,
    /// Commands taken by the drive whose completion time is not known yet.
    in_service: u32,
    /// Whether a flush that excludes all other commands is in service.
    alone: bool,
    /// Completion time of the last such flush, before which no command is taken.
    alone_until: Nanos,
    last_decoded: Nanos,
    link_free: Nanos,
    last_completion: Nanos,
    /// Completions whose time is known, in order of time.
    outbox: VecDeque<Completion>,
    pub event_log: EventLog,
}

impl Port {
    pub fn new(speed: PortSpeed) -> Self {
        let room = speed.depth.min(1024) as usize * 2;
        Self {
            speed,
            arriving: VecDeque::with_capacity(room),
            outbox: VecDeque::with_capacity(room),
            ..Self::default()
        }
    }

    pub fn submit(&mut self, now: Nanos, request: Request) {
        let decoded = self.next_decoded(now);
        self.last_decoded = decoded;
        self.arriving.push_back((decoded, request));
    }

    /// Returns the time at which a command submitted at `now` would be decoded. Commands still to
    /// come cannot change anything that happens in the drive *before* this time. A model may
    /// therefore work ahead of its caller, who is woken for completions only and not for the steps
    /// in between.
    pub fn next_decoded(&self, now: Nanos) -> Nanos {
        // The pace is at least one nanosecond, so that no two commands are decoded at once and
        // their order is unambiguous.
        let pace = self.speed.pace.max(Nanos(1));
        now.saturating_add(self.speed.decode).max(self.last_decoded.saturating_add(pace))
    }

    /// Returns the time at which the next command may be taken, or `None` if there is none, or if
    /// it must wait for others to complete.
    pub fn next_command(&self) -> Option<Nanos> {
        let &(decoded, request) = self.arriving.front()?;
        if self.alone {
            return None;
        }
        if self.goes_alone(request) {
            let free = decoded.max(self.last_completion).max(self.clock);
            return (self.in_service == 0).then_some(free);
        }
        // A command occupies a place in the queue until its completion time, which may be known
        // earlier.
        let held = self.in_service as usize + self.outbox.len();
        let free = match held.checked_sub(self.speed.depth.max(1) as usize) {
            None => Nanos::ZERO,
            Some(before) => self.outbox.get(before)?.at,
        };
        Some(decoded.max(self.alone_until).max(free).max(self.clock))
    }

    /// Removes and returns the command to which [`Port::next_command`] refers.
    pub fn take(&mut self) -> Option<Request> {
        self.next_command()?;
        let (_, request) = self.arriving.pop_front()?;
        self.in_service += 1;
        self.alone = self.goes_alone(request);
        Some(request)
    }

    fn goes_alone(&self, request: Request) -> bool {
        request.op == Op::Flush && !self.speed.queued_flush
    }

    /// Returns the number of commands taken whose completion time is not known yet.
    pub fn in_service(&self) -> u32 {
        self.in_service
    }

    /// Returns whether no command is waiting or in service with an unknown end. Any work that the
    /// drive still does is its own.
    pub fn is_quiet(&self) -> bool {
        self.in_service == 0 && self.arriving.is_empty()
    }

    /// Transfers `bytes` over the link, at `at` or as soon as the link is free. Returns the time at
    /// which the transfer ends.
    pub fn transfer(&mut self, at: Nanos, bytes: Bytes) -> Nanos {
        let time = self.speed.link.time_for(bytes);
        self.link_free = self.link_free.max(at).saturating_add(time);
        #[cfg(test)]
        if Bug::HalfATransfer.is_planted() {
            self.link_free -= Nanos(time.0 / 2);
        }
        self.event_log.note(|| DiskEvent::Link { end: self.link_free, bytes });
        self.link_free
    }

    /// Makes the last transfer of a command, like [`Port::transfer`], with the protocol around the
    /// data.
    pub fn last_transfer(&mut self, at: Nanos, bytes: Bytes) -> Nanos {
        self.last_transfer_with(at, bytes, self.speed.link_command)
    }

    /// Makes the last transfer of a command like [`Port::last_transfer`], with `command` as the
    /// time for the protocol around the data.
    pub fn last_transfer_with(&mut self, at: Nanos, bytes: Bytes, command: Nanos) -> Nanos {
        self.link_free = self.transfer(at, bytes).saturating_add(command);
        self.link_free
    }

    /// Transfers `bytes` that came in piecemeal until `end` and were sent on as they came. Returns
    /// the time at which the last of them is sent.
    pub fn transfer_along(&mut self, end: Nanos, bytes: Bytes) -> Nanos {
        let time = self.speed.link.time_for(bytes).saturating_add(self.speed.link_command);
        self.link_free = self.link_free.saturating_add(time).max(end);
        self.event_log.note(|| DiskEvent::Link { end: self.link_free, bytes });
        self.link_free
    }

    /// Returns a lower bound for [`Port::last_transfer_with`] with data that is ready at `at`.
    pub fn earliest_transfer(&self, at: Nanos, bytes: Bytes, command: Nanos) -> Nanos {
        let time = self.speed.link.time_for(bytes).saturating_add(command);
        self.link_free.max(at).saturating_add(time)
    }

    /// Notes that a command in service completes at `completion.at`, now or later.
    pub fn finish(&mut self, completion: Completion) {
        self.in_service -= 1;
        if std::mem::take(&mut self.alone) {
            self.alone_until = completion.at;
        }
        self.last_completion = self.last_completion.max(completion.at);
        let later = self.outbox.iter().rev().take_while(|other| other.at > completion.at).count();
        self.outbox.insert(self.outbox.len() - later, completion);
    }

    /// Completes a command that transfers no data and began at `started`.
    pub fn answer(&mut self, at: Nanos, id: u32, started: Nanos) {
        let done = self.last_transfer(at, Bytes::ZERO);
        self.finish(Completion { id, at: done, started });
    }

    /// Returns the time of the first completion that is certain.
    pub fn next_completion(&self) -> Option<Nanos> {
        self.outbox.front().map(|completion| completion.at)
    }

    pub fn deliver(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let due = self.outbox.iter().take_while(|completion| completion.at <= now).count();
        done.extend(self.outbox.drain(..due));
    }
}
