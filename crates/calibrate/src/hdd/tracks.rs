//! How tracks follow each other: sectors on one, and what a change of track takes, from a long read in sequence.
//!
//! Within a track each request takes the same; where one crosses into the next track it takes longer by the skew. Every
//! so many tracks the arm moves on by a cylinder, and where that takes longer than a change of head the number of heads
//! shows.

use crate::Error;
use crate::bench::Bench;
use crate::numbers::{mean, median, quantile};

/// What is read in sequence, in requests of `request` sectors.
pub(crate) struct Stream {
    pub request: u32,
    /// What each took from the end of the one before, in nanoseconds.
    pub steps: Vec<f64>,
}

impl Stream {
    /// Reads about so many sectors. The first few requests, which come from afar and find nothing read ahead, do not count.
    pub fn read(bench: &mut Bench<'_>, sector: u64, length: u64, request: u32) -> Result<Self, Error> {
        let count = length.min(bench.size() - sector) / u64::from(request);
        let timed = bench.stream(sector, request, count)?;
        let mut done: Vec<u64> = timed.iter().map(|timed| timed.done.0).collect();
        done.sort_unstable();
        let steps = done.windows(2).skip(3).map(|pair| (pair[1] - pair[0]) as f64).collect();
        Ok(Self { request, steps })
    }

    /// In bytes a second.
    pub fn rate(&self) -> f64 {
        f64::from(self.request) * 512.0 * 1e9 / mean(&self.steps).max(1.0)
    }

    /// What a request takes that stays on its track.
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

/// Requests so large that the medium takes longer for one than the host, and so small that several fit on a track of a
/// disk of this rate. In sectors; `turn` and `overhead` of a command in nanoseconds.
pub(crate) fn request(rate: f64, turn: f64, overhead: f64) -> u32 {
    let time = (turn / 10.0).max(3.0 * overhead).min(turn / 4.0);
    let power = ((rate * time / 1e9 / 512.0).max(1.0).log2().floor() as u32).clamp(5, 9);
    1 << power
}

/// 160 MiB, in sectors: some ten cylinders of a disk with few heads, two of one with many.
const LENGTH: u64 = 327_680;
/// 16 MiB at the very beginning, by requests of 1 MiB, which no host is too slow for, tell roughly how fast the disk is; the
/// stream begins behind what of it may be remembered.
const ROUGH: u64 = 32_768;
const BEGIN: u64 = 2 * ROUGH;
/// A skew is more than this part of a turn; what a request takes more or less by chance is less.
const SKEW: f64 = 0.008;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Tracks {
    /// On one track.
    pub sectors: f64,
    /// From one track to the next, in nanoseconds; 0 where none shows.
    pub gap: f64,
    /// From one cylinder to the next, and heads, where these show.
    pub cylinder: Option<Cylinder>,
    /// How exact the gaps are, as a part of the smaller.
    pub spread: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Cylinder {
    pub gap: f64,
    pub heads: u32,
}

/// At the beginning of the disk; times in nanoseconds.
pub(crate) fn measure(bench: &mut Bench<'_>, turn: f64, overhead: f64) -> Result<(Tracks, Stream), Error> {
    let rough = Stream::read(bench, 0, ROUGH, 2048)?;
    let stream = Stream::read(bench, BEGIN, LENGTH, request(rough.rate(), turn, overhead))?;
    Ok((tracks(&stream, turn), stream))
}

fn tracks(stream: &Stream, turn: f64) -> Tracks {
    let Stream { request, steps } = stream;
    let usual = stream.usual(turn);
    let sectors = stream.sectors_on_track(turn);
    // Changes of track: by their number in the stream, and what they take.
    let mut changes: Vec<(usize, f64)> = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let extra = step - usual;
        // A turn or more is a pause of somebody else's making.
        if extra > SKEW * turn && extra < 0.9 * turn {
            changes.push((index, extra));
        }
    }
    let per_track = sectors / f64::from(*request);
    let expected = steps.len() as f64 / per_track;
    let gaps: Vec<f64> = changes.iter().map(|change| change.1).collect();
    // About as many as there are tracks, or they are something else.
    if gaps.len() < 4 || (gaps.len() as f64 / expected - 1.0).abs() > 0.3 {
        return Tracks { sectors, gap: 0.0, cylinder: None, spread: 0.0 };
    }
    let tracks: Vec<(f64, f64)> =
        changes.iter().map(|&(index, gap)| (index as f64 / per_track, gap)).collect();
    let cylinder = cylinder(&tracks);
    let small: Vec<f64> = match cylinder {
        Some(Cylinder { gap, heads }) if heads > 1 => {
            let low = median(&gaps);
            gaps.iter().copied().filter(|other| (other - low).abs() < (other - gap).abs()).collect()
        }
        _ => gaps,
    };
    let gap = median(&small);
    let away: Vec<f64> = small.iter().map(|other| (other - gap).abs()).collect();
    Tracks { sectors, gap, cylinder, spread: median(&away) / gap }
}

/// Heads that are looked for; so many whole cylinders must have been seen.
const MOST_HEADS: u32 = 40;
const CYLINDERS: usize = 3;
/// Of a hundred changes, at least so many must be as long as their number among the heads says.
const REGULAR: usize = 95;

/// The number of heads, if every so many changes of track are clearly longer than all others. A change is where it is, in
/// tracks, and what it takes.
fn cylinder(changes: &[(f64, f64)]) -> Option<Cylinder> {
    let start = changes.first()?.0;
    let changes: Vec<(usize, f64)> =
        changes.iter().map(|&(at, gap)| ((at - start).round().max(0.0) as usize, gap)).collect();
    let mut best: Option<(usize, Cylinder)> = None;
    for heads in (2..=MOST_HEADS as usize).filter(|heads| changes.len() >= heads * CYLINDERS) {
        for phase in 0..heads {
            let part = |longer: bool| -> Vec<f64> {
                let members = changes.iter().filter(|(number, _)| (number % heads == phase) == longer);
                members.map(|change| change.1).collect()
            };
            let (long, rest) = (part(true), part(false));
            let (gap, usual) = (median(&long), median(&rest));
            let away = median(&rest.iter().map(|other| (other - usual).abs()).collect::<Vec<_>>());
            if gap - usual < (6.0 * away).max(20e3) {
                continue;
            }
            let limit = f64::midpoint(gap, usual);
            let right = long.iter().filter(|gap| **gap > limit).count()
                + rest.iter().filter(|gap| **gap < limit).count();
            if right * 100 >= changes.len() * REGULAR && best.is_none_or(|best| right > best.0) {
                best = Some((right, Cylinder { gap, heads: heads as u32 }));
            }
        }
    }
    best.map(|best| best.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TURN: f64 = 8_333_333.0;

    /// Requests over tracks of so many sectors, a track's skew and every `heads` tracks a cylinder's.
    fn drawn(sectors: f64, gap: f64, cylinder_gap: f64, heads: u32, noise: f64) -> Stream {
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
        Stream { request: 256, steps }
    }

    #[test]
    fn heads_show_where_a_cylinder_takes_longer() {
        let found = tracks(&drawn(2_850.4, 1.8e6, 2e6, 10, 10e3), TURN);
        assert!((found.sectors - 2_850.4).abs() < 5.0, "{found:?}");
        assert!((found.gap - 1.8e6).abs() < 10e3, "{found:?}");
        let cylinder = found.cylinder.unwrap();
        assert_eq!(cylinder.heads, 10);
        assert!((cylinder.gap - 2e6).abs() < 10e3, "{found:?}");
    }

    /// One change in twenty is late by as much as a cylinder takes.
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
