//! Chooses the addresses that a picture of a disk shows: those with nearly all of its requests. A
//! single superblock write far beyond all data would flatten the rest. Requests beyond the frame
//! are counted, marked at the edge and named in words. Compared trials share one frame, for all
//! their requests together.

use std::collections::BTreeMap;

use disklab_disks::Op;
use disklab_protocol::Mark;
use disklab_trace::timeline::Raster;
use disklab_trace::{Bins, Served, TraceEntry, TracePhase};
use disklab_units::prose::count;

/// Least share of the requests within the frame.
const HELD: f64 = 0.995;
/// Least share of the requests within a frame that leaves out a few more requests, if that shortens
/// the frame to this share of its length or less. With few requests, two are more than [`HELD`]
/// leaves out.
const HELD_OF_FEW: f64 = 0.98;
const SHORTENED: f64 = 0.7;
/// If the frame would be at least this share of the touched addresses, the frame is all of them.
const MOST: f64 = 0.75;
/// Requests outside the frame are near it if their distance is at most 1/NEAR of its length.
const NEAR: u64 = 20;
/// Least stretch that is distinguished, as a power of two of sectors (1 MiB), and the number of
/// stretches.
const FINEST: u32 = 11;
const SLOTS: usize = 4096;

/// First sector, and the one after the last.
pub type Reach = (u64, u64);

/// Number of requests that began in each stretch of a disk's addresses, in memory that does not
/// grow with the trace.
#[derive(Debug, Clone)]
pub struct Places {
    shift: u32,
    counts: BTreeMap<u64, u64>,
}

impl Default for Places {
    fn default() -> Self {
        Self { shift: FINEST, counts: BTreeMap::new() }
    }
}

impl Places {
    fn add(&mut self, sector: u64) {
        *self.counts.entry(sector >> self.shift).or_default() += 1;
        while self.counts.len() > SLOTS {
            self.coarsen(self.shift + 1);
        }
    }

    fn coarsen(&mut self, shift: u32) {
        for (slot, requests) in std::mem::take(&mut self.counts) {
            *self.counts.entry(slot >> (shift - self.shift)).or_default() += requests;
        }
        self.shift = shift;
    }

    /// Adds the requests of another trial.
    pub fn join(&mut self, other: &Self) {
        let mut other = other.clone();
        let shift = self.shift.max(other.shift);
        self.coarsen(shift);
        other.coarsen(shift);
        for (slot, requests) in other.counts {
            *self.counts.entry(slot).or_default() += requests;
        }
    }

    /// Returns the shortest stretch with nearly all requests and those near it, within `touched`.
    pub fn frame(&self, touched: Reach) -> Reach {
        let all: Vec<(u64, u64)> =
            self.counts.iter().map(|(slot, requests)| (*slot, *requests)).collect();
        let length = |(from, to): (usize, usize)| all[to - 1].0 + 1 - all[from].0;
        let (Some(usual), Some(least)) = (shortest(&all, HELD), shortest(&all, HELD_OF_FEW)) else {
            return touched;
        };
        let is_short = length(least) as f64 <= SHORTENED * length(usual) as f64;
        let (mut from, mut to) = if is_short { least } else { usual };
        // The shortest stretch leaves out requests just beside it.
        let near = (length((from, to)) / NEAR).max(1);
        while from > 0 && all[from].0 - all[from - 1].0 <= near {
            from -= 1;
        }
        while to < all.len() && all[to].0 - all[to - 1].0 <= near {
            to += 1;
        }
        let (first, end) = (all[from].0, all[to - 1].0 + 1);
        // The slot after the last one may begin past the largest address.
        let sector = |slot: u64| u64::try_from(u128::from(slot) << self.shift).unwrap_or(u64::MAX);
        let frame = (sector(first).max(touched.0), sector(end).min(touched.1));
        let length = |(from, to): Reach| to.saturating_sub(from) as f64;
        if length(frame) < MOST * length(touched) { frame } else { touched }
    }
}

