//! The work of each disk over time, in one pass over a trace and in memory that does not grow with
//! it.

use std::collections::VecDeque;

use disklab_disks::Op;

use crate::bins::{Bins, Sum};
use crate::entry::{Served, TraceEntry};
use crate::reader::Error;
use crate::survey::{Reach, Survey, TracePhase, moves_data};

/// The resolution of a picture, at most: no part of time is shorter than 1 ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of time intervals, for sums.
    pub bins: usize,
    /// Number of time intervals, for the places of requests.
    pub columns: usize,
    pub rows: usize,
}

/// The work of the disks in a phase.
#[derive(Debug, Clone, PartialEq)]
pub struct Timeline {
    pub bins: Bins,
    /// The timelines of all disks that have requests in the trace.
    pub disks: Vec<DiskTimeline>,
}

/// The timeline of a disk.
#[derive(Debug, Clone, PartialEq)]
pub struct DiskTimeline {
    pub bins: Vec<TimelineBin>,
    pub reads: Raster,
    pub writes: Raster,
}

/// The work of a disk in a time interval. A request counts in the interval of its end, even at the
/// very end of the phase, and its bytes where it was served. Writing zeroes is a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimelineBin {
    /// Length in virtual ns.
    pub length: u64,
    pub requests: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
    /// Reads and writes that did not begin at the end of the one before them, in the order of ends
    /// on this disk.
    pub seeks: u64,
    /// Sum over requests of their time at the disk within this interval, in ns. It includes
    /// requests that began or ended outside.
    pub depth: u128,
    /// Time in which at least one request was at the disk, in ns.
    pub busy: u64,
}

impl TimelineBin {
    /// Returns consecutive bins as one.
    pub fn joined(bins: &[Self]) -> Self {
        bins.iter().fold(Self::default(), |sum, bin| Self {
            length: sum.length + bin.length,
            requests: sum.requests + bin.requests,
            read_bytes: sum.read_bytes + bin.read_bytes,
            write_bytes: sum.write_bytes + bin.write_bytes,
            seeks: sum.seeks + bin.seeks,
            depth: sum.depth + bin.depth,
            busy: sum.busy + bin.busy,
        })
    }

    /// Returns the utilisation, 0 to 1.
    pub fn utilisation(&self) -> f64 {
        self.busy as f64 / self.length as f64
    }

    /// Returns the mean number of requests at the disk over time.
    pub fn mean_depth(&self) -> f64 {
        self.depth as f64 / self.length as f64
    }

    /// Returns `count` per second.
    pub fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.length as f64
    }
}

/// Number of requests that ended in each time interval and began in each range of addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    pub columns: usize,
    /// The cells, column by column; the lowest addresses first.
    pub cells: Vec<u32>,
}

impl Raster {
    fn new(columns: usize, rows: usize) -> Self {
        Self { columns, cells: vec![0; columns * rows] }
    }

    pub fn rows(&self) -> usize {
        self.cells.len() / self.columns
    }

    pub fn requests(&self, column: usize, row: usize) -> u32 {
        self.cells[column * self.rows() + row]
    }
}

impl Timeline {
    /// Reads the trace that `survey` summarises, as far as that could be read. `phase` is one of
    /// its phases, or any time interval. The rows of a disk's rasters cover the sectors that its
    /// [`Reach`] has touched; other requests are in the rows at the edges.
    pub fn read(
        entries: impl Iterator<Item = Result<TraceEntry, Error>>,
        survey: &Survey,
        phase: &TracePhase,
        shape: Shape,
    ) -> Result<Self, Error> {
        let bins = Bins::new(phase.begin, phase.end, shape.bins);
        let columns = Bins::new(phase.begin, phase.end, shape.columns);
        let watched = |reach: &Reach| DiskTally::new(*reach, bins, columns, shape.rows.max(1));
        let mut disks: Vec<_> = survey.disks.iter().map(watched).collect();
        for (place, entry) in (0..).zip(entries) {
            let entry = match entry {
                Ok(entry) => entry,
                Err(_) if survey.error.is_some() => break,
                Err(error) => return Err(error),
            };
            // The survey has seen every disk, unless it was of another trace.
            if let TraceEntry::Served(served) = entry
                && let Some(disk) = disks.get_mut(served.disk)
            {
                let has_begun = served.ended > phase.begin || phase.ramp > 0;
                disk.request(&served, has_begun && phase.entries.contains(&place));
            }
        }
        Ok(Self { bins, disks: disks.into_iter().map(DiskTally::finish).collect() })
    }
}

