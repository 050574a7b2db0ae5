//! Executes trials: prepares their disks, starts the processes that run them, and watches these
//! until they end.

pub mod ahead;
pub mod cpus;
pub mod executor;
mod fio_report;
pub mod guest;
pub mod host;
mod image;
mod left_behind;
pub mod model;
mod power_cut;
mod prepared;
pub mod run;
mod scratch;
mod share;
mod stalled;
mod tally;
mod trial;
mod trials;
