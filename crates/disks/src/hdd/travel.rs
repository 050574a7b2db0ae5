//! What the arm of a model takes from sector to sector, for those who fit a model to a drive.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Seed};

use super::mechanics::Mechanics;

/// Seeks and changes of head between sectors, without the wait for the platters.
pub struct Travel {
    mechanics: Mechanics,
}

impl Travel {
    /// Of the disk that `model` describes, `bytes` large.
    pub fn new(model: &Hdd, bytes: Bytes) -> Self {
        // The seed chooses angle and exact speed, which no arm minds.
        Self { mechanics: Mechanics::new(model, bytes, Seed(1)) }
    }

    /// To read at `to` after a read at `from`; both below the disk's size.
    pub fn time(&self, from: u64, to: u64) -> Nanos {
        let place = |sector| self.mechanics.geometry.place(sector);
        Nanos(self.mechanics.travel(place(from).arm(), &self.mechanics.target(place(to), false)))
    }
}
