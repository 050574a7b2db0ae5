//! How long a trial takes on this machine's own disks, roughly: for who wants to know before
//! anything has run.

use super::settings::Host;
use crate::describe::host::plan;
use crate::estimate;
use disklab_config::Trial;
use std::time::Duration;

/// Wall time to mount the disks, drop caches, start a program and write the record.
const AROUND: Duration = Duration::from_secs(1);
/// A filesystem, or an array and one on it.
const MAKE: Duration = Duration::from_secs(3);
/// A file is written at so many bytes a second, about, to disks that turn and to others.
const TURNING: f64 = 120e6;
const FLASH: f64 = 500e6;

/// Samples by which a rate is found steady.
const WINDOW: u64 = 5;

/// Wall time of one trial.
pub fn wall(host: &Host, trial: &Trial) -> Duration {
    let warm_up = plan::warm_up(trial, host.warm_up);
    // Two windows of samples: the first in which a rate is steady is seldom the first of all.
    let warm_up =
        warm_up.map_or(0, |load| load.every_ns.saturating_mul(2 * WINDOW).min(load.limit_ns));
    let measured = Duration::from_nanos(estimate::measured(trial).0);
    Duration::from_nanos(host.rest.0) + Duration::from_nanos(warm_up) + measured + AROUND
}

/// Wall time to make the disks on which a trial begins.
pub fn preparing(host: &Host, trial: &Trial) -> Duration {
    let turns = host.place.disks().iter().any(|disk| disk.rotational);
    let written = trial.workload.bytes().0 as f64 / if turns { TURNING } else { FLASH };
    MAKE + Duration::from_secs_f64(written)
}
