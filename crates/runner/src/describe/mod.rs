//! Describes trials: the machine of each, and the list of actions of its first process.
//!
//! Nothing here runs a trial or reads what one left.

pub mod facts;
pub mod fio;
pub mod fsload;
pub mod host;
pub mod key;
pub mod machine;
mod phases;
pub mod plan;
pub mod power_cut;
pub mod read_policy;
pub mod scheduler;
pub mod stack;
pub mod startup;
