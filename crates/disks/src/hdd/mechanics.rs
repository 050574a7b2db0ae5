//! Arm and platters: the times to reach a place.

use disklab_config::device::Hdd;
use disklab_units::{Bytes, Nanos, Random, Seed};

use super::detailed::DetailedHdd;
use super::geometry::{Arm, Geometry, Skew, TapePlace};
use super::seek::{SeekCurve, SeekTimes};

pub(crate) struct Mechanics {
    pub geometry: Geometry,
    seeks: SeekTimes,
    /// Time to change to another surface, in ns, like all times here.
    head_switch: u64,
    /// The settling time before a write. A negative time is stored in two's complement, because it
    /// is added with wrapping.
    write_settle: u64,
    /// The time of a turn.
    pub turn: u64,
    /// Number of turns begun during the longest travel of the arm.
    longest_turns: u64,
    /// The least time of seeks by the class of their distance, for reads and for writes.
    least_seek: [[u64; DISTANCE_CLASSES]; 2],
    /// The platters' angle at time 0, as the time since angle 0 passed the head.
    start: u64,
}

/// The place at which an access starts. A choice compares many of these, so the type is small.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AccessTarget {
    pub arm: Arm,
    /// Angle as a time in ns, less than one turn.
    pub angle: u32,
    pub write: bool,
}

/// Tolerance of a motor's speed: that of each disk is within this fraction of the data sheet's. Two
/// equal disks therefore drift against each other by a turn about every ten seconds.
const SPEED_TOLERANCE: f64 = 0.001;

/// Number of classes of distances in cylinders, four for each binary digit: 4, 5, 6, 7, 8 to 9, 10
/// to 11, 12 to 13, ... Class 0 has distance 0.
const DISTANCE_CLASSES: usize = 4 * 32 + 1;

/// Number of low bits of a float that do not tell its class: all but two of the fraction.
const CLASS_SHIFT: u32 = 50;

/// Returns the class of a distance, which is in the highest bits of the distance as a float.
#[inline]
fn distance_class(distance: u32) -> usize {
    let class = f64::from(distance).to_bits() >> CLASS_SHIFT;
    class.saturating_sub((1_f64.to_bits() >> CLASS_SHIFT) - 1) as usize
}

/// Returns the least distance of a class, rounded down.
fn least_of_class(class: usize) -> u32 {
    let class = class as u64 + (1_f64.to_bits() >> CLASS_SHIFT) - 1;
    f64::from_bits(class << CLASS_SHIFT) as u32
}

/// Number of targets whose costs are bounded at once.
const CHUNK: usize = 32;

impl Mechanics {
    pub fn new(model: &Hdd, bytes: Bytes, seed: Seed) -> Self {
        let mut random = Random::new(seed.derive("rotation"));
        let pace = 1.0 + SPEED_TOLERANCE * (2.0 * random.next_f64() - 1.0);
        let turn = (60e9 / (f64::from(model.rpm.max(1)) * pace)) as u64;
        let start = random.below(turn);
        let (head_switch, write_settle) = (model.head_switch.0, model.write_settle.0);
        // A skew is long enough for a write to settle too. The arm moves to a neighbouring cylinder
        // while the drive changes the surface.
        let skew = Skew {
            surface: head_switch + write_settle,
            cylinder: model.seek_track_to_track.0.max(head_switch) + write_settle,
        };
        let geometry = Geometry::new(model, bytes, turn, skew);
        let Hdd { seek_track_to_track, seek_average, seek_full, .. } = *model;
        let cylinders = geometry.cylinders;
        let curve = SeekCurve::fit(seek_track_to_track, seek_average, seek_full, cylinders);
        let longest = curve.time(cylinders).max(head_switch) + write_settle;
        // One nanosecond is subtracted to allow for rounding.
        let least = |class: usize, settle: u64| match class {
            0 => 0,
            _ => curve.time(least_of_class(class)).saturating_sub(1) + settle,
        };
        let least_seek =
            [0, write_settle].map(|settle| std::array::from_fn(|class| least(class, settle)));
        let (seeks, longest_turns) = (SeekTimes::Curve(curve), longest / turn + 1);
        Self { geometry, seeks, head_switch, write_settle, turn, longest_turns, least_seek, start }
    }

