//! Trials on this machine's own disks: what they begin on, in which order they come, and what a
//! first process does there.

pub mod order;
pub mod place;
pub mod plan;
