//! A modelled disk at each depth and number of jobs at which a drive was measured.
//!
//! [`run`] serves a load on the model alone, without a guest. [`score`] compares the numbers with
//! those of a published matrix. [`fit`] makes a device from a matrix: [`lone_reads`] finds the
//! numbers that need no search, then [`search`] finds the [`parameters`] that the matrix
//! determines.

pub mod fit;
mod found;
mod lone_reads;
mod parameters;
pub mod run;
pub mod score;
mod search;
mod wanted;
