//! Measures a disk, and describes it as a device of the lab.
//!
//! A [`Target`] is the disk under test: a real one ([`block`]), or a modelled one in virtual time
//! ([`modelled`]), which takes milliseconds and shows what measuring can find out. [`calibrate`]
//! executes the plan. It first determines whether the disk rotates, then measures the numbers of
//! its family. There is one file for each number, which turns samples into an estimate with its
//! error. A number that cannot be seen is named with the reason, and gets a default.
//!
//! [`matrix`] needs no disk: it runs a device at each depth at which somebody measured a drive.
//!
//! A calibration only reads, unless [`CalibrationPlan::may_write`] is set.

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
