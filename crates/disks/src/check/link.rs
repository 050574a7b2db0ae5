//! The cable carries one transfer after another, each at its rate at most.

use disklab_units::{Nanos, Rate};

use super::Check;
use crate::diary::Happening;

pub(super) struct Link {
    rate: Rate,
    free: Nanos,
}

impl Link {
    pub fn new(rate: Rate) -> Self {
        Self { rate, free: Nanos::ZERO }
    }
}

impl Check for Link {
    fn happened(&mut self, happening: &Happening) -> Result<(), String> {
        let &Happening::Link { end, bytes } = happening else { return Ok(()) };
        let earliest = self.free.saturating_add(self.rate.time_for(bytes));
        self.free = self.free.max(end);
        if end < earliest {
            return Err(format!(
                "{bytes} are over the cable at {end}, and could not be before {earliest}"
            ));
        }
        Ok(())
    }
}
