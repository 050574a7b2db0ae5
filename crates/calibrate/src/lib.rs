//! Measures a disk, and describes it as a device of the lab.
//!
//! A [`Target`] is the disk under test: a real one ([`block`]) or a modelled one in virtual time
//! ([`modelled`]), which shows what measuring can find out and takes milliseconds. [`calibrate`]
//! carries the plan out: first whether the disk turns, then what is to be known of its family, one
//! file for each thing, each from samples to an estimate with its error. What cannot be seen is
//! named with the reason, and a default stands in its place.
//!
//! Reads only, unless [`Plan::may_write`].

mod bench;
pub mod block;
mod device;
mod hdd;
mod kind;
pub mod modelled;
mod numbers;
pub mod sheet;
mod ssd;
pub mod target;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use disklab_units::{Bytes, Nanos};

pub use bench::Watch;
pub use device::{Calibration, Hints, Plan, read_back};
pub use target::{Probe, Target, Timed};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("interrupted")]
    Interrupted,

    #[error("{file}: cannot {what}: {error}; {advice}")]
    Io { file: PathBuf, what: String, error: io::Error, advice: &'static str },

    #[error("it has {has}, and measuring needs {LEAST} at least")]
    TooSmall { has: Bytes },

    /// The parts of the plan that cannot be left out did not fit together.
    #[error("{0}")]
    Unclear(String),
}

/// What a disk must have: long reads in sequence, and places far apart.
pub const LEAST: Bytes = Bytes::gib(1);

/// Measures `target`. `watch` is told how far it is; `stop` ends it with [`Error::Interrupted`]
/// after the request that is under way.
pub fn calibrate(
    target: &mut dyn Target,
    plan: &Plan,
    watch: Watch<'_>,
    stop: &AtomicBool,
) -> Result<Calibration, Error> {
    if target.bytes() < LEAST {
        return Err(Error::TooSmall { has: target.bytes() });
    }
    device::calibrate(target, plan, watch, stop)
}

/// `time` for people who wait: a run ends by itself soon after this.
pub const USUAL_TIME: Nanos = Nanos::from_secs(300);