    /// Returns the mechanics of a drive with measured parameters. `start` is the time since angle 0
    /// passed the head, at time 0.
    pub fn detailed(model: &DetailedHdd, start: Nanos) -> Self {
        let turn = model.turn.0.max(1);
        let seeks = SeekTimes::table(&model.seeks);
        let head_switch = model.head_switch.0;
        let times = || model.seeks.iter().skip(1).map(|time| time.0);
        // A negative settling time is limited so that no move takes less than zero.
        let least = [times().min().unwrap_or(0), head_switch];
        let least = least.into_iter().filter(|&time| time > 0).min().unwrap_or(0);
        let write_settle = model.write_settle.max(-i64::try_from(least).unwrap_or(i64::MAX));
        let longest =
            times().fold(head_switch, u64::max).saturating_add_signed(write_settle.max(0));
        // Skews are computed for reads. In all drives measured they are also long enough for the
        // additional time of a write.
        let switch = Skew { surface: head_switch, cylinder: seeks.time(1).max(head_switch) };
        Self {
            geometry: Geometry::detailed(&model.layout, turn, switch),
            seeks,
            head_switch,
            write_settle: write_settle as u64,
            turn,
            longest_turns: longest / turn + 1,
            // A disk of this kind takes one command at a time and never chooses.
            least_seek: [[0; DISTANCE_CLASSES]; 2],
            start: start.0 % turn,
        }
    }

    pub fn target(&self, place: TapePlace, write: bool) -> AccessTarget {
        AccessTarget { arm: place.arm, angle: self.geometry.angle(place.tape) as u32, write }
    }

    /// Returns the platters' angle at `now`, as the time since angle 0 passed the head.
    pub fn angle_at(&self, now: Nanos) -> u64 {
        now.0.wrapping_add(self.start) % self.turn
    }

    /// Returns the time that a free arm needs until the target is under its head, with the platters
    /// at `angle`: seek, change of head, settling, and rotation.
    ///
    /// Every choice calls this for every candidate, so it has no branches: they would go either way
    /// at random, and a misprediction costs more than all the arithmetic.
    #[inline]
    pub fn reach(&self, arm: Arm, angle: u64, target: &AccessTarget) -> u64 {
        self.after_travel(self.travel(arm, target), self.first_pass(angle, target))
    }

    /// Returns the time until the target comes under the head after a travel of the arm. The target
    /// passes `first` after now, and then once each turn.
    #[inline]
    fn after_travel(&self, travel: u64, first: u64) -> u64 {
        let short = travel.saturating_sub(first);
        let missed: u64 =
            (0..self.longest_turns).map(|turns| u64::from(short > turns * self.turn)).sum();
        first + missed * self.turn
    }

    /// Returns the time until the target first passes, whether the head is there or not.
    #[inline]
    fn first_pass(&self, angle: u64, target: &AccessTarget) -> u64 {
        let ahead = u64::from(target.angle) + self.turn - angle;
        ahead.min(ahead.wrapping_sub(self.turn))
    }

    /// Returns the part of [`Mechanics::reach`] that the arm takes, without the rotational wait.
    #[inline]
    pub fn travel(&self, arm: Arm, target: &AccessTarget) -> u64 {
        let distance = arm.cylinder.abs_diff(target.arm.cylinder);
        let switch = u64::from(arm.surface != target.arm.surface) * self.head_switch;
        let moved = self.seeks.time(distance).max(switch);
        // A head that does not move needs no settling.
        moved.wrapping_add(u64::from(target.write && moved > 0).wrapping_mul(self.write_settle))
    }

    /// Returns an upper bound of [`Mechanics::reach`] for every target.
    pub fn longest_reach(&self) -> u64 {
        // The travel ends within `longest_turns`, and the target passes within one turn more.
        (self.longest_turns + 1) * self.turn
    }

    /// Returns the index of the target that is reached soonest, and the time that this takes. Of
    /// equal targets the first is returned.
    pub fn nearest(&self, arm: Arm, angle: u64, targets: &[AccessTarget]) -> Option<(usize, u64)> {
        self.cheapest(arm, angle, targets, |_| 0, |_, _| 0)
    }

