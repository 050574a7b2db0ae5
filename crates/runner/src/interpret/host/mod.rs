//! Reads what this machine's disks did in a trial.

pub mod account;
mod counted;
pub mod disturbance;
pub mod noted;
mod traced;
