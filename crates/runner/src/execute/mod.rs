//! Executes trials: prepares their disks, starts what runs them, and watches it until it ends.

pub mod ahead;
pub mod cpus;
pub mod executor;
pub mod guest;
pub mod host;
mod image;
mod power_cut;
mod prepared;
pub mod run;
mod scratch;
mod stalled;
mod tally;
mod trial;
mod trials;
