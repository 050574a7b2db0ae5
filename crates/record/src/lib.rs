//! Records: the results of runs on disk. This crate is the only writer of results.
//!
//! ```text
//! records/<run>/
//!   manifest.toml       the plan of the run and its tools: written once, before the first trial
//!   trials.jsonl        the outcome of each trial: one line each, appended and synced
//!   trials.last         the number of lines of trials.jsonl, and the digest of the last one
//!   raw/<trial>/        a trial's raw output, never changed
//!   raw/.<trial>.part/  raw output of a trial under way
//!   found/<n>-<name>    of an imported record: the files that contained its results
//!   lock                held by the process that writes
//!   trials.jsonl.damaged  the file as it was before a repair; so is trials.last.damaged
//!   trials.jsonl.torn   half-written lines that a crash left, cut off by a resume
//! ```
//!
//! A trial counts when its line ends in a newline. Before that, its raw output is complete, synced
//! and under its final name. So a crash at any moment leaves either the whole trial, or remains
//! that do not count and that [`Record::resume`] clears away. When a trial is tried again, its new
//! line stands below the older ones, and is the one that counts.

mod chain;
pub mod error;
pub mod fingerprint;
pub mod gather;
pub mod import;
mod lock;
pub mod manifest;
pub mod merge;
mod mismatch;
mod name;
pub mod outcome;
mod part;
mod raw;
pub mod record;
pub mod repair;
mod schema;
mod sync;
mod tidy;
mod whole;
pub mod writer;

pub use chain::{Chain, LastLine};
pub use error::RecordError;
pub use fingerprint::{Difference, RawFiles, changed, compare, fingerprint};
pub use lock::is_written;
pub use manifest::Manifest;
pub use mismatch::Mismatch;
pub use name::{UnfitName, is_fit_letter};
pub use outcome::{Outcome, Status};
pub use part::Part;
pub use record::Record;
pub use tidy::Tidied;
pub use writer::{RawFolder, RecordWriter, RecordWriter as Writer, Retry};
