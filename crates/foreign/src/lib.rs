//! Reads results of other programs: as rows for `disklab import` and `disklab audit`, and as
//! matrices.
//!
//! - [`formats`]: the list of formats, and the format of a file;
//! - [`format`]: the interface of a format: a file in, rows out;
//! - [`row`]: one run of somebody's load, before it is part of a record;
//! - a module for each format, whose head lists what the format leaves out;
//! - [`matrix`]: numbers of a drive at each depth and number of jobs, for `validate` and
//!   `calibrate`.
//!
//! The crate reads no file, clock or environment. Every entry point is a plain function of bytes,
//! and answers any bytes with rows or an error.

pub mod csv;
mod directions;
pub mod fio_json;
mod fio_log;
pub mod fio_terse;
pub mod fio_text;
pub mod format;
pub mod formats;
mod fsperf;
mod grouped;
mod load_name;
pub mod matrix;
mod mmtests;
mod policy_script;
pub mod row;

pub use format::{Claimed, File, ResultFormat};
pub use formats::{FORMATS, format_of};
pub use row::ResultRow;