    /// Returns the index of the target with the lowest cost, and that cost; of equal ones the
    /// first. The cost is the time to reach the target, plus `late` of its index, plus `error` of
    /// its index and its travel. `error` must grow with the travel.
    ///
    /// A lower bound on each cost is computed first, without the seek curve. Most targets pass too
    /// late, or before the arm can be there, and need no exact cost.
    #[inline]
    pub fn cheapest(
        &self,
        arm: Arm,
        angle: u64,
        targets: &[AccessTarget],
        late: impl Fn(usize) -> u64,
        error: impl Fn(usize, u64) -> u64,
    ) -> Option<(usize, u64)> {
        let (mut best, mut least) = (usize::MAX, u64::MAX);
        for (chunk, start) in targets.chunks(CHUNK).zip((0..).step_by(CHUNK)) {
            // This loop has no branches, for the reason given at `reach`.
            let mut bounds = [0; CHUNK];
            let (mut likely, mut lowest) = (0, u64::MAX);
            for (in_chunk, target) in chunk.iter().enumerate() {
                let first = self.first_pass(angle, target);
                let class = distance_class(arm.cylinder.abs_diff(target.arm.cylinder));
                let least_seek = self.least_seek[usize::from(target.write)][class];
                let turns =
                    u64::from(least_seek > first) + u64::from(least_seek > first + self.turn);
                let index = start + in_chunk;
                let bound = first + turns * self.turn + late(index) + error(index, least_seek);
                bounds[in_chunk] = bound;
                (likely, lowest) =
                    if bound < lowest { (in_chunk, bound) } else { (likely, lowest) };
            }
            // The target with the lowest bound is evaluated first. Its cost then rules out nearly
            // all others by their bounds.
            let others = (0..chunk.len()).filter(|in_chunk| *in_chunk != likely);
            for in_chunk in std::iter::once(likely).chain(others) {
                if bounds[in_chunk] > least {
                    continue;
                }
                let (index, target) = (start + in_chunk, &chunk[in_chunk]);
                let travel = self.travel(arm, target);
                let reach = self.after_travel(travel, self.first_pass(angle, target));
                let cost = reach + late(index) + error(index, travel);
                if cost < least || cost == least && index < best {
                    (best, least) = (index, cost);
                }
            }
        }
        (best < targets.len()).then_some((best, least))
    }
}

/// The arm's times of a model from sector to sector, without rotation, for programs that fit a
/// model to a drive.
pub struct Travel {
    mechanics: Mechanics,
}

impl Travel {
    /// Returns the arm of the disk that `model` describes, `bytes` large.
    pub fn new(model: &Hdd, bytes: Bytes) -> Self {
        // The seed decides only angle and exact speed, which do not affect the arm.
        Self { mechanics: Mechanics::new(model, bytes, Seed(1)) }
    }

