//! The results of a watch.

use std::fs;
use std::io;
use std::path::Path;

use disklab_protocol::names;
use serde::{Deserialize, Serialize};

use super::layout::TraceLayout;
use super::place::WatchedDisk;
use super::stat::Stat;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot watch {disk}: {error}")]
    Disk { disk: String, error: io::Error },
    #[error(
        "the tracing instance {name} exists already: another disklab uses it, or a killed one \
        left it; \
         `disklab clean` removes what is left"
    )]
    Exists { name: String },
    #[error("cannot watch the disks: {what}: {error}")]
    Io { what: String, error: io::Error },
}

impl Error {
    pub(super) fn io(what: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { what: what.display().to_string(), error }
    }
}

/// The results of a watch, in a trial's folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WatchAccount {
    /// Beginning and end, in ns of the kernel's monotonic clock.
    pub began_ns: u64,
    pub ended_ns: u64,
    pub disks: Vec<WatchedDisk>,
    /// Counters of the disks at the beginning and at the end.
    pub before: Vec<Stat>,
    pub after: Vec<Stat>,
    /// The activity on each partition's whole disk outside of all watched partitions. Whole disks
    /// have zeroes.
    pub beside: Vec<Stat>,
    pub trace: WatchTrace,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchTrace {
    /// No trace was wanted.
    None,
    /// The trace could not be made, or not to its end.
    Failed(String),
    /// The files of these CPUs hold the trace. `lost` events found no room in the kernel's buffers.
    Files { layout: TraceLayout, cpus: Vec<u32>, lost: u64 },
}

impl WatchAccount {
    /// Reads the results that [`Watch::end`] wrote.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let path = folder.join(names::WATCHED);
        let text = fs::read(&path).map_err(Error::io(&path))?;
        serde_json::from_slice(&text).map_err(|error| Error::io(&path)(error.into()))
    }
}
