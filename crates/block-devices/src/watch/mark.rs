//! Marks of a trial's phases, with their times and the disks' counters.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use disklab_protocol::{Mark, names};
use serde::{Deserialize, Serialize};

use crate::machine::with_path;
use crate::watch::stat::Stat;

/// A mark with the counts of the disks at its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ObservedMark {
    /// Time of the mark, in ns of the kernel's monotonic clock.
    pub at_ns: u64,
    /// The mark. [`Mark::Begun`] is written when the phase is over, with the time of its beginning.
    #[serde(rename = "text")]
    pub mark: Mark,
    /// Counters of the watched disks, in their order.
    pub disks: Vec<Stat>,
    /// Bytes that the trial's own processes have read from all disks so far, if the kernel counts
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_read: Option<u64>,
}

impl ObservedMark {
    pub fn write(&self, mut file: &File) -> io::Result<()> {
        let mut line = serde_json::to_vec(self)?;
        line.push(b'\n');
        file.write_all(&line)
    }
}

/// Reads the marks of a trial, in the order in which they were written.
pub fn read(folder: &Path) -> io::Result<Vec<ObservedMark>> {
    let path = folder.join(names::MARKS);
    let text = fs::read_to_string(&path).map_err(with_path(&path))?;
    text.lines()
        .map(|line| serde_json::from_str(line).map_err(|error| with_path(&path)(error.into())))
        .collect()
}
