//! The disks and the block layer's queues.

use disklab_disks::{Bank, Completion, Op, Request};
use disklab_units::Nanos;

use crate::queue::{DiskQueue, QueuedRequest};
use crate::slots::Slots;

/// Receives the requests of all disks.
pub trait Observer {
    /// Receives a request that goes to a disk.
    fn arrived(&mut self, now: Nanos, disk: usize, request: &Request, bank: &Bank);
    /// Receives a request that has ended. It was submitted to the disk at `submitted`.
    fn ended(
        &mut self,
        disk: usize,
        request: &Request,
        submitted: Nanos,
        done: &Completion,
        bank: &Bank,
    );
}

/// An observer that ignores all requests.
pub struct Nobody;

impl Observer for Nobody {
    fn arrived(&mut self, _: Nanos, _: usize, _: &Request, _: &Bank) {}
    fn ended(&mut self, _: usize, _: &Request, _: Nanos, _: &Completion, _: &Bank) {}
}

/// The disks and the block layer's queue of each. A clone continues independently,
/// with the requests in flight.
#[derive(Clone)]
pub struct BlockLayer {
    pub queues: Vec<DiskQueue>,
    bank: Bank,
    /// Requests at each disk, by id.
    present: Vec<Slots<Option<(Request, QueuedRequest)>>>,
}

impl BlockLayer {
    pub fn new(queues: Vec<DiskQueue>, bank: Bank) -> Self {
        let present = queues.iter().map(|_| Slots::new()).collect();
        Self { queues, bank, present }
    }

    pub const fn bank(&self) -> &Bank {
        &self.bank
    }

    pub fn into_bank(self) -> Bank {
        self.bank
    }

    /// Dispatches requests from a queue to its disk.
    pub fn feed(&mut self, now: Nanos, disk: usize, observer: &mut impl Observer) {
        while let Some(queued) = self.queues[disk].dispatch(now) {
            let id = self.present[disk].put(None);
            let request = Request {
                id: id as u32,
                op: Op::Read,
                sector: queued.start / 512,
                sectors: (queued.bytes / 512) as u32,
                fua: false,
            };
            self.present[disk].all[id] =
                Some((request, QueuedRequest { submitted: now, ..queued }));
            self.bank.submit(now, disk, request);
            observer.arrived(now, disk, &request, &self.bank);
        }
    }

    /// Advances the time to `at`. Appends the requests that have ended by then to `done`, each with
    /// its disk.
    pub fn advance(&mut self, at: Nanos, done: &mut Vec<(usize, Completion)>) {
        self.bank.advance(at, done);
    }

    /// Removes a request that has ended from its disk.
    pub fn take(
        &mut self,
        disk: usize,
        completion: &Completion,
        observer: &mut impl Observer,
    ) -> Option<QueuedRequest> {
        let id = completion.id as usize;
        let (request, queued) = self.present[disk].all[id].take()?;
        self.present[disk].free.push(id);
        observer.ended(disk, &request, queued.submitted, completion, &self.bank);
        Some(queued)
    }
}