/// A disk while its requests are added up.
struct DiskTally {
    reach: Reach,
    bins: Bins,
    columns: Bins,
    counts: Vec<TimelineBin>,
    depth: Sum,
    busy: Sum,
    /// Times at which the disk had requests, while later entries may still join two of them. They
    /// are in order and do not touch.
    stretches: VecDeque<(u64, u64)>,
    /// The latest end so far.
    last: u64,
    /// The sector after the last read or write.
    place: Option<u64>,
    reads: Raster,
    writes: Raster,
}

impl DiskTally {
    fn new(reach: Reach, bins: Bins, columns: Bins, rows: usize) -> Self {
        Self {
            reach,
            bins,
            columns,
            counts: vec![TimelineBin::default(); bins.count],
            depth: Sum::new(bins),
            busy: Sum::new(bins),
            stretches: VecDeque::new(),
            last: 0,
            place: None,
            reads: Raster::new(columns.count, rows),
            writes: Raster::new(columns.count, rows),
        }
    }

    /// Adds a request. `counts` says whether it ended within the announced phase; otherwise it only
    /// occupied the disk.
    fn request(&mut self, served: &Served, counts: bool) {
        let seeks = moves_data(served.op) && self.place.is_some_and(|place| place != served.sector);
        if moves_data(served.op) {
            self.place = Some(served.sector.wrapping_add(u64::from(served.sectors)));
        }
        self.depth.add(served.submitted, served.ended);
        self.occupy(served.submitted, served.ended);
        if let Some(bin) = self.bins.index(served.ended).filter(|_| counts) {
            self.count(served, bin, seeks);
        }
    }

    fn count(&mut self, served: &Served, bin: usize, seeks: bool) {
        self.spread(served, bin);
        let bin = &mut self.counts[bin];
        bin.requests += 1;
        bin.seeks += u64::from(seeks);
        let raster = match served.op {
            Op::Read => &mut self.reads,
            Op::Write | Op::WriteZeroes => &mut self.writes,
            Op::Flush | Op::Discard => return,
        };
        let rows = raster.rows();
        let (first, last) = self.reach.touched.unwrap_or_default();
        let above = served.sector.saturating_sub(first);
        let row = u128::from(above) * rows as u128 / u128::from((last - first).max(1));
        let cell =
            self.columns.index(served.ended).unwrap_or(0) * rows + (row as usize).min(rows - 1);
        raster.cells[cell] = raster.cells[cell].saturating_add(1);
    }

    /// Spreads the request's bytes over the time of its service within the phase, because a long
    /// request does not move all its data in the moment of its end.
    fn spread(&mut self, served: &Served, last: usize) {
        let bytes = u64::from(served.sectors) * 512;
        let begin = served.started.clamp(self.bins.begin, served.ended);
        let length = u128::from(served.ended - begin).max(1);
        let mut moved = 0;
        for index in self.bins.index(begin).unwrap_or(last)..=last {
            let until = self.bins.edge(index + 1).min(served.ended);
            let so_far = match index {
                _ if index == last => bytes,
                _ => (u128::from(bytes) * u128::from(until - begin) / length) as u64,
            };
            let bin = &mut self.counts[index];
            match served.op {
                Op::Read => bin.read_bytes += so_far - moved,
                Op::Write | Op::WriteZeroes => bin.write_bytes += so_far - moved,
                Op::Flush | Op::Discard => {}
            }
            moved = so_far;
        }
    }

    /// Joins this time with the times that it touches, and adds up those that no later request can
    /// touch.
    fn occupy(&mut self, mut begin: u64, mut end: u64) {
        let first = self.stretches.partition_point(|stretch| stretch.1 < begin);
        let after = self.stretches.partition_point(|stretch| stretch.0 <= end).max(first);
        for (other_begin, other_end) in self.stretches.drain(first..after) {
            (begin, end) = (begin.min(other_begin), end.max(other_end));
        }
        self.stretches.insert(first, (begin, end));
        self.last = self.last.max(end);
        let settled = self.last.saturating_sub(self.reach.delay);
        while let Some(&(begin, end)) = self.stretches.front()
            && end < settled
        {
            self.busy.add(begin, end);
            self.stretches.pop_front();
        }
    }

    fn finish(mut self) -> DiskTimeline {
        self.stretches.drain(..).for_each(|(begin, end)| self.busy.add(begin, end));
        let sums = self.depth.by_bin().zip(self.busy.by_bin()).enumerate();
        for ((i, (depth, busy)), bin) in sums.zip(&mut self.counts) {
            bin.length = self.bins.length(i);
            bin.depth = depth;
            // These times do not overlap, so the sum is at most the length.
            bin.busy = busy as u64;
        }
        DiskTimeline { bins: self.counts, reads: self.reads, writes: self.writes }
    }
}
