//! Measures a disk, and describes it as a device of the lab.
//!
//! A [`Target`] is the disk under test: a real one ([`block`]) or a modelled one in virtual time
//! ([`modelled`]), which shows what measuring can find out and takes milliseconds. [`calibrate`]
//! carries the plan out: first whether the disk turns, then what is to be known of its family, one
//! file for each thing, each from samples to an estimate with its error. What cannot be seen is
//! named with the reason, and a default stands in its place.
//!
//! [`matrix`] needs no disk: it runs a device at each depth that somebody else's drive was measured
//! at.
//!
//! Reads only, unless [`CalibrationPlan::may_write`].

mod bench;
pub mod block;
mod device;
mod error;
mod hdd;
pub mod matrix;
pub mod modelled;
mod numbers;
mod plan;
pub mod sheet;
mod ssd;
pub mod target;

pub use bench::OnProgress;
pub use device::{Calibration, calibrate, read_back};
pub use error::{Error, LEAST};
pub use plan::{CalibrationPlan, Hints, USUAL_TIME};
pub use target::{Probe, Target, Timed};
