//! Checks that sectors are accessed only when the platters have turned to them and the arm is
//! there. The arm takes the time of the model's curve, and the curve must have the data sheet's
//! three times.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Seed};

use super::law::{Broken, Law, ensure};
use crate::event_log::DiskEvent;
use crate::hdd::geometry::Arm;
use crate::hdd::mechanics::{AccessTarget, Mechanics};

pub(super) struct Platters {
    mechanics: Mechanics,
    /// The data sheet's seek time to the next track, which no seek undercuts.
    least: Nanos,
    /// Result of the comparison of the model's seek times with the data sheet's.
    seeks: Broken,
    /// End time and place of the arm's last access.
    last: Option<(Nanos, Arm)>,
}

impl Platters {
    pub fn new(model: &Hdd, bytes: Bytes, seed: Seed) -> Self {
        let mechanics = Mechanics::new(model, bytes, seed);
        let seeks = compare_seeks(&mechanics, model);
        Self { mechanics, least: model.seek_track_to_track, seeks, last: None }
    }
}

/// Number of distances, evenly spread, over which the average of the seek times is computed.
const SAMPLES: u32 = 1_000;

/// Compares the model's seek times with the data sheet's three: over one cylinder, on average over
/// all pairs of cylinders, and over all of them.
fn compare_seeks(mechanics: &Mechanics, model: &Hdd) -> Broken {
    let Hdd { seek_track_to_track: track, seek_average: average, seek_full: full, .. } = *model;
    let last = mechanics.geometry.cylinders.saturating_sub(1);
    let arm = |cylinder| Arm { cylinder, surface: 0 };
    let travel = |cylinder| {
        let target = AccessTarget { arm: arm(cylinder), angle: 0, write: false };
        mechanics.travel(arm(0), &target)
    };
    let differ = |distance: &str, found: u64, stated: Nanos, tolerance: f64| {
        ensure((found as f64 - stated.0 as f64).abs() <= tolerance, || {
            let found = Nanos(found);
            format!("a seek {distance} takes {found}, and the data sheet says {stated}")
        })
    };
    // Times are rounded to a nanosecond. Over the full stroke, slope times distance is a sum of
    // large numbers, so rounding errors are larger.
    if last >= 1 {
        differ("over one cylinder", travel(1), track, 2.0)?;
    }
    // The curve is fitted for at least five cylinders.
    if last >= 4 {
        differ("over the whole stroke", travel(last), full, 2.0 + 1e-6 * full.0 as f64)?;
        let count = SAMPLES.min(last);
        let (mut times, mut weights) = (0.0, 0.0);
        for sample in 0..count {
            let distance = 1 + (u64::from(sample) * u64::from(last) / u64::from(count)) as u32;
            let pairs = f64::from(last + 1 - distance);
            times += pairs * travel(distance) as f64;
            weights += pairs;
        }
        // With few cylinders there are too few distances for an exact average.
        let steps = full.saturating_sub(track).0 as f64 * (0.004 + 3.0 / f64::from(last));
        let tolerance = 0.01 * average.0 as f64 + steps;
        differ("on average", (times / weights) as u64, average, tolerance)?;
    }
    Ok(())
}

impl Law for Platters {
    fn happened(&mut self, event: &DiskEvent) -> Broken {
        let (sectors, write, from, begun, end) = match event {
            DiskEvent::Medium { sectors, write, from, begun, end, .. } => {
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
        let needed = if from.cylinder == to.cylinder { Nanos::ZERO } else { self.least };
        // One nanosecond is allowed for rounding.
        ensure(travel + Nanos(1) >= needed, || {
            let what = what();
            format!(
                "{what}: from {from:?} to {to:?} in {travel}, and the data sheet says {needed} at \
                 least"
            )
        })?;
        self.seeks.clone()
    }
}
