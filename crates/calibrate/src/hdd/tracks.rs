//! How tracks follow each other: sectors on one, and what a change of track takes, from a long read
//! in sequence.
//!
//! Within a track each request takes the same; where one crosses into the next track it takes
//! longer by the skew. Every so many tracks the arm moves on by a cylinder, and where that takes
//! longer than a change of head the number of heads shows.

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{line, mean, median, quantile, spread};
use crate::target::{Probe, ends};

/// A read in sequence, by requests of `request` sectors.
pub(crate) struct SequentialRead {
    pub request: u32,
    /// The first sector of the request that the first step is about.
    pub from: u64,
    /// The time of each request from the end of the one before, in nanoseconds.
    pub steps: Vec<f64>,
}

/// Steps that do not count.
const SKIP: usize = 3;

impl SequentialRead {
    /// Reads about so many sectors. The first few requests, which come from afar and find nothing
    /// read ahead, do not count.
    pub fn measure(
        bench: &mut TestBench<'_>,
        sector: u64,
        length: u64,
        (request, depth): (u32, usize),
    ) -> Result<Self> {
        let count = length.min(bench.size() - sector) / u64::from(request);
        let done = ends(&bench.serve(depth, &Probe::read(sector, request).in_sequence(count))?);
        let steps = done.windows(2).skip(SKIP).map(|pair| pair[1] - pair[0]).collect();
        Ok(Self { request, from: sector + (SKIP as u64 + 1) * u64::from(request), steps })
    }

    /// In bytes a second.
    pub fn rate(&self) -> f64 {
        f64::from(self.request) * 512.0 * 1e9 / mean(&self.steps).max(1.0)
    }

    /// Returns the time of a request that stays on its track.
    fn usual(&self, turn: f64) -> f64 {
        let about = quantile(&self.steps, 0.3);
        let like: Vec<f64> =
            self.steps.iter().copied().filter(|step| (step - about).abs() < SKEW * turn).collect();
        mean(&like)
    }

    /// On a track, in sectors.
    pub fn sectors_on_track(&self, turn: f64) -> f64 {
        let step = self.usual(turn);
        if step > 0.0 { f64::from(self.request) * turn / step } else { 0.0 }
    }
}

/// Requests so large that the medium takes longer for one than the host, and so small that several
/// fit on a track of a disk of this rate, in sectors; and how many of these must be under way so
/// that the disk never waits for a command, which takes as long as several where tracks are short.
/// `turn` and `overhead` of a command in nanoseconds.
pub(crate) fn request(rate: f64, turn: f64, overhead: f64) -> (u32, usize) {
    let time = (turn / 10.0).max(3.0 * overhead).min(turn / 4.0);
    let power = ((rate * time / 1e9 / 512.0).max(1.0).log2().floor() as u32).clamp(5, 9);
    // Within a track data comes faster than over many, up to twice as fast.
    let least = f64::from(1_u32 << power) * 512e9 / rate.max(1.0) / 2.0;
    (1 << power, 2 + (overhead / least).min(30.0) as usize)
}

/// 160 MiB, in sectors: some ten cylinders of a disk with few heads, two of one with many.
const LENGTH: u64 = 327_680;
/// 16 MiB at the very beginning, by requests of 1 MiB, which no host is too slow for, tell roughly
/// how fast the disk is; the stream begins behind what of it may be remembered.
const ROUGH: u64 = 32_768;
const BEGIN: u64 = 2 * ROUGH;
/// A skew is more than this part of a turn, 67 us at 7200 rpm, and no change of head is as quick;
/// what a request takes more or less by chance is less.
const SKEW: f64 = 0.008;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tracks {
    /// On one track.
    pub sectors: f64,
    /// From one track to the next, in nanoseconds; 0 where none shows.
    pub gap: f64,
    /// From one cylinder to the next, and heads, where these show.
    pub cylinder: Option<Cylinder>,
    /// The places where tracks begin, if these are seen.
    pub seen: Option<Starts>,
}

/// Tracks of the stream, one behind the other: where the first begins and the distance from one to
/// the next, in sectors, and how many there are. Far away from there a hundredth of a sector on
/// each adds up to tracks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Starts {
    pub first: f64,
    pub distance: f64,
    pub count: u32,
    /// The error of the places: the length of a request.
    pub within: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cylinder {
    pub gap: f64,
    pub heads: u32,
    /// The first track that begins one, of those seen.
    pub phase: u32,
}

