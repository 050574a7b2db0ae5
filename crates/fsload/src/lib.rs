//! A small workload engine: threads that create, append to, read, list and delete many files, as a
//! workload's `[fsload]` says ([`disklab_config::fsload`]).
//!
//! Its threads and their system calls are real. Each thread draws from a stream of its own, so that
//! the same seed gives the same load in virtual time. The engine knows the contents of every file
//! without storing them: they are a function of the seed, the file, and the number of times that
//! the file was overwritten ([`content`]). The files on the disk are compared with that at the end
//! ([`LoadDone::check`]), and so are the fsynced files that a power cut left ([`promises`]).
//!
//! A [`Surroundings`] describes where the load runs. In a guest, where code takes no time, each
//! operation takes a set processor time; on a real machine it takes its real time.

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
