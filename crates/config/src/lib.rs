//! What an experiment is made of: TOML files in, checked types out, and from a suite the trials to
//! run.
//!
//! Every thing is one file, and its name is the file's name without `.toml`. Files are read through
//! [`read`], which collects all mistakes of a file with their line. Nothing here runs anything, and
//! only [`lab`] touches the disk.

pub mod array;
pub mod background;
pub mod cache;
pub mod controller;
pub mod device;
pub mod fsload;
pub mod join;
pub mod kernel;
pub mod lab;
pub mod machine;
pub mod phases;
pub mod places;
pub mod player;
pub mod policy;
pub mod power_cut;
pub mod priority;
pub mod read;
pub mod replica;
pub mod scheduler;
pub mod snapshots;
pub mod startup;
pub mod suite;
pub mod trial;
pub mod workload;

pub use array::Array;
pub use background::Background;
pub use cache::Cache;
pub use device::{Device, Model};
pub use join::{Filesystem, Join, Md, Profile, Profiles};
pub use kernel::Kernel;
pub use lab::Lab;
pub use places::Places;
pub use policy::{Policy, PolicyChoice};
pub use read::{Mistake, Mistakes};
pub use replica::Replica;
pub use scheduler::{Scheduler, SchedulerChoice};
pub use suite::Suite;
pub use trial::Trial;
pub use workload::Workload;
