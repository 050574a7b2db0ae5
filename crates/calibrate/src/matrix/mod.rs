//! A modelled disk at each depth and number of jobs that a drive was measured at.
//!
//! [`run`] serves a load on the model alone, without a guest; [`score`] compares the numbers with
//! those of a published matrix; [`fit`] makes a device of a matrix: [`search`] looks for the
//! [`parameters`] that the matrix determines, after [`lone_reads`] has shown what needs no search.

pub mod fit;
mod found;
mod lone_reads;
mod parameters;
pub mod run;
pub mod score;
mod search;
mod wanted;
