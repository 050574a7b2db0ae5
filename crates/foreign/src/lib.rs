//! Results of other programs: as rows for `disklab import` and `disklab audit`, and as matrices.
//!
//! - [`formats`]: the list of formats, and which of them a file has;
//! - [`format`]: the interface of a format: a file in, rows out;
//! - [`row`]: one run of somebody's load, before it is part of a record;
//! - a module for each format, whose head says what it leaves out;
//! - [`matrix`]: numbers of a drive at each depth and number of jobs, for `validate` and
//!   `calibrate`.
//!
//! Nothing here reads a file, a clock or the environment: every entry point is a plain function of
//! bytes, and answers any bytes whatever with rows or an error.

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
