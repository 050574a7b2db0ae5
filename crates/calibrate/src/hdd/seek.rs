//! Measures the seek curve: the arm's time over all distances from one cylinder to the full stroke.
//! Finds the three times of a data sheet whose curve comes nearest to it.

use disklab_config::device::Hdd;
use disklab_disks::Travel;
use disklab_units::{Bytes, Nanos};

use crate::bench::{BLOCK, TestBench};
use crate::error::Result;
use crate::hdd::reach::{self, SeekPair};
use crate::hdd::tracks::Tracks;
use crate::numbers::{median, rms, spread};

/// The facts about the disk that measuring its seeks needs.
pub(crate) struct KnownMechanics<'a> {
    /// The time of a turn, in ns.
    pub turn: f64,
    pub tracks: &'a Tracks,
    pub heads: u32,
    /// The time of a read at a sector without arm and platters, in ns.
    pub overhead: &'a dyn Fn(u64) -> f64,
    /// A read that takes at most this time, in ns, came from the cache.
    pub hit: f64,
}

pub(crate) struct SeekMoves {
    /// Moves from one sector to another, and their times in ns.
    pub moves: Vec<(u64, u64, f64)>,
    /// Number of moves that were tried and whose time was not found.
    pub missed: usize,
    /// The time of a change of head in ns, and the median deviation of single ones from it.
    pub switch: Option<(f64, f64)>,
}

impl SeekMoves {
    /// Describes how the curve was found: which moves it fits and which were left out.
    pub fn describe(&self, fit: &SeekFit) -> String {
        let (found, all) = (self.moves.len(), self.moves.len() + self.missed);
        let mut words = vec![format!("{found} of {all} moves of the arm, waits taken away")];
        if self.missed > 0 {
            words.push(format!(
                "{} left out: not narrowed to a hundredth of a turn, as reads from the cache and \
                 late ones are not",
                self.missed
            ));
        }
        if fit.aside > 0 {
            let percent = MOST * 100.0;
            words.push(format!(
                "{} more than {percent:.0} % beside the curve hardly count",
                fit.aside
            ));
        }
        words.join("; ")
    }
}

pub(crate) fn measure(bench: &mut TestBench<'_>, known: &KnownMechanics<'_>) -> Result<SeekMoves> {
    let mut moves = short(bench, known);
    moves.extend(long(bench));
    let first = moves.len();
    moves.extend(neighbours(known));
    reach::measure(bench, &mut moves, known.turn, known.hit)?;
    let time =
        |pair: &SeekPair| Some((pair.time(known.turn)? - (known.overhead)(pair.to)).max(0.0));
    let switches: Vec<f64> = moves[first..].iter().filter_map(time).collect();
    let switch = median(&switches);
    let found: Vec<(u64, u64, f64)> =
        moves[..first].iter().filter_map(|pair| Some((pair.from, pair.to, time(pair)?))).collect();
    Ok(SeekMoves {
        missed: first - found.len(),
        moves: found,
        switch: (switches.len() > 3).then(|| (switch, spread(&switches, switch))),
    })
}

/// Returns a block that begins at or just behind a place.
fn block(sector: f64) -> u64 {
    (sector.max(0.0) as u64).next_multiple_of(u64::from(BLOCK)) + u64::from(BLOCK)
}

/// Returns the part of the disk, in cylinders, whose tracks all have as many sectors as those at
/// the beginning.
fn room(bench: &TestBench<'_>, cylinder: f64) -> f64 {
    (bench.size() as f64 / 100.0 / cylinder).max(1.0)
}

/// Number of changes of head that are tried.
const SWITCHES: u32 = 12;

/// Returns pairs from one track of a cylinder to the previous track, which is a change of head, at
/// places where tracks were seen to begin. If no cylinder shows, any track counts.
fn neighbours(known: &KnownMechanics<'_>) -> Vec<SeekPair> {
    let Some(starts) = known.tracks.seen else { return Vec::new() };
    let in_cylinder = |track: &u32| {
        known.tracks.cylinder.is_none_or(|cylinder| track % cylinder.heads != cylinder.phase)
    };
    let tracks: Vec<u32> = (1..starts.count).filter(in_cylinder).collect();
    let pair = |&track: &u32| {
        let start = starts.first + f64::from(track) * starts.distance;
        // The place of a start is known to the length of a request.
        let before = (start - starts.distance + starts.within, start - starts.within);
        SeekPair::to_part(block(start + starts.within), before, starts.distance)
    };
    // The pairs are spread over all tracks, because the cache may still hold the first ones.
    tracks
        .iter()
        .rev()
        .step_by((tracks.len() / SWITCHES as usize).max(1))
        .take(SWITCHES as usize)
        .map(pair)
        .collect()
}

/// Returns pairs over whole cylinders at the disk's beginning. They go backwards, so that the
/// read-ahead of the first read does not interfere.
fn short(bench: &mut TestBench<'_>, known: &KnownMechanics<'_>) -> Vec<SeekPair> {
    let cylinder = known.tracks.sectors.round() * f64::from(known.heads);
    let room = room(bench, cylinder);
    let mut pairs = Vec::new();
    for distance in
        [1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 21.0, 34.0, 55.0, 89.0, 144.0, 233.0, 377.0, 610.0]
    {
        if distance + 1.0 > room {
            break;
        }
        for _ in 0..3 {
            let number = (distance + bench.chance() * (room - distance)).floor();
            let to = (number - distance) * cylinder;
            pairs.push(SeekPair::to_track(
                block(number * cylinder),
                to,
                known.tracks.sectors.round(),
            ));
        }
    }
    pairs
}

