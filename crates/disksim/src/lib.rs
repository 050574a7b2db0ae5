//! Drives as DiskSim's files describe them, and replays of requests that were measured on them.
//!
//! DiskSim is a disk simulator of Carnegie Mellon University. Its parameter files hold what people
//! have measured on drives, one drive in several files: `NAME.parv` is an experiment, which takes
//! the drive from `NAME.diskspecs`, which takes mechanics and layout from `NAME.model`, which names
//! a table of seek times, `NAME.seek`. `NAME.trace` has requests with the response times that the
//! real drive took for them. Meanings are those of its reference manual (Bucy, Schindler,
//! Schlosser, Ganger: The DiskSim Simulation Environment Version 4.0, CMU-PDL-08-101).
//!
//! [`syntax`] reads the language, [`drive`] makes the one disk in it a
//! [`disklab_disks::DetailedHdd`] and tells what of the file that leaves out, [`trace`] reads
//! requests, [`replay`] serves them by the model, [`calibrate`] learns from the first of them what
//! no file says right, [`tracked`] predicts each from the ones before, and [`score`] says how far
//! all this is from what was measured. Nothing here touches a file: who calls hands in the bytes.

pub mod calibrate;
pub mod drive;
mod error;
mod fields;
mod layout;
pub mod replay;
pub mod score;
mod seek;
pub mod syntax;
pub mod trace;
pub mod tracked;
mod validation;

pub use drive::Drive;
pub use error::Error;
use error::Result;
pub use trace::MeasuredRequest;
pub use validation::{ReplayScore, Validation, validate};

/// Gives the bytes of a file that another one names, or the reason why it cannot.
pub type Files<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;
