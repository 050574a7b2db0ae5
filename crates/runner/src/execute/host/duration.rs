//! Rough estimates of the time of a trial on this machine's own disks, for users who want to know
//! it before anything has run.

use super::settings::Host;
use crate::describe::host::plan;
use crate::estimate;
use disklab_config::Trial;
use std::time::Duration;

/// Wall time to mount the disks, drop caches, start a program and write the record.
const AROUND: Duration = Duration::from_secs(1);
/// Wall time to make a filesystem, or an array with a filesystem.
const MAKE: Duration = Duration::from_secs(3);
/// Rough rate at which a file is written to rotating disks and to others, in bytes per second.
const TURNING: f64 = 120e6;
const FLASH: f64 = 500e6;

/// Number of samples that show a steady rate.
const WINDOW: u64 = 5;

/// Wall time of one trial.
pub fn wall(host: &Host, trial: &Trial) -> Duration {
    let warm_up = plan::warm_up(trial, host.warm_up);
    // The warm-up takes two windows of samples, since the first window is seldom steady.
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
