//! Merges the events of all CPUs into one sequence. The events of each CPU are in order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Read;

use crate::watch::pages::{BlockEvent, Error, Pages};

/// Events in the order of time; at the same moment, in the order of CPUs. An error is the last
/// item.
#[derive(Debug)]
pub struct Merge<'a, R> {
    cpus: Vec<Pages<'a, R>>,
    /// Time of the next event of each CPU that has more.
    next: BinaryHeap<Reverse<(u64, usize)>>,
    events: Vec<Option<BlockEvent>>,
    error: Option<Error>,
}

impl<'a, R: Read> Merge<'a, R> {
    pub fn new(cpus: Vec<Pages<'a, R>>) -> Self {
        let events = vec![None; cpus.len()];
        let mut merge = Self { cpus, next: BinaryHeap::new(), events, error: None };
        (0..merge.cpus.len()).for_each(|cpu| merge.fetch(cpu));
        merge
    }

    fn fetch(&mut self, cpu: usize) {
        match self.cpus[cpu].next() {
            Some(Ok(event)) => {
                self.next.push(Reverse((event.at, cpu)));
                self.events[cpu] = Some(event);
            }
            Some(Err(error)) => self.error = self.error.take().or(Some(error)),
            None => {}
        }
    }
}

impl<R: Read> Iterator for Merge<'_, R> {
    type Item = Result<BlockEvent, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(error) = self.error.take() {
            self.next.clear();
            return Some(Err(error));
        }
        let Reverse((_, cpu)) = self.next.pop()?;
        let event = self.events[cpu].take();
        self.fetch(cpu);
        event.map(Ok)
    }
}
