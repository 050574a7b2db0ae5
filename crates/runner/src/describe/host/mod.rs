//! Trials on this machine's own disks: the contents that they begin on, their order, and the plan
//! of the first process.

pub mod order;
pub mod place;
pub mod plan;
