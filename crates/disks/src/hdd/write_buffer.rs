//! The write-back cache: data whose writes have completed and that is not on the medium yet.

use std::collections::VecDeque;
use std::ops::Range;

use super::by_address::ByAddress;
use super::geometry::Arm;
use super::mechanics::{AccessTarget, Mechanics};

/// Extents of sectors. Extents that wait never overlap, and neighbours are joined, up to
/// [`LONGEST`]. Data that is overwritten in the buffer is written to the medium once.
#[derive(Clone)]
pub(crate) struct WriteBuffer {
    /// The buffer's size in sectors.
    room: u64,
    used: u64,
    window: usize,
    /// Waiting extents by slot; `free` lists the slots that are not in use.
    extents: Vec<Extent>,
    free: Vec<u32>,
    by_address: ByAddress,
    /// Slots of the waiting extents, oldest first.
    by_age: VecDeque<u32>,
    /// The starts of the extents on the medium, in the order of `by_age`. They are in an array of
    /// their own because every choice looks at all of its window.
    targets: VecDeque<AccessTarget>,
    /// The extent on its way to the medium.
    leaving: Option<Range<u64>>,
}

#[derive(Clone, Copy)]
struct Extent {
    start: u64,
    end: u64,
}

/// Joining neighbours stops at this many sectors (2 MiB), so that no command waits long for one
/// extent to be written.
const LONGEST: u64 = 4096;

impl WriteBuffer {
    /// Returns an empty buffer for `room` sectors. Each choice compares the `window` oldest
    /// extents.
    pub fn new(room: u64, window: u32) -> Self {
        Self {
            room,
            used: 0,
            window: window.max(1) as usize,
            extents: Vec::with_capacity(64),
            free: Vec::with_capacity(64),
            by_address: ByAddress::default(),
            by_age: VecDeque::with_capacity(64),
            targets: VecDeque::with_capacity(64),
            leaving: None,
        }
    }

    /// Returns whether the buffer is large enough for this many sectors at once.
    pub fn could_fit(&self, sectors: u64) -> bool {
        sectors <= self.room
    }

    pub fn fits(&self, sectors: u64) -> bool {
        sectors <= self.room - self.used
    }

    /// Returns whether any extent waits for the mechanism.
    pub fn has_waiting(&self) -> bool {
        !self.by_age.is_empty()
    }

    /// Takes in `start..end`, for which there must be room. `target` finds an extent's start on the
    /// medium.
    pub fn insert(&mut self, mut start: u64, mut end: u64, target: impl Fn(u64) -> AccessTarget) {
        // The first extent that could touch the new one is the last one that starts before it, or
        // the one after that.
        let mut at = self.by_address.seek(start);
        at = self.by_address.before(at).unwrap_or(at);
        let mut joined: Option<u32> = None;
        while let Some(slot) = self.by_address.slot(at) {
            let other = self.extents[slot as usize];
            if other.start > end {
                break;
            }
            let overlaps = other.end > start && other.start < end;
            let adjoins = other.end == start || other.start == end;
            let union = other.start.min(start)..other.end.max(end);
            if overlaps || adjoins && union.end - union.start <= LONGEST {
                (start, end) = (union.start, union.end);
                self.by_address.remove(&mut at);
                self.used -= other.end - other.start;
                // The first extent joined gives the union its place in the order of age.
                if joined.is_none() { joined = Some(slot) } else { self.forget(slot) }
            } else if other.start >= end {
                break;
            } else {
                at = self.by_address.next(at);
            }
        }
        let extent = Extent { start, end };
        if let Some(slot) = joined
            && self.extents[slot as usize].start != start
            && let Some(age) = self.age(slot)
        {
            self.targets[age] = target(start);
        }
        let slot = joined.unwrap_or_else(|| self.new_slot(extent, target(start)));
        self.extents[slot as usize] = extent;
        // The new extent goes before the first one found not to touch it, so that no second search
        // is needed.
        self.by_address.insert(at, start, slot);
        self.used += end - start;
    }

