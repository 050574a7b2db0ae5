//! Reads the results of a trial on this machine's disks.

pub mod account;
mod counted;
pub mod disturbance;
pub mod noted;
mod traced;