/// Returns pairs over distances from a five-hundredth of the disk to all of it.
fn long(bench: &mut TestBench<'_>) -> Vec<SeekPair> {
    let last = bench.size().saturating_sub(u64::from(BLOCK));
    let mut pairs = Vec::new();
    let mut part = 0.002;
    while part < 1.0 {
        for index in 0..3 {
            let distance = (last as f64 * part) as u64;
            let low = bench.place_in(0, last - distance, 0);
            let high = (low + distance) / u64::from(BLOCK) * u64::from(BLOCK);
            pairs.push(there_or_back(index, low, high));
        }
        part *= 1.5;
    }
    let last = last / u64::from(BLOCK) * u64::from(BLOCK);
    for index in 0..4 {
        let (low, high) = (index * 4096, last - index * 4096);
        pairs.push(there_or_back(index, low, high));
    }
    pairs
}

fn there_or_back(index: u64, low: u64, high: u64) -> SeekPair {
    if index.is_multiple_of(2) { SeekPair::new(low, high) } else { SeekPair::new(high, low) }
}

/// Three times of a data sheet, and the distance of the measured moves from their curve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SeekFit {
    pub track: Nanos,
    pub average: Nanos,
    pub full: Nanos,
    /// Root mean square of the moves' relative deviations.
    pub beside: f64,
    /// Number of moves so far from the curve that `beside` leaves them out.
    pub aside: usize,
}

/// Shorter moves than this, in ns, have errors from other sources, so their relative deviations
/// count for less.
const LEAST: f64 = 0.5e6;
/// Relative deviation beyond which a move was probably disturbed from outside.
const MOST: f64 = 0.3;

/// Returns the times with which `model`, whose other numbers are known, comes nearest to the moves.
pub(crate) fn fit(model: &Hdd, bytes: Bytes, moves: &[(u64, u64, f64)]) -> Option<SeekFit> {
    let longest = moves.iter().map(|(.., time)| *time).fold(0.0, f64::max);
    let shortest = moves.iter().map(|(.., time)| *time).fold(f64::MAX, f64::min).max(0.05e6);
    if moves.len() < 20 || longest < shortest * 1.5 {
        return None;
    }
    let with = |times: [f64; 3]| Hdd {
        seek_track_to_track: Nanos(times[0] as u64),
        seek_average: Nanos(times[1] as u64),
        seek_full: Nanos(times[2] as u64),
        ..model.clone()
    };
    let parts = |times: [f64; 3]| {
        let travel = Travel::new(&with(times), bytes);
        let part = |&(from, to, time): &(u64, u64, f64)| {
            (travel.time(from, to).0 as f64 - time) / time.max(LEAST)
        };
        moves.iter().map(part).collect::<Vec<f64>>()
    };
    let wrong = |times: [f64; 3]| {
        let sorted = times[0] <= times[1] && times[1] <= times[2];
        let parts = if sorted { parts(times) } else { vec![f64::MAX] };
        parts.iter().map(|part| part.abs().min(MOST).powi(2)).sum::<f64>()
            + f64::from(!sorted) * 1e9
    };
    // The nearest curve is found downhill, from several starting points and in small steps: a curve
    // bends in one of two ways, and there is a local minimum between them.
    let starts = [0.45, 0.5, 0.55, 0.6, 0.65]
        .map(|part| downhill([shortest, part * longest, longest], &wrong));
    let (times, _) = starts.into_iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let (near, aside): (Vec<f64>, Vec<f64>) =
        parts(times).into_iter().partition(|part| part.abs() < MOST);
    let beside = rms(near);
    let [track, average, full] = times.map(|time| Nanos(time as u64));
    Some(SeekFit { track, average, full, beside, aside: aside.len() })
}

/// Changes each time, and each two together, by ever smaller fractions, as long as that reduces
/// `wrong`.
fn downhill(mut times: [f64; 3], wrong: &impl Fn([f64; 3]) -> f64) -> ([f64; 3], f64) {
    const DIRECTIONS: [[i32; 3]; 9] = [
        [1, 0, 0],
        [0, 1, 0],
        [0, 0, 1],
        [1, 1, 0],
        [1, -1, 0],
        [0, 1, 1],
        [0, 1, -1],
        [1, 0, 1],
        [1, 0, -1],
    ];
    let mut least = wrong(times);
    let mut step: f64 = 0.05;
    while step > 1e-4 {
        let before = least;
        for direction in DIRECTIONS {
            for sign in [1, -1] {
                let moved =
                    |index: usize| times[index] * (1.0 + step).powi(sign * direction[index]);
                let other = [0, 1, 2].map(moved);
                let its = wrong(other);
                if its < least {
                    (times, least) = (other, its);
                }
            }
        }
        if least >= before {
            step /= 2.0;
        }
    }
    (times, least)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fit(aside: usize) -> SeekFit {
        SeekFit { track: Nanos(1), average: Nanos(2), full: Nanos(3), beside: 0.0, aside }
    }

    #[test]
    fn moves_that_have_no_part_are_told() {
        let seeks = |missed| SeekMoves { moves: vec![(0, 1, 1e6); 80], missed, switch: None };
        assert_eq!(seeks(0).describe(&fit(0)), "80 of 80 moves of the arm, waits taken away");
        let told = seeks(7).describe(&fit(2));
        assert!(
            told.starts_with("80 of 87 moves") && told.contains("; 7 left out: not narrowed"),
            "{told}"
        );
        assert!(told.contains("; 2 more than 30 % beside the curve hardly count"), "{told}");
    }
}
