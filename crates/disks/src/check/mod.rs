//! Watches that a disk keeps to what is physically possible, and to what it promised.
//!
//! The checkers know a disk by its description and by what it tells of its work. With the model
//! they share where sectors are and how long the arm takes for a distance; not what decides about
//! time: a rotation left out, a die used twice or a flush or a write through the buffer that ends
//! too soon is seen. Cards and constant disks tell nothing of their inside: of cards it is seen
//! that they do one thing at a time and no faster than they can, of constant disks that each
//! request ends once.

mod conservation;
mod dies;
mod durability;
mod link;
mod platters;
#[cfg(test)]
mod tests;
mod turns;

use std::collections::BTreeMap;

use disklab_config::device::Model;
use disklab_units::{Bytes, Nanos, Seed};

use crate::diary::Happening;
use crate::{Completion, Counters, Disk, Request};

/// One law. What breaks it is told in words.
trait Check: Send {
    fn submitted(&mut self, _now: Nanos, _request: &Request) {}

    fn happened(&mut self, _happening: &Happening) -> Result<(), String> {
        Ok(())
    }

    fn completed(
        &mut self,
        _request: &Request,
        _submitted: Nanos,
        _at: Nanos,
    ) -> Result<(), String> {
        Ok(())
    }

    fn served(&mut self, _request: &Request, _started: Nanos, _at: Nanos) -> Result<(), String> {
        Ok(())
    }

    /// Nothing is under way.
    fn idle(&mut self) -> Result<(), String> {
        Ok(())
    }
}

/// A disk that is watched. It behaves as the one inside.
pub(crate) struct Checked {
    disk: Box<dyn Disk>,
    checks: Vec<Box<dyn Check>>,
    /// By id: requests under way.
    present: BTreeMap<u32, (Nanos, Request)>,
    happenings: Vec<Happening>,
    done: Vec<Completion>,
    /// The first law that was broken.
    violation: Option<String>,
}

impl Checked {
    /// `disk` is what [`crate::build`] makes of the rest.
    pub fn new(mut disk: Box<dyn Disk>, model: &Model, bytes: Bytes, seed: Seed) -> Self {
        disk.tell();
        let mut checks: Vec<Box<dyn Check>> = Vec::new();
        match model {
            Model::Hdd(hdd) => {
                checks.push(Box::new(platters::Platters::new(hdd, bytes, seed)));
                checks.push(Box::new(link::Link::new(hdd.link)));
                checks.push(Box::new(conservation::Conservation::new(bytes)));
            }
            Model::Ssd(ssd) => {
                checks.push(Box::new(dies::Dies::new(ssd)));
                checks.push(Box::new(link::Link::new(ssd.link)));
                checks.push(Box::new(conservation::Conservation::new(bytes)));
            }
            Model::Card(card) => checks.push(Box::new(turns::Turns::new(card, bytes))),
            Model::Constant(_) => {}
        }
        if model.write_cache() {
            checks.push(Box::new(durability::Durability::new(bytes)));
        }
        Self {
            disk,
            checks,
            present: BTreeMap::new(),
            happenings: Vec::with_capacity(64),
            done: Vec::with_capacity(64),
            violation: None,
        }
    }

    fn follow(&mut self, now: Nanos) {
        let Self { disk, checks, happenings, violation, .. } = self;
        disk.happenings(happenings);
        for happening in happenings.drain(..) {
            for check in &mut *checks {
                blame(violation, now, check.happened(&happening));
            }
        }
    }

    fn complete(&mut self, completion: &Completion) {
        let Completion { id, at, started } = *completion;
        let Self { checks, present, violation, .. } = self;
        let Some((submitted, request)) = present.remove(&id) else {
            return blame(
                violation,
                at,
                Err(format!("request {id} completes and is not under way")),
            );
        };
        if started < submitted || at < started {
            let text = format!(
                "request {id}: submitted at {submitted}, started at {started}, completed at {at}"
            );
            blame(violation, at, Err(text));
        }
        for check in checks {
            blame(violation, at, check.completed(&request, submitted, at));
            blame(violation, at, check.served(&request, started, at));
            if present.is_empty() {
                blame(violation, at, check.idle());
            }
        }
    }
}

fn blame(violation: &mut Option<String>, at: Nanos, result: Result<(), String>) {
    if let Err(what) = result {
        violation.get_or_insert_with(|| format!("at {at}: {what}"));
    }
}

impl Disk for Checked {
    fn submit(&mut self, now: Nanos, request: Request) {
        for check in &mut self.checks {
            check.submitted(now, &request);
        }
        if self.present.insert(request.id, (now, request)).is_some() {
            let text = format!("request {} is submitted twice", request.id);
            blame(&mut self.violation, now, Err(text));
        }
        self.disk.submit(now, request);
        self.follow(now);
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
