//! A trial whose disks can be looked at over time.

use disklab_trace::Timeline;
use disklab_units::prose::digits;

use crate::addresses::{Beyond, Reach};

/// How much of a trace a picture of addresses shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// A point for each pixel.
    Usual,
    /// Twice as many each way, for who looks closer.
    Fine,
}

/// A trial of which there is a trace.
#[derive(Debug)]
pub struct WatchedTrial {
    pub label: String,
    /// Of the disks.
    pub names: Vec<String>,
    pub line: Timeline,
    /// By disk: the sectors that the rows of its rasters are of.
    pub frames: Vec<Reach>,
    /// By disk: what is beyond the upper edge and the lower.
    pub beyond: Vec<[Beyond; 2]>,
    pub detail: Detail,
    /// Its trace ends before the phase does.
    pub cut: bool,
    /// Of the whole phase, as far as it is known.
    pub seconds: f64,
    /// Those that what was measured is made of, from when to when, s; none where it is one.
    pub phases: Vec<(String, f64, f64)>,
}

impl WatchedTrial {
    /// So far the trace goes.
    pub fn traced(&self) -> f64 {
        (self.line.bins.end - self.line.bins.begin) as f64 / 1e9
    }

    /// The moment of an edge between bins, in s.
    pub fn moment(&self, edge: usize) -> f64 {
        (self.line.bins.edge(edge) - self.line.bins.begin) as f64 / 1e9
    }

    /// The moment in the middle of a bin, in s.
    pub fn middle(&self, bin: usize) -> f64 {
        let bins = &self.line.bins;
        (bins.edge(bin).midpoint(bins.edge(bin + 1)) - bins.begin) as f64 / 1e9
    }

    /// What it is called under a picture.
    pub fn about(&self) -> String {
        let phase = |(name, from, to): &(String, f64, f64)| {
            format!("{name} {} to {} s", digits(*from), digits(*to))
        };
        if self.cut {
            let told = digits(self.traced());
            format!("{}, cut off: its trace ends after {told} s", self.label)
        } else if self.phases.is_empty() {
            self.label.clone()
        } else {
            let phases: Vec<_> = self.phases.iter().map(phase).collect();
            format!("{}: {}", self.label, phases.join(", "))
        }
    }
}
