//! A small workload engine: threads that create, append to, read, list and delete many files, as a
//! workload's `[fsload]` says ([`disklab_config::fsload`]).
//!
//! Its threads are real, and so are their system calls. Each thread draws from a stream of its own,
//! so that the same seed is the same load wherever time is the same. The engine knows what every
//! file must hold without keeping it: contents are a function of the seed, the file, and how often
//! it was written anew ([`content`]). What is on the disk in the end is held against that
//! ([`LoadDone::check`]), and so is what a power cut left of what had been fsynced ([`promises`]).
//!
//! Where it runs is a [`Surroundings`]: in a guest, where code takes no time, an operation costs
//! processor time there; on a real machine it costs what it costs.

mod books;
mod check;
mod choice;
pub mod content;
mod latency;
pub mod layout;
pub mod promises;
pub mod report;
mod run;
mod shared;
mod size;
mod worker;

pub use run::{LoadDone, run};
pub use shared::{LoadRun, Surroundings};

/// An error message: what was tried, on which file, and what went wrong.
pub type Failure = String;