/// At the beginning of the disk; times in nanoseconds.
pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    turn: f64,
    overhead: f64,
) -> Result<(Tracks, SequentialRead)> {
    let rough = SequentialRead::measure(bench, 0, ROUGH, (2048, 2))?;
    let stream =
        SequentialRead::measure(bench, BEGIN, LENGTH, request(rough.rate(), turn, overhead))?;
    Ok((tracks(&stream, turn), stream))
}

fn tracks(stream: &SequentialRead, turn: f64) -> Tracks {
    let SequentialRead { request, from, steps } = stream;
    let usual = stream.usual(turn);
    let sectors = stream.sectors_on_track(turn);
    // Changes of track: by their number in the stream, and what they take.
    // A turn or more is a pause of somebody else's making.
    let changes = steps.iter().map(|step| step - usual).enumerate();
    let changes: Vec<(usize, f64)> =
        changes.filter(|(_, extra)| *extra > SKEW * turn && *extra < 0.9 * turn).collect();
    let per_track = sectors / f64::from(*request);
    let expected = steps.len() as f64 / per_track;
    let gaps: Vec<f64> = changes.iter().map(|change| change.1).collect();
    // About as many as there are tracks, or they are something else: late requests hide some or add
    // some, not every third.
    if gaps.len() < 4 || (gaps.len() as f64 / expected - 1.0).abs() > 0.3 {
        return Tracks { sectors, gap: 0.0, cylinder: None, seen: None };
    }
    let tracks: Vec<(f64, f64)> =
        changes.iter().map(|&(index, gap)| (index as f64 / per_track, gap)).collect();
    let cylinder = cylinder(&tracks);
    // With two heads every other change is one of cylinder: which are not is told by where they
    // are.
    let is_small = |at: f64| {
        cylinder.is_none_or(|cylinder| {
            number(at, &tracks) % cylinder.heads as usize != cylinder.phase as usize
        })
    };
    let small = tracks.iter().filter(|(at, _)| is_small(*at)).map(|(_, gap)| *gap);
    let gap = median(&small.collect::<Vec<_>>());
    let within = f64::from(*request);
    let places: Vec<(f64, f64)> = tracks
        .iter()
        .map(|&(at, _)| (at, *from as f64 + (at * per_track + 0.5) * within))
        .collect();
    Tracks { sectors, gap, cylinder, seen: starts(&places, within) }
}

/// From the number of each track, about, and where it begins to within a request.
fn starts(places: &[(f64, f64)], within: f64) -> Option<Starts> {
    let mut numbered: Vec<(f64, f64)> =
        places.iter().map(|&(at, place)| (number(at, places) as f64, place)).collect();
    let (first, distance, _) = line(&numbered);
    // A late request is not where a track begins.
    numbered.retain(|(number, place)| (first + number * distance - place).abs() < 1.5 * within);
    let count = numbered.last()?.0 as u32 + 1;
    let (first, distance, _) = line(&numbered);
    (distance > 0.0).then_some(Starts { first, distance, count, within })
}

/// Heads that are looked for: as many as a device can have; so many whole cylinders must have been
/// seen, since one may be late and two agree by chance.
const MOST_HEADS: u32 = 40;
const CYLINDERS: usize = 3;
/// The least part of the changes, in per cent, that must be as long as their number among the heads
/// says: the others may be late.
const REGULAR: usize = 95;

/// Returns the number of the track that begins at `at`, counted from the first that is seen.
fn number(at: f64, changes: &[(f64, f64)]) -> usize {
    let first = changes.first().map_or(0.0, |change| change.0);
    (at - first).round().max(0.0) as usize
}

