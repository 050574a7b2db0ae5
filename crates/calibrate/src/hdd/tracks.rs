//! Measures the tracks with a long sequential read: sectors on a track, and the time of a change of
//! track.
//!
//! Each request within a track takes the same time. A request that crosses into the next track
//! takes longer by the skew. After every `heads` tracks the arm moves to the next cylinder. If that
//! takes longer than a change of head, the number of heads shows.

use crate::bench::TestBench;
use crate::error::Result;
use crate::numbers::{line, mean, median, quantile, spread};
use crate::target::{Probe, ends};

/// The times of a sequential read, by requests of `request` sectors.
pub(crate) struct SequentialRead {
    pub request: u32,
    /// The first sector of the request to which the first step belongs.
    pub from: u64,
    /// The time of each request from the end of the previous one, in ns.
    pub steps: Vec<f64>,
}

/// Number of steps at the beginning that do not count.
const SKIP: usize = 3;

impl SequentialRead {
    /// Reads about `length` sectors from `sector` on. The first few requests do not count: the arm
    /// comes from afar, and nothing is read ahead yet.
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

    /// Returns the rate in bytes a second.
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

    /// Returns the number of sectors on a track.
    pub fn sectors_on_track(&self, turn: f64) -> f64 {
        let step = self.usual(turn);
        if step > 0.0 { f64::from(self.request) * turn / step } else { 0.0 }
    }
}

/// Returns a request's size in sectors and a depth, for a disk of this rate in bytes a second. The
/// size is so large that the medium takes longer for a request than the host, and so small that
/// several fit on a track. The depth is such that the disk never waits for a command, which takes
/// as long as several requests where tracks are short. `turn` and the `overhead` of a command are
/// in ns.
pub(crate) fn request(rate: f64, turn: f64, overhead: f64) -> (u32, usize) {
    let time = (turn / 10.0).max(3.0 * overhead).min(turn / 4.0);
    let power = ((rate * time / 1e9 / 512.0).max(1.0).log2().floor() as u32).clamp(5, 9);
    // Within a track data comes faster than over many tracks, up to twice as fast.
    let least = f64::from(1_u32 << power) * 512e9 / rate.max(1.0) / 2.0;
    (1 << power, 2 + (overhead / least).min(30.0) as usize)
}

/// Length of the stream: 160 MiB, in sectors. That is about ten cylinders of a disk with few heads,
/// or two of a disk with many.
const LENGTH: u64 = 327_680;
/// Length of a first read that roughly measures the disk's rate: 16 MiB at the very beginning, by
/// requests of 1 MiB, for which no host is too slow. The stream begins behind the part of it that
/// may be cached.
const ROUGH: u64 = 32_768;
const BEGIN: u64 = 2 * ROUGH;
/// Least skew, as a fraction of a turn: 67 us at 7200 rpm. No change of head is as quick, and the
/// random variation of a request is smaller.
const SKEW: f64 = 0.008;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tracks {
    /// Number of sectors on one track.
    pub sectors: f64,
    /// Time from one track to the next, in ns, or 0 if no change shows.
    pub gap: f64,
    /// Time from one cylinder to the next, and the number of heads, if these show.
    pub cylinder: Option<Cylinder>,
    /// The places where tracks begin, if they are seen.
    pub seen: Option<Starts>,
}

/// Consecutive tracks of the stream: where the first begins, the distance from one to the next
/// (both in sectors), and their number. The places hold only near the stream: far away, an error of
/// a hundredth of a sector for each track adds up to whole tracks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Starts {
    pub first: f64,
    pub distance: f64,
    pub count: u32,
    /// Error of the places in sectors: the length of a request.
    pub within: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cylinder {
    pub gap: f64,
    pub heads: u32,
    /// Number of the first track that begins a cylinder, among those seen.
    pub phase: u32,
}

/// Measures the tracks at the beginning of the disk. All times are in ns.
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
    // A change of track is the index of its request and its additional time. A pause of about a
    // turn or more has another cause.
    let changes = steps.iter().map(|step| step - usual).enumerate();
    let changes: Vec<(usize, f64)> =
        changes.filter(|(_, extra)| *extra > SKEW * turn && *extra < 0.9 * turn).collect();
    let per_track = sectors / f64::from(*request);
    let expected = steps.len() as f64 / per_track;
    let gaps: Vec<f64> = changes.iter().map(|change| change.1).collect();
    // There must be about as many changes as tracks; otherwise they are something else. Late
    // requests hide or add some, but not one in three.
    if gaps.len() < 4 || (gaps.len() as f64 / expected - 1.0).abs() > 0.3 {
        return Tracks { sectors, gap: 0.0, cylinder: None, seen: None };
    }
    let tracks: Vec<(f64, f64)> =
        changes.iter().map(|&(index, gap)| (index as f64 / per_track, gap)).collect();
    let cylinder = cylinder(&tracks);
    // With two heads every other change is one of cylinder. The place of a change says which it is.
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

/// Estimates the starts from the approximate number of each track and its place, which is known to
/// the length of a request.
fn starts(places: &[(f64, f64)], within: f64) -> Option<Starts> {
    let mut numbered: Vec<(f64, f64)> =
        places.iter().map(|&(at, place)| (number(at, places) as f64, place)).collect();
    let (first, distance, _) = line(&numbered);
    // A late request does not mark the beginning of a track.
    numbered.retain(|(number, place)| (first + number * distance - place).abs() < 1.5 * within);
    let count = numbered.last()?.0 as u32 + 1;
    let (first, distance, _) = line(&numbered);
    (distance > 0.0).then_some(Starts { first, distance, count, within })
}

/// Largest number of heads that is looked for: the most that a device may have. Three whole
/// cylinders must have been seen, because one change may be late and two may agree by chance.
const MOST_HEADS: u32 = 40;
const CYLINDERS: usize = 3;
/// The least percentage of changes whose length must fit their number among the heads; the others
/// may be late.
const REGULAR: usize = 95;

/// Returns the number of the track that begins at `at`, counted from the first that is seen.
fn number(at: f64, changes: &[(f64, f64)]) -> usize {
    let first = changes.first().map_or(0.0, |change| change.0);
    (at - first).round().max(0.0) as usize
}

/// Returns the number of heads, if every `heads`-th change of track is clearly longer than all
/// others. A change is its place, in tracks, and its time in ns.
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
            // Six median deviations are four standard deviations. The clock and the wake-ups of a
            // host vary by less than 20 us.
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

    /// Draws requests over tracks of `sectors` sectors, with a skew of `gap` after each track and
    /// of `cylinder_gap` after every `heads` tracks.
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

    /// A request in 200 is late by 0.3 ms, about one for every 18 changes of track. A change of
    /// cylinder adds only 0.2 ms.
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

    /// 128 KiB pass the head in 0.4 ms, and a command takes 0.47 ms, so that two requests under way
    /// are too few.
    #[test]
    fn as_many_are_under_way_as_the_medium_is_quicker_than_commands() {
        assert_eq!(request(208e6, 4.99e6, 469e3), (256, 3));
        assert_eq!(request(210e6, 8.33e6, 200e3), (256, 2));
        assert_eq!(request(1.0, 8.33e6, 200e3).0, 32);
    }

    /// With two heads half of all changes are of cylinder, so that the median change may be of
    /// either kind.
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