/// Returns the shortest stretch with this share of the requests: the indices in `all` (slot,
/// requests) of its first slot, and of the slot after its last.
fn shortest(all: &[(u64, u64)], held: f64) -> Option<(usize, usize)> {
    let total: u64 = all.iter().map(|(_, requests)| requests).sum();
    let wanted = (total as f64 * held).ceil() as u64;
    let length = |(from, to): (usize, usize)| all[to - 1].0 + 1 - all[from].0;
    let (mut last, mut held) = (0, 0);
    let mut best: Option<(usize, usize)> = None;
    for (first, (_, requests)) in all.iter().enumerate() {
        while held < wanted && last < all.len() {
            held += all[last].1;
            last += 1;
        }
        if held < wanted || last <= first {
            break;
        }
        if best.is_none_or(|known| length((first, last)) < length(known)) {
            best = Some((first, last));
        }
        held -= requests;
    }
    best
}

/// Requests of a disk beyond its frame, collected in a pass: the end and the first sector of each.
#[derive(Debug, Default)]
pub struct Outside {
    above: Vec<(u64, u64, Op)>,
    below: Vec<(u64, u64, Op)>,
}

/// Requests beyond one edge.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Beyond {
    pub reads: u64,
    pub writes: u64,
    /// Least and greatest first sector of these requests.
    pub from: u64,
    pub to: u64,
    /// Columns of the rasters in which these requests ended, in order.
    pub columns: Vec<usize>,
}

/// Returns true for reads and writes, which rasters show.
const fn is_drawn(op: Op) -> bool {
    matches!(op, Op::Read | Op::Write | Op::WriteZeroes)
}

impl Outside {
    fn add(&mut self, served: &Served, frame: Reach) {
        let found = (served.ended, served.sector, served.op);
        if served.sector >= frame.1 {
            self.above.push(found);
        } else if served.sector < frame.0 {
            self.below.push(found);
        }
    }

    /// Returns the requests beyond the upper edge and the lower, and takes them out of the rasters,
    /// whose edge rows have them.
    pub fn taken_out(self, time: Bins, reads: &mut Raster, writes: &mut Raster) -> [Beyond; 2] {
        let columns = Bins { count: reads.columns, ..time };
        let top = reads.rows().saturating_sub(1);
        [(self.above, top), (self.below, 0)].map(|(found, row)| {
            let mut beyond = Beyond { from: u64::MAX, ..Beyond::default() };
            for (ended, sector, op) in found {
                let Some(column) = columns.index(ended) else { continue };
                let is_read = op == Op::Read;
                let raster = if is_read { &mut *reads } else { &mut *writes };
                let at = column * raster.rows() + row;
                raster.cells[at] = raster.cells[at].saturating_sub(1);
                beyond.reads += u64::from(is_read);
                beyond.writes += u64::from(!is_read);
                (beyond.from, beyond.to) = (beyond.from.min(sector), beyond.to.max(sector));
                beyond.columns.push(column);
            }
            beyond.columns.sort_unstable();
            beyond.columns.dedup();
            beyond
        })
    }
}

impl Beyond {
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Describes the requests, as in `2 writes at 256 GiB`. Returns `None` if there are none.
    pub fn in_words(&self) -> Option<String> {
        let some = |number: u64, one: &str| (number > 0).then(|| count(number as usize, one));
        let what: Vec<String> =
            [some(self.reads, "read"), some(self.writes, "write")].into_iter().flatten().collect();
        let gib = |sector: u64| {
            let gib = sector as f64 / f64::from(1 << 21);
            if gib < 10.0 { format!("{gib:.2}") } else { format!("{gib:.0}") }
        };
        let (from, to) = (gib(self.from), gib(self.to));
        let place = if from == to { from } else { format!("{from} to {to}") };
        (!what.is_empty()).then(|| format!("{} at {place} GiB", what.join(" and ")))
    }
}

/// Counts the places of a trace's measured requests by disk, in a pass over the trace.
pub fn watch(places: &mut Vec<Places>, measuring: &mut bool, entry: &TraceEntry) {
    match entry {
        TraceEntry::Mark { text, .. } => {
            *measuring = matches!(text.parse(), Ok(Mark::Begin { .. }));
        }
        TraceEntry::Served(served) if *measuring && is_drawn(served.op) => {
            if places.len() <= served.disk {
                places.resize(served.disk + 1, Places::default());
            }
            places[served.disk].add(served.sector);
        }
        TraceEntry::Served(_) => {}
    }
}

