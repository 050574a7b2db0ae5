//! Trials on this machine's own disks.

pub mod account;
mod counted;
pub mod disturbance;
mod traced;
