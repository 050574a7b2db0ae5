//! Reads drives from DiskSim's files, and replays requests that were measured on them.
//!
//! DiskSim is a disk simulator of Carnegie Mellon University. Its parameter files hold measurements
//! of drives, each drive in several files. `NAME.parv` is an experiment, which takes the drive from
//! `NAME.diskspecs`. This file takes mechanics and layout from `NAME.model`, which names a table of
//! seek times, `NAME.seek`. `NAME.trace` has requests with the response times of the real drive.
//! The reference manual defines all parameters (Bucy, Schindler, Schlosser, Ganger: The DiskSim
//! Simulation Environment Version 4.0, CMU-PDL-08-101).
//!
//! [`syntax`] parses the language. [`drive`] makes the disk in it a [`disklab_disks::DetailedHdd`]
//! and lists the parameters that this leaves out. [`trace`] reads requests, and [`replay`] serves
//! them by the model. [`calibrate`] estimates from the first of them the facts that no file states
//! correctly. [`tracked`] predicts each request from the previous ones, and [`score`] compares
//! predictions with measurements. This crate opens no file: the caller passes the bytes.

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

/// A function that returns the bytes of a file that another file names, or the reason why it
/// cannot.
pub type Files<'a> = dyn FnMut(&str) -> Result<Vec<u8>, String> + 'a;
