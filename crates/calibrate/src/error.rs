use std::io;
use std::path::PathBuf;

use disklab_units::Bytes;

/// Why a disk was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("interrupted")]
    Interrupted,

    #[error("{file}: cannot {what}: {error}; {advice}")]
    Io { file: PathBuf, what: String, error: io::Error, advice: &'static str },

    #[error("it has {has}, and measuring needs {LEAST} at least")]
    TooSmall { has: Bytes },

    /// The parts of the plan that cannot be left out did not fit together.
    #[error("{0}")]
    Unclear(String),
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The least size of a disk to measure: room for long reads in sequence, and for places far apart.
pub const LEAST: Bytes = Bytes::gib(1);
