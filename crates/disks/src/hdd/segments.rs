//! The read cache: a few segments, each holding the latest part of one sequential stream.

use std::ops::Range;

#[derive(Clone)]
pub(crate) struct ReadCache {
    all: Vec<CacheSegment>,
    /// The most sectors that a segment holds.
    pub size: u64,
    /// Number of uses so far, from which the least recently used segment is found.
    uses: u64,
}

#[derive(Clone, Copy, Default)]
struct CacheSegment {
    start: u64,
    end: u64,
    used: u64,
}

impl ReadCache {
    pub fn new(count: u32, size: u64) -> Self {
        Self {
            all: vec![CacheSegment::default(); count.max(1) as usize],
            size: size.max(1),
            uses: 0,
        }
    }

    /// Returns the segment that holds `sector`, or of several the one that reaches furthest, and
    /// marks it as used.
    pub fn find(&mut self, sector: u64) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut reach = sector;
        for (index, segment) in self.all.iter().enumerate() {
            // One comparison checks both ends. On which side of a segment the sector lies is
            // random, and a mispredicted branch for each end costs more than the rest.
            let within = sector.wrapping_sub(segment.start) < segment.end - segment.start;
            if within && segment.end > reach {
                (best, reach) = (Some(index), segment.end);
            }
        }
        self.mark_used(best?);
        best
    }

    /// Returns the segment for a stream that continues at `sector`: the one that ends there, or
    /// else the least recently used one, emptied.
    pub fn open(&mut self, sector: u64) -> usize {
        let mut oldest = 0;
        for (index, segment) in self.all.iter().enumerate() {
            if segment.end == sector && segment.start < sector {
                self.mark_used(index);
                return index;
            }
            if segment.used < self.all[oldest].used {
                oldest = index;
            }
        }
        self.all[oldest] = CacheSegment { start: sector, end: sector, used: 0 };
        self.mark_used(oldest);
        oldest
    }

    /// Empties every segment that holds one of these sectors.
    pub fn forget(&mut self, sectors: &Range<u64>) {
        for segment in &mut self.all {
            if segment.start < sectors.end && segment.end > sectors.start {
                *segment = CacheSegment::default();
            }
        }
    }

    /// Returns the sectors that the segment holds.
    pub fn range(&self, index: usize) -> Range<u64> {
        self.all[index].start..self.all[index].end
    }

    /// Extends a segment to `end`, and drops from its start the sectors that no longer fit. Returns
    /// how many sectors are new.
    pub fn grow(&mut self, index: usize, end: u64) -> u64 {
        let size = self.size;
        let segment = &mut self.all[index];
        let grown = end.saturating_sub(segment.end);
        segment.end += grown;
        segment.start = segment.start.max(segment.end.saturating_sub(size));
        grown
    }

    fn mark_used(&mut self, index: usize) {
        self.uses += 1;
        self.all[index].used = self.uses;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_keeps_its_latest_part() {
        let mut segments = ReadCache::new(2, 100);
        let stream = segments.open(1_000);
        assert_eq!(segments.grow(stream, 1_150), 150);
        assert_eq!(segments.range(stream), 1_050..1_150);
        assert_eq!(segments.grow(stream, 1_120), 0, "a stream never goes back");
        assert_eq!(segments.find(1_049), None);
        assert_eq!(segments.find(1_050), Some(stream));
        assert_eq!(segments.find(1_150), None);
    }

    /// Returns a cache whose first segment holds sectors 0 to 9, and that segment.
    fn with_ten_sectors(count: u32) -> (ReadCache, usize) {
        let mut segments = ReadCache::new(count, 100);
        let first = segments.open(0);
        segments.grow(first, 10);
        (segments, first)
    }

    #[test]
    fn the_segment_unused_for_longest_makes_room() {
        let (mut segments, first) = with_ten_sectors(2);
        let second = segments.open(500);
        segments.grow(second, 510);
        assert_eq!(segments.find(5), Some(first));
        assert_eq!(segments.open(900), second);
        assert_eq!(segments.find(505), None);
    }

    #[test]
    fn a_segment_that_is_written_to_is_forgotten() {
        let (mut segments, first) = with_ten_sectors(2);
        segments.forget(&(10..20));
        assert_eq!(segments.find(5), Some(first));
        segments.forget(&(9..20));
        assert_eq!(segments.find(5), None);
    }

    #[test]
    fn a_stream_that_goes_on_finds_its_segment() {
        let (mut segments, stream) = with_ten_sectors(4);
        assert_eq!(segments.open(10), stream);
        assert_ne!(segments.open(11), stream);
    }
}
