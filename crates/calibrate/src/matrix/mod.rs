//! A modelled disk at each depth and number of jobs that a drive was measured at.
//!
//! [`run`] serves a load on the model alone, without a guest; [`score`] compares the numbers with
//! those of a published matrix; [`fit`] makes a device of a matrix, by the [`parameters`] that one
//! identifies.

pub mod fit;
mod parameters;
pub mod run;
pub mod score;
