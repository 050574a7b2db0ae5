//! Carries trials out on the kernel executor: the guest kernel as a process, modelled disks,
//! virtual time.
//!
//! [`run::Run`] is the entry: trials in, outcomes in a record. Each trial is a folder ([`trial`]),
//! a copy of disks that were prepared once ([`prepared`]), and one process that is watched until it
//! ends ([`guest`]).

pub mod ahead;
pub mod cpus;
mod describe;
mod error;
pub mod estimate;
pub mod evidence;
pub mod executor;
pub mod facts;
mod fault;
mod fio;
mod fsload;
pub mod guest;
pub mod host;
mod image;
pub mod key;
mod phases;
mod player;
mod power_cut;
mod prepared;
pub mod run;
mod scratch;
mod snapshots;
mod stack;
mod startup;
mod throughput;
mod trial;

pub use describe::{plan, preparing_plan};
pub use error::{Error, Result};
pub use executor::Executor;
pub use guest::{Installation, Timeouts};
pub use prepared::content as content_of_disks;
pub use trial::not_run;