/// The number of heads, if every so many changes of track are clearly longer than all others. A
/// change is where it is, in tracks, and what it takes.
fn cylinder(changes: &[(f64, f64)]) -> Option<Cylinder> {
    let changes: Vec<(usize, f64)> =
        changes.iter().map(|&(at, gap)| (number(at, changes), gap)).collect();
    let mut best: Option<(usize, Cylinder)> = None;
    for heads in (2..=MOST_HEADS as usize).filter(|heads| changes.len() >= heads * CYLINDERS) {
        for phase in 0..heads {
            let part = |longer: bool| -> Vec<f64> {
                let members =
                    changes.iter().filter(|(number, _)| (number % heads == phase) == longer);
                members.map(|change| change.1).collect()
            };
            let (long, rest) = (part(true), part(false));
            let (gap, usual) = (median(&long), median(&rest));
            let away = spread(&rest, usual);
            // Six median deviations are four standard ones; 20 us are more than a host's clock and
            // wake-ups differ by.
            if gap - usual < (6.0 * away).max(20e3) {
                continue;
            }
            let limit = f64::midpoint(gap, usual);
            let right = long.iter().filter(|gap| **gap > limit).count()
                + rest.iter().filter(|gap| **gap < limit).count();
            if right * 100 >= changes.len() * REGULAR && best.is_none_or(|best| right > best.0) {
                best = Some((right, Cylinder { gap, heads: heads as u32, phase: phase as u32 }));
            }
        }
    }
    best.map(|best| best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: f64 = 8_333_333.0;

    /// Requests over tracks of so many sectors, a track's skew and every `heads` tracks a
    /// cylinder's.
    fn drawn(sectors: f64, gap: f64, cylinder_gap: f64, heads: u32, noise: f64) -> SequentialRead {
        let mut steps = Vec::new();
        let (mut track, mut on_track) = (0, 0.0);
        for i in 0..LENGTH / 256 {
            let mut step = 256.0 / sectors * TURN + noise * ((i * 7919 % 100) as f64 / 50.0 - 1.0);
            on_track += 256.0;
            if on_track >= sectors {
                on_track -= sectors;
                track += 1;
                step += if track % heads == 0 { cylinder_gap } else { gap };
            }
            steps.push(step);
        }
        SequentialRead { request: 256, from: 10_000, steps }
    }

    #[test]
    fn heads_show_where_a_cylinder_takes_longer() {
        let found = tracks(&drawn(2_850.4, 1.8e6, 2e6, 10, 10e3), TURN);
        assert!((found.sectors - 2_850.4).abs() < 5.0, "{found:?}");
        assert!((found.gap - 1.8e6).abs() < 10e3, "{found:?}");
        let cylinder = found.cylinder.unwrap();
        assert_eq!((cylinder.heads, cylinder.phase), (10, 9));
        let starts = found.seen.unwrap();
        assert!(
            (starts.first - 12_850.4).abs() < 256.0 && (starts.distance - 2_850.4).abs() < 2.0,
            "{starts:?}"
        );
        assert!((cylinder.gap - 2e6).abs() < 10e3, "{found:?}");
    }

    /// A change in twenty is late by as much as a cylinder takes.
    #[test]
    fn heads_show_among_late_requests() {
        let mut stream = drawn(2_850.4, 1.8e6, 2e6, 10, 10e3);
        stream
            .steps
            .iter_mut()
            .enumerate()
            .filter(|(at, _)| at % 200 == 7)
            .for_each(|(_, step)| *step += 0.3e6);
        assert_eq!(tracks(&stream, TURN).cylinder.map(|cylinder| cylinder.heads), Some(10));
    }

    /// 128 KiB pass the head in 0.4 ms, and a command takes 0.47: two under way are too few.
    #[test]
    fn as_many_are_under_way_as_the_medium_is_quicker_than_commands() {
        assert_eq!(request(208e6, 4.99e6, 469e3), (256, 3));
        assert_eq!(request(210e6, 8.33e6, 200e3), (256, 2));
        assert_eq!(request(1.0, 8.33e6, 200e3).0, 32);
    }

    /// Half of all changes are those of cylinder, and the middle one is either.
    #[test]
    fn two_heads_show_too() {
        let found = tracks(&drawn(2_850.4, 1.8e6, 2.6e6, 2, 10e3), TURN);
        assert!((found.gap - 1.8e6).abs() < 10e3, "{found:?}");
        let cylinder = found.cylinder.unwrap();
        assert!(cylinder.heads == 2 && (cylinder.gap - 2.6e6).abs() < 10e3, "{found:?}");
    }

    #[test]
    fn equal_changes_tell_no_heads() {
        let found = tracks(&drawn(1_130.0, 2e6, 2e6, 4, 10e3), TURN);
        assert!(found.cylinder.is_none() && (found.gap - 2e6).abs() < 10e3, "{found:?}");
    }

    #[test]
    fn a_disk_without_tracks_has_no_gaps() {
        let found = tracks(&drawn(1e9, 0.0, 0.0, 4, 10e3), TURN);
        assert_eq!((found.gap, found.cylinder), (0.0, None));
    }
}