    /// Returns the time of the arm to a read at `to` after a read at `from`. Both are less than the
    /// disk's number of sectors.
    pub fn time(&self, from: u64, to: u64) -> Nanos {
        let place = |sector| self.mechanics.geometry.place(sector);
        Nanos(self.mechanics.travel(place(from).arm, &self.mechanics.target(place(to), false)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hdd::HddDisk;
    use crate::hdd::tests::nas_4tb;
    use crate::{Disk, Op, Request};

    const SIZE: Bytes = Bytes(4_000_000_000_000);

    fn mechanics(seed: u64) -> Mechanics {
        Mechanics::new(&nas_4tb(), SIZE, Seed(seed))
    }

    #[test]
    fn every_disk_has_its_own_speed_within_the_tolerance() {
        let turns: Vec<u64> = (0..200).map(|seed| mechanics(seed).turn).collect();
        let nominal = 60_000_000_000 / u64::from(nas_4tb().rpm);
        let (shortest, longest) = (turns.iter().min().unwrap(), turns.iter().max().unwrap());
        assert!(*shortest >= nominal - nominal / 999 && *longest <= nominal + nominal / 999);
        assert!(longest - shortest > nominal / 1_000, "they spread over the tolerance");
    }

    /// A command that begins where the last one ended finds its sector just arriving. This holds
    /// across tracks and cylinders, and for a write, which must settle first.
    #[test]
    fn going_on_in_sequence_loses_no_turn() {
        let mechanics = mechanics(1);
        let geometry = &mechanics.geometry;
        let (mut surfaces, mut cylinders) = (0, 0);
        for sector in 1..80_000 {
            let (end, next) = (geometry.end_place(sector), geometry.place(sector));
            for write in [false, true] {
                let reach = mechanics.reach(
                    end.arm,
                    geometry.angle(end.tape),
                    &mechanics.target(next, write),
                );
                assert_eq!(reach, next.tape - end.tape, "to sector {sector}");
            }
            surfaces += u32::from(end.arm.surface != next.arm.surface);
            cylinders += u32::from(end.arm.cylinder != next.arm.cylinder);
        }
        assert!(
            surfaces > 10 && cylinders > 0,
            "{surfaces} changes of surface, {cylinders} of cylinder"
        );
    }

    /// The rotational wait of a lone random read is its latency minus all other parts. It is
    /// uniform over a turn (Kolmogorov-Smirnov test at the 1 % level).
    #[test]
    fn the_wait_is_uniform_over_a_turn() {
        let model = Hdd { look_ahead: Bytes::ZERO, ..nas_4tb() };
        let mechanics = mechanics(1);
        let mut disk = HddDisk::new(&model, SIZE, Seed(1));
        let mut random = Random::new(Seed(2));
        let (mut now, mut arm) = (Nanos::ZERO, Arm { cylinder: 0, surface: 0 });
        let mut done = Vec::new();
        let mut waits = Vec::new();
        for _ in 0..20_000 {
            let sector = random.below(SIZE.sectors().0 / 8) * 8;
            disk.submit(now, Request { id: 0, op: Op::Read, sector, sectors: 8, fua: false });
            let at = disk.next_event().unwrap();
            disk.advance(at, &mut done);
            let place = mechanics.geometry.place(sector);
            let end = mechanics.geometry.end_place(sector + 8);
            let travel = mechanics.travel(arm, &mechanics.target(place, false));
            let known = model.command_overhead.0 + travel + (end.tape - place.tape);
            let wait = (at - now).0.checked_sub(known).expect("no read is faster than its parts");
            assert!(wait < mechanics.turn);
            waits.push(wait as f64 / mechanics.turn as f64);
            (now, arm) = (at, end.arm);
        }
        waits.sort_unstable_by(f64::total_cmp);
        let count = waits.len() as f64;
        let distances =
            waits.iter().enumerate().map(|(below, wait)| (below as f64 / count - wait).abs());
        let distance = distances.fold(0.0, f64::max);
        assert!(distance < 1.63 / count.sqrt(), "{distance}");
    }

    proptest! {
        /// The result is that of a search through all exact costs. `full` is the full stroke in ms,
        /// which makes travels of few turns or many.
        #[test]
        fn cheapest_is_the_first_that_costs_least(
            from in 0..7_800_000_000_u64, now in any::<u64>(), full in 9..100_u64,
            to in prop::collection::vec(
                (
                    0..7_800_000_000_u64,
                    -2_000_000..2_000_000_i64,
                    any::<bool>(),
                    any::<bool>(),
                    0..20_000_000_u64,
                    any::<u32>(),
                ),
                0..80,
            ),
            most in prop::sample::select(vec![0, 1_000, 4_000_000, 1_000_000_000_u64]),
            ages in any::<bool>(),
        ) {
            let slow = Hdd { seek_full: Nanos::from_millis(full), ..nas_4tb() };
            let mechanics = Mechanics::new(&slow, SIZE, Seed(1));
            let arm = mechanics.geometry.place(from).arm;
            let target = |&(far, near, is_near, write, ..): &(u64, i64, bool, bool, u64, u32)| {
                let near = from.saturating_add_signed(near).min(7_799_999_999);
                let sector = if is_near { near } else { far };
                mechanics.target(mechanics.geometry.place(sector), write)
            };
            let targets: Vec<AccessTarget> = to.iter().map(target).collect();
            let angle = mechanics.angle_at(Nanos(now));
            let late = |index: usize| if ages { to[index].4 } else { 0 };
            let error =
                |index: usize, travel: u64| (most.min(6 * travel) * u64::from(to[index].5)) >> 32;
            let cost = |(index, target): (usize, &AccessTarget)| {
                let travel = mechanics.travel(arm, target);
                mechanics.reach(arm, angle, target) + late(index) + error(index, travel)
            };
            let costs = targets.iter().enumerate().map(cost).enumerate();
            let least = costs.min_by_key(|(_, cost)| *cost);
            prop_assert_eq!(mechanics.cheapest(arm, angle, &targets, late, error), least);
        }

        /// The bound of a class of distances does not exceed any distance in it, and is not far
        /// below.
        #[test]
        fn no_seek_takes_less_than_its_class(distance in any::<u32>()) {
            let class = distance_class(distance);
            let least = least_of_class(class);
            prop_assert!(class < DISTANCE_CLASSES);
            prop_assert!(class == 0 || least <= distance && distance - least <= least / 4);
            let short = distance % 40;
            let least = least_of_class(distance_class(short));
            prop_assert!(short == 0 || least <= short && short - least <= least / 4);
        }

        /// The result is that of the definition, computed step by step.
        #[test]
        fn reach_is_travel_and_the_wait_for_the_angle(
            from in 0..7_800_000_000_u64,
            to in 0..7_800_000_000_u64,
            now in any::<u64>(),
            write in any::<bool>(),
        ) {
            let mechanics = mechanics(1);
            let arm = mechanics.geometry.place(from).arm;
            let target = mechanics.target(mechanics.geometry.place(to), write);
            let angle = mechanics.angle_at(Nanos(now));
            let there = mechanics.travel(arm, &target);
            let arrives_at = (angle + there) % mechanics.turn;
            let wait = (u64::from(target.angle) + mechanics.turn - arrives_at) % mechanics.turn;
            prop_assert_eq!(mechanics.reach(arm, angle, &target), there + wait);
        }
    }
}
