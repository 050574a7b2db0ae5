use std::io;
use std::path::PathBuf;

use disklab_units::Bytes;

/// The reason why a disk was not measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("interrupted")]
    Interrupted,

    #[error("{file}: cannot {what}: {error}; {advice}")]
    Io { file: PathBuf, what: String, error: io::Error, advice: &'static str },

    #[error("it has {has}, and measuring needs {LEAST} at least")]
    TooSmall { has: Bytes },

    /// The results of the mandatory parts of the plan contradict each other.
    #[error("{0}")]
    Unclear(String),
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

/// The least size of a disk that can be measured: room for long sequential reads, and for places
/// far apart.
pub const LEAST: Bytes = Bytes::gib(1);