    fn new_slot(&mut self, extent: Extent, target: AccessTarget) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.extents.push(extent);
            self.extents.len() as u32 - 1
        });
        self.by_age.push_back(slot);
        self.targets.push_back(target);
        slot
    }

    /// Frees the slot of an extent that was joined to another.
    fn forget(&mut self, slot: u32) {
        if let Some(age) = self.age(slot) {
            self.by_age.remove(age);
            self.targets.remove(age);
        }
        self.free.push(slot);
    }

    /// Returns an extent's age: how many waiting extents are older.
    fn age(&self, slot: u32) -> Option<usize> {
        self.by_age.iter().position(|&other| other == slot)
    }

    /// Returns whether all of `start..end` is in the buffer.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        let mut from = start;
        while from < end {
            let leaving = self.leaving.clone().filter(|leaving| leaving.contains(&from));
            let before = self.by_address.before(self.by_address.seek(from + 1));
            let before = before.and_then(|at| self.by_address.slot(at));
            let waiting = before.map(|slot| self.extents[slot as usize].end);
            match waiting.filter(|&end| end > from).or(leaving.map(|leaving| leaving.end)) {
                Some(end) => from = end,
                None => return false,
            }
        }
        true
    }

    /// Returns the extent whose start is reached soonest, as its age among the waiting ones, and
    /// the time to reach it in ns.
    pub fn nearest(&self, mechanics: &Mechanics, arm: Arm, angle: u64) -> Option<(usize, u64)> {
        let (front, back) = self.targets.as_slices();
        let front = &front[..front.len().min(self.window)];
        let back = &back[..back.len().min(self.window - front.len())];
        let behind =
            mechanics.nearest(arm, angle, back).map(|(age, reach)| (front.len() + age, reach));
        [mechanics.nearest(arm, angle, front), behind]
            .into_iter()
            .flatten()
            .min_by_key(|&(_, reach)| reach)
    }

    /// Begins to write the extent of this age to the medium. Returns its sectors and where they
    /// start.
    pub fn begin(&mut self, age: usize) -> Option<(Range<u64>, AccessTarget)> {
        let slot = self.by_age.remove(age)?;
        let target = self.targets.remove(age)?;
        let Extent { start, end } = self.extents[slot as usize];
        self.by_address.remove(&mut self.by_address.seek(start));
        self.free.push(slot);
        self.leaving = Some(start..end);
        Some((start..end, target))
    }

    /// Notes that the leaving extent is on the medium. Returns its sectors.
    pub fn finish(&mut self) -> Range<u64> {
        let extent = self.leaving.take().unwrap_or_default();
        self.used -= extent.end - extent.start;
        extent
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn anywhere(_: u64) -> AccessTarget {
        AccessTarget { arm: Arm { cylinder: 0, surface: 0 }, angle: 0, write: true }
    }

    fn marked_by_angle(sector: u64) -> AccessTarget {
        AccessTarget { angle: sector as u32, ..anywhere(sector) }
    }

    fn with(extents: &[(u64, u64)]) -> WriteBuffer {
        let mut buffer = WriteBuffer::new(100_000, 8);
        for &(start, end) in extents {
            buffer.insert(start, end, anywhere);
        }
        buffer
    }

    fn drain(buffer: &mut WriteBuffer) -> Vec<Range<u64>> {
        std::iter::from_fn(|| buffer.begin(0).map(|_| buffer.finish())).collect()
    }

    #[test]
    fn neighbours_and_overlaps_become_one() {
        let joined = |extents: &[(u64, u64)]| -> Vec<(u64, u64)> {
            drain(&mut with(extents)).iter().map(|extent| (extent.start, extent.end)).collect()
        };
        assert_eq!(joined(&[(10, 20), (20, 30)]), [(10, 30)]);
        assert_eq!(joined(&[(20, 30), (10, 20)]), [(10, 30)]);
        assert_eq!(joined(&[(10, 20), (30, 40), (15, 35)]), [(10, 40)]);
        assert_eq!(joined(&[(10, 20), (30, 40), (20, 30)]), [(10, 40)]);
        assert_eq!(joined(&[(10, 20), (10, 20)]), [(10, 20)]);
        assert_eq!(joined(&[(10, 20), (21, 30)]), [(10, 20), (21, 30)]);
    }

    #[test]
    fn neighbours_join_only_so_far() {
        let mut buffer = with(&[(0, LONGEST), (LONGEST, LONGEST + 8)]);
        assert!(buffer.holds(0, LONGEST + 8));
        assert_eq!(drain(&mut buffer), [0..LONGEST, LONGEST..LONGEST + 8]);
    }

    #[test]
    fn what_is_leaving_is_still_there_and_takes_room() {
        let mut buffer = WriteBuffer::new(100, 8);
        buffer.insert(0, 60, anywhere);
        assert!(!buffer.fits(41));
        assert_eq!(buffer.begin(0).map(|(extent, _)| extent), Some(0..60));
        assert!(buffer.holds(10, 60) && !buffer.fits(41) && !buffer.has_waiting());
        // The sectors are written again meanwhile, which makes a new extent that must follow.
        buffer.insert(50, 70, anywhere);
        assert!(buffer.holds(10, 70));
        assert_eq!(buffer.finish(), 0..60);
        assert!(buffer.fits(80) && buffer.holds(50, 70) && !buffer.holds(49, 70));
    }

    proptest! {
        /// A plain set of sectors holds the same after the same steps.
        #[test]
        fn holds_what_was_put_in(
            steps in prop::collection::vec((0..200_u64, 0..20_u64, 0..4_u8), 1..80),
        ) {
            let mut buffer = WriteBuffer::new(10_000, 8);
            let mut waiting = BTreeSet::new();
            let mut leaving = BTreeSet::new();
            for (start, length, kind) in steps {
                match kind {
                    0 | 1 if length > 0 => {
                        buffer.insert(start, start + length, marked_by_angle);
                        waiting.extend(start..start + length);
                    }
                    2 if leaving.is_empty() => {
                        if let Some((extent, _)) = buffer.begin(length as usize) {
                            leaving.extend(extent);
                            waiting.retain(|sector| !leaving.contains(sector));
                        }
                    }
                    3 if !leaving.is_empty() => {
                        let extent = buffer.finish();
                        prop_assert!(extent.eq(leaving.iter().copied()));
                        leaving.clear();
                    }
                    _ => {}
                }
                prop_assert_eq!(buffer.used as usize, waiting.len() + leaving.len());
                prop_assert_eq!(buffer.has_waiting(), !waiting.is_empty());
                let here = |sector: u64| waiting.contains(&sector) || leaving.contains(&sector);
                let all = (start..start + length).all(here);
                prop_assert_eq!(buffer.holds(start, start + length), all);
                let mut last = None;
                for slot in buffer.by_address.slots() {
                    let extent = buffer.extents[slot as usize];
                    prop_assert!(last <= Some(extent.start) && extent.start < extent.end);
                    last = Some(extent.end);
                }
                prop_assert_eq!(buffer.by_address.slots().len(), buffer.by_age.len());
                let extents = buffer.by_age.iter().map(|&slot| buffer.extents[slot as usize]);
                let starts = extents.map(|extent| extent.start as u32);
                prop_assert!(starts.eq(buffer.targets.iter().map(|target| target.angle)));
            }
        }
    }
}
