//! Sectors pass under the head when the platters have turned so far, and the arm must be there.
//! That takes as long as the model's curve says, which is held against the data sheet's own
//! numbers.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Seed};

use super::law::{Broken, Law, ensure};
use crate::event_log::DiskEvent;
use crate::hdd::geometry::Arm;
use crate::hdd::mechanics::Mechanics;

pub(super) struct Platters {
    mechanics: Mechanics,
    /// By the data sheet: over any distance, and over a third of all cylinders.
    least: [Nanos; 2],
    /// The arm's last work of its own: when it ended, and where.
    last: Option<(Nanos, Arm)>,
}

impl Platters {
    pub fn new(model: &Hdd, bytes: Bytes, seed: Seed) -> Self {
        // Where the time grows less and less with the distance, the average of all is below that
        // over a third.
        let least = [model.seek_track_to_track, model.seek_average];
        Self { mechanics: Mechanics::new(model, bytes, seed), least, last: None }
    }

    /// Returns the least time of the arm by the data sheet.
    fn least(&self, from: Arm, to: Arm) -> Nanos {
        let distance = from.cylinder.abs_diff(to.cylinder);
        match distance {
            0 => Nanos::ZERO,
            far if far >= self.mechanics.geometry.cylinders / 3 => self.least[1],
            _ => self.least[0],
        }
    }
}

impl Law for Platters {
    fn happened(&mut self, event: &DiskEvent) -> Broken {
        let (sectors, write, from, begun, end) = match event {
            DiskEvent::Medium { sectors, write, from, begun, end } => {
                (sectors, write, from, begun, end)
            }
            DiskEvent::Ahead => {
                self.last = None;
                return Ok(());
            }
            _ => return Ok(()),
        };
        let Mechanics { geometry, .. } = &self.mechanics;
        let (first, last) = (geometry.place(sectors.start), geometry.end_place(sectors.end));
        let what = || format!("{} of sectors {sectors:?}", if *write { "write" } else { "read" });
        for (time, tape, which) in
            [(begun, first.tape, "first"), (end, last.tape, "end of the last")]
        {
            let (angle, needed) = (self.mechanics.angle_at(*time), geometry.angle(tape));
            ensure(angle == needed, || {
                let (what, angle, needed) = (what(), Nanos(angle), Nanos(needed));
                format!(
                    "{what}: at {time} the platters are {angle} from angle 0, and the {which} \
                     sector is at {needed}"
                )
            })?;
        }
        let transfer = Nanos(last.tape - first.tape);
        ensure(end.saturating_sub(*begun) >= transfer, || {
            format!("{}: from {begun} to {end}; it takes {transfer}", what())
        })?;
        let Some((left, cylinder, surface)) = *from else {
            self.last = None;
            return Ok(());
        };
        let from = Arm { cylinder, surface };
        if let Some((free, at)) = self.last.replace((*end, last.arm)) {
            ensure(left >= free && at == from, || {
                let what = what();
                format!("{what}: the arm leaves {from:?} at {left}, and was at {at:?} until {free}")
            })?;
        }
        let travel = Nanos(self.mechanics.travel(from, &self.mechanics.target(first, *write)));
        let took = begun.saturating_sub(left);
        ensure(took >= travel, || {
            format!("{}: the arm is there {took} after it left; it takes {travel}", what())
        })?;
        let to = first.arm;
        let needed = self.least(from, to);
        // A nanosecond is rounded.
        ensure(travel + Nanos(1) >= needed, || {
            let what = what();
            format!(
                "{what}: from {from:?} to {to:?} in {travel}, and the data sheet says {needed} at \
                 least"
            )
        })
    }
}