/// Collects the measured requests beyond the frames, in a pass over the trace.
pub fn find(
    outside: &mut [Outside],
    frames: &[Reach],
    phase: &TracePhase,
    place: u64,
    entry: &TraceEntry,
) {
    if let TraceEntry::Served(served) = entry
        && is_drawn(served.op)
        && phase.entries.contains(&place)
        && let (Some(outside), Some(frame)) =
            (outside.get_mut(served.disk), frames.get(served.disk))
    {
        outside.add(served, *frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 21;

    #[test]
    fn one_write_far_away_does_not_flatten_the_others() {
        let mut places = Places::default();
        (0..1000).for_each(|at| places.add(10 * GIB + at * 8192));
        let touched = (10 * GIB, 14 * GIB);
        assert_eq!(places.frame(touched), touched, "they are all over it");
        places.add(256 * GIB);
        places.add(0);
        let (from, to) = places.frame((0, 257 * GIB));
        assert!(
            (10 * GIB..11 * GIB).contains(&from) && (13 * GIB..15 * GIB).contains(&to),
            "{from} {to}"
        );
    }

    /// The slots of such a disk are coarse, and the one after the last begins past all addresses.
    #[test]
    fn a_frame_reaches_the_last_address() {
        let mut places = Places::default();
        (0..1000).for_each(|at| places.add(u64::MAX - at * 8192));
        places.add(0);
        let (from, to) = places.frame((0, u64::MAX));
        assert!(from < to && to == u64::MAX, "{from} {to}");
    }

    #[test]
    fn what_is_far_away_and_often_is_within() {
        let mut places = Places::default();
        (0..900).for_each(|at| places.add(at));
        (0..100).for_each(|at| places.add(256 * GIB + at));
        assert_eq!(places.frame((0, 256 * GIB + 100)), (0, 256 * GIB + 100));
        assert_eq!(Places::default().frame((3, 9)), (3, 9), "nothing at all");
    }

    /// A disk of many has about 190 requests in a short trial: reads of a few files, and a few
    /// others.
    #[test]
    fn two_of_few_do_not_flatten_the_others() {
        let of = |beyond: u64| {
            let mut places = Places::default();
            (0..190 - beyond).for_each(|at| places.add(10 * GIB + at * 8192));
            (0..beyond).for_each(|at| places.add(300 * GIB + at * 8192));
            places.frame((10 * GIB, 301 * GIB))
        };
        let (from, to) = of(2);
        assert!((from, to / GIB) == (10 * GIB, 10), "{from} {to}");
        assert_eq!(of(10), (10 * GIB, 301 * GIB), "one of twenty is a part of what is read");
        // Two requests are at the disk's begin, and the others in the second GiB.
        let mut places = Places::default();
        (0..188).for_each(|at| places.add(GIB + at * GIB / 188));
        (0..2).for_each(|at| places.add(at));
        assert_eq!(places.frame((0, 2 * GIB)).0, GIB);
    }

    #[test]
    fn a_frame_that_would_hardly_be_shorter_is_left() {
        let mut places = Places::default();
        (0..188).for_each(|at| places.add(at * GIB / 4));
        (60..62).for_each(|gib| places.add(gib * GIB));
        assert_eq!(places.frame((0, 62 * GIB)), (0, 62 * GIB));
    }

    #[test]
    fn it_takes_no_more_memory_for_large_disks() {
        let mut places = Places::default();
        (0..100_000_u64).for_each(|at| places.add(at << FINEST));
        assert!(places.counts.len() <= SLOTS);
        assert_eq!(places.counts.values().sum::<u64>(), 100_000);
    }

    #[test]
    fn what_is_beyond_is_out_of_the_raster_and_told() {
        let time = Bins { begin: 0, end: 100, count: 7 };
        let (mut reads, mut writes) = (
            Raster { columns: 2, cells: vec![0, 1, 0, 2] },
            Raster { columns: 2, cells: vec![0, 0, 0, 1] },
        );
        let found =
            vec![(10, 300 * GIB, Op::Read), (60, 256 * GIB, Op::Write), (60, 256 * GIB, Op::Read)];
        let outside = Outside { above: found, below: Vec::new() };
        let [above, below] = outside.taken_out(time, &mut reads, &mut writes);
        assert_eq!((reads.cells, writes.cells), (vec![0, 0, 0, 1], vec![0, 0, 0, 0]));
        assert_eq!(above.in_words().unwrap(), "2 reads and 1 write at 256 to 300 GiB");
        assert_eq!((above.columns, below.in_words()), (vec![0, 1], None));
    }
}
