//! The definition of an experiment: parses TOML files into checked types, and expands a suite into
//! the trials to run.
//!
//! Each definition is one file, and its name is the file's name without `.toml`. Files are read
//! through [`read`], which collects all mistakes of a file with their lines. The crate runs
//! nothing, and only [`lab`] touches the disk.

pub mod array;
pub mod background;
pub mod cache;
pub mod command;
pub mod controller;
pub mod device;
pub mod disk_times;
pub mod fsload;
pub mod host;
mod job;
pub mod job_file;
pub mod kernel;
pub mod lab;
pub mod layout;
pub mod machine;
pub mod member;
pub mod metric_names;
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
pub use kernel::Kernel;
pub use lab::Lab;
pub use layout::{Filesystem, Layout, Md, Profile, Profiles};
pub use places::Places;
pub use policy::{Policy, PolicyChoice};
pub use read::{Diagnostic, Diagnostics};
pub use replica::Replica;
pub use scheduler::{Scheduler, SchedulerChoice};
pub use suite::Suite;
pub use trial::Trial;
pub use workload::Workload;
