//! Checks that the cable carries one transfer after another, none above its rate, and that it
//! carried all data that the host requested and received.

use std::ops::Range;

use disklab_units::{Bytes, Nanos, Rate, Sectors};

use super::law::{Answered, Broken, Law, ensure};
use crate::Op;
use crate::event_log::DiskEvent;

pub(super) struct Cable {
    rate: Rate,
    free: Nanos,
    /// The disk's size in sectors. Data requested beyond it is not transferred.
    sectors: u64,
    carried: Bytes,
    completed: Bytes,
}

impl Cable {
    pub fn new(rate: Rate, size: Bytes) -> Self {
        let (sectors, none) = (size.sectors().0, Bytes::ZERO);
        Self { rate, free: Nanos::ZERO, sectors, carried: none, completed: none }
    }
}

impl Law for Cable {
    fn happened(&mut self, event: &DiskEvent) -> Broken {
        let &DiskEvent::Link { end, bytes } = event else { return Ok(()) };
        self.carried += bytes;
        let earliest = self.free.saturating_add(self.rate.time_for(bytes));
        self.free = self.free.max(end);
        ensure(end >= earliest, || {
            format!("{bytes} are over the cable at {end}, and could not be before {earliest}")
        })
    }

    fn answered(&mut self, Answered { request, .. }: &Answered) -> Broken {
        if matches!(request.op, Op::Read | Op::Write) {
            let Range { start, end } = request.sectors_below(self.sectors);
            self.completed += Sectors(end - start).bytes();
        }
        Ok(())
    }

    fn idle(&mut self) -> Broken {
        let (carried, completed) = (self.carried, self.completed);
        ensure(carried >= completed, || {
            format!("reads and writes of {completed} are done, and the cable carried {carried}")
        })
    }
}
