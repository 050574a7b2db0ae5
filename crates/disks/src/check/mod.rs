//! Watches whether a disk obeys what is physically possible and keeps its promises.
//!
//! The checkers know a disk by its description and by the events that it reports. They share with
//! the model the places of sectors and the arm's time for a distance, but no decision about time.
//! They find these bugs:
//!
//! - a rotation that is left out, or a die that is used twice;
//! - a flush or a write with FUA that completes too soon;
//! - a command that waits while the drive serves others that came too much later, or that are too
//!   much further away;
//! - a batch of completions that is not delivered.
//!
//! Cards and constant disks report no inner events. The checkers verify that a card serves one
//! command at a time and no faster than it can, and that each request to a constant disk completes
//! once.

mod cable;
mod dies;
mod durability;
mod host;
mod law;
mod platters;
mod queue;
#[cfg(test)]
mod random_devices;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::BTreeMap;

use disklab_config::device::Model;
use disklab_units::{Bytes, Nanos, Seed};

pub(crate) use self::host::HostLaw;
use self::law::{Answered, Broken, Law};
use crate::event_log::DiskEvent;
use crate::{Completion, Counters, Disk, Request};

/// A watched disk, which behaves like the disk inside.
pub(crate) struct CheckedDisk {
    disk: Box<dyn Disk>,
    laws: Vec<Box<dyn Law>>,
    /// Requests under way with their submission times, by id.
    present: BTreeMap<u32, (Nanos, Request)>,
    events: Vec<DiskEvent>,
    done: Vec<Completion>,
    /// The first law that was broken.
    violation: Option<String>,
}

impl CheckedDisk {
    /// Watches `disk`, which [`crate::build`] must have made from the other arguments.
    pub fn new(mut disk: Box<dyn Disk>, model: &Model, bytes: Bytes, seed: Seed) -> Self {
        disk.record_events();
        let mut laws: Vec<Box<dyn Law>> = match model {
            Model::Hdd(hdd) => vec![
                Box::new(platters::Platters::new(hdd, bytes, seed)),
                Box::new(cable::Cable::new(hdd.link, bytes)),
                Box::new(queue::QueueLaw::new(hdd, bytes, seed)),
            ],
            Model::Ssd(ssd) => {
                vec![Box::new(dies::DieLaw::new(ssd)), Box::new(cable::Cable::new(ssd.link, bytes))]
            }
            Model::Card(card) => vec![Box::new(turns::Turns::new(card, bytes))],
            Model::Constant(_) => Vec::new(),
        };
        if model.write_cache() {
            laws.push(Box::new(durability::Durability::new(bytes)));
        }
        Self {
            disk,
            laws,
            present: BTreeMap::new(),
            events: Vec::with_capacity(64),
            done: Vec::with_capacity(64),
            violation: None,
        }
    }

    fn follow(&mut self, now: Nanos) {
        let Self { disk, laws, events, violation, .. } = self;
        disk.events(events);
        for event in events.drain(..) {
            for law in &mut *laws {
                blame(violation, now, law.happened(&event));
            }
        }
    }

    /// Records a violation if requests are under way and the disk has no next event.
    fn expect_event(&mut self, now: Nanos) {
        let Self { disk, present, violation, .. } = self;
        if !present.is_empty() && disk.next_event().is_none() {
            let many = present.len();
            blame(
                violation,
                now,
                Err(format!("{many} requests are under way, and nothing is due")),
            );
        }
    }

    fn complete(&mut self, completion: &Completion) {
        let Completion { id, at, started } = *completion;
        let Self { laws, present, violation, .. } = self;
        let Some((submitted, request)) = present.remove(&id) else {
            let what = format!("request {id} completes and is not under way");
            return blame(violation, at, Err(what));
        };
        if started < submitted || at < started {
            let what = format!(
                "request {id}: submitted at {submitted}, started at {started}, completed at {at}"
            );
            blame(violation, at, Err(what));
        }
        for law in laws {
            blame(violation, at, law.answered(&Answered { request, submitted, started, at }));
            if present.is_empty() {
                blame(violation, at, law.idle());
            }
        }
    }
}

fn blame(violation: &mut Option<String>, at: Nanos, result: Broken) {
    if let Err(what) = result {
        violation.get_or_insert_with(|| format!("at {at}: {what}"));
    }
}

impl Disk for CheckedDisk {
    fn copy(&self) -> Box<dyn Disk> {
        self.disk.copy()
    }

    fn submit(&mut self, now: Nanos, request: Request) {
        for law in &mut self.laws {
            law.submitted(now, &request);
        }
        if self.present.insert(request.id, (now, request)).is_some() {
            let text = format!("request {} is submitted twice", request.id);
            blame(&mut self.violation, now, Err(text));
        }
        self.disk.submit(now, request);
        self.follow(now);
        self.expect_event(now);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.disk.next_event()
    }

    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>) {
        let mut fresh = std::mem::take(&mut self.done);
        self.disk.advance(now, &mut fresh);
        self.follow(now);
        for completion in &fresh {
            self.complete(completion);
        }
        self.expect_event(now);
        done.append(&mut fresh);
        self.done = fresh;
    }

    fn counters(&self) -> Counters {
        self.disk.counters()
    }

    fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }
}
