//! A trial whose disks can be shown over time.

use disklab_trace::Timeline;
use disklab_units::prose::digits;
use itertools::Itertools;

use crate::addresses::{Beyond, Reach};

/// Detail of a picture of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// The raster has a point for each pixel.
    Usual,
    /// The raster has twice as many points in both directions, for a larger view.
    Fine,
}

/// A trial with a trace.
#[derive(Debug)]
pub struct WatchedTrial {
    pub label: String,
    /// The names of the disks.
    pub names: Vec<String>,
    pub line: Timeline,
    /// The sectors of the rows of the rasters, by disk.
    pub frames: Vec<Reach>,
    /// The requests beyond the upper edge and the lower, by disk.
    pub beyond: Vec<[Beyond; 2]>,
    pub detail: Detail,
    /// Whether the trace ends before the phase does.
    pub cut: bool,
    /// The length of the whole phase, as far as it is known.
    pub seconds: f64,
    /// The phases of what was measured, with their begin and end in s. The list is empty if the
    /// measurement has no phases of its own.
    pub phases: Vec<(String, f64, f64)>,
}

impl WatchedTrial {
    /// Returns the length of the trace in s.
    pub fn traced(&self) -> f64 {
        (self.line.bins.end - self.line.bins.begin) as f64 / 1e9
    }

    /// Returns the moment of an edge between bins, in s.
    pub fn moment(&self, edge: usize) -> f64 {
        (self.line.bins.edge(edge) - self.line.bins.begin) as f64 / 1e9
    }

    /// Returns the moment in the middle of a bin, in s.
    pub fn middle(&self, bin: usize) -> f64 {
        let bins = &self.line.bins;
        (bins.edge(bin).midpoint(bins.edge(bin + 1)) - bins.begin) as f64 / 1e9
    }

    /// Returns the name of the trial under a picture.
    pub fn about(&self) -> String {
        if self.cut {
            let traced = digits(self.traced());
            return format!("{}, cut off: its trace ends after {traced} s", self.label);
        }
        let phase = |(name, from, to): &(String, f64, f64)| {
            format!("{name} {} to {} s", digits(*from), digits(*to))
        };
        let phases = self.phases.iter().map(phase).join(", ");
        let parts = [self.label.clone(), phases];
        parts.into_iter().filter(|part| !part.is_empty()).join(": ")
    }
}
