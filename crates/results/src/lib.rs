//! Turns the bytes that a trial left behind into its numbers.
//!
//! - [`fio`]: fio's report, from its JSON;
//! - [`read_stats`]: btrfs's counts of each device's reads, on kernels that have them;
//! - [`sample`]: both joined into the numbers of a trial, and remarks on whether they agree;
//! - [`integrity`]: whether numbers can be true together, ours or anybody's;
//! - [`measure`]: other numbers by name and unit; [`dbench`], [`fs_mark`]: parsers of their output;
//! - [`strace`]: the files that a program used;
//! - [`spread`]: the range and median of a number over several trials.
//!
//! The crate reads no file, clock or environment. Every entry point is a plain function of `&[u8]`
//! or of values parsed before, and gives the same answer each time. The answer to any bytes is a
//! value or an error.

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
