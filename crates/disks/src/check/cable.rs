//! The cable carries one transfer after another, each at its rate at most; and what the host asked
//! for and got, it carried.

use disklab_units::{Bytes, Nanos, Rate, Sectors};

use super::law::{Answered, Broken, Law};
use crate::Op;
use crate::event_log::DiskEvent;

pub(super) struct Cable {
    rate: Rate,
    free: Nanos,
    /// The disk's size. What is asked for beyond it is not carried.
    size: u64,
    /// In bytes.
    carried: u64,
    completed: u64,
}

impl Cable {
    pub fn new(rate: Rate, size: Bytes) -> Self {
        Self { rate, free: Nanos::ZERO, size: size.0, carried: 0, completed: 0 }
    }
}

impl Law for Cable {
    fn happened(&mut self, event: &DiskEvent) -> Broken {
        let &DiskEvent::Link { end, bytes } = event else { return Ok(()) };
        self.carried += bytes.0;
        let earliest = self.free.saturating_add(self.rate.time_for(bytes));
        self.free = self.free.max(end);
        if end < earliest {
            return Err(format!(
                "{bytes} are over the cable at {end}, and could not be before {earliest}"
            ));
        }
        Ok(())
    }

    fn answered(&mut self, Answered { request, .. }: &Answered) -> Broken {
        if matches!(request.op, Op::Read | Op::Write) {
            let from = request.sector.saturating_mul(Sectors::SIZE).min(self.size);
            let bytes = Sectors(u64::from(request.sectors)).bytes().0;
            self.completed += bytes.min(self.size - from);
        }
        Ok(())
    }

    fn idle(&mut self) -> Broken {
        if self.carried < self.completed {
            let (carried, completed) = (Bytes(self.carried), Bytes(self.completed));
            return Err(format!(
                "reads and writes of {completed} are done, and the cable carried {carried}"
            ));
        }
        Ok(())
    }
}
