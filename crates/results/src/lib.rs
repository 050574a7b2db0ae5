//! From the bytes a trial left behind to its numbers.
//!
//! - [`fio`]: what fio reported, from its JSON;
//! - [`read_stats`]: what btrfs counted of each device's reads, where it does;
//! - [`sample`]: the two joined into the numbers of a trial, and remarks on whether they agree;
//! - [`integrity`]: whether numbers can be true together, ours or anybody's;
//! - [`measure`]: other numbers by name and unit; [`dbench`], [`fs_mark`]: what those print;
//! - [`strace`]: which files a program used;
//! - [`spread`]: one of these numbers over several trials.
//!
//! Nothing here reads a file, a clock or the environment: every entry point is a plain function of
//! `&[u8]` or of values parsed before, gives the same answer each time, and answers any bytes
//! whatever with a value or an error.

pub mod dbench;
pub mod device_errors;
pub mod fio;
pub mod fs_mark;
pub mod histogram;
pub mod integrity;
pub mod measure;
pub mod read_stats;
pub mod remark;
pub mod sample;
pub mod spread;
pub mod strace;

pub use fio::Fio;
pub use histogram::Histogram;
pub use remark::Remark;
pub use sample::{RequestedLoad, Sample};
pub use spread::Spread;
