//! How the media's rate falls from the first sector to the last, by short reads in sequence all
//! over the disk.

use crate::bench::TestBench;
use crate::error::Result;
use crate::hdd::tracks::{SequentialRead, Tracks, request};
use crate::numbers::{line, mean};

/// Four and more in each of the two dozen zones that disks have.
const PLACES: u64 = 96;
/// 16 MiB at each place, in sectors: some tracks.
const LENGTH: u64 = 32_768;
/// So many zones are as good as a slope: with 96 places they are hardly a place and a half each.
const MOST: u32 = 64;

#[derive(Debug, Clone)]
pub(crate) struct Zones {
    /// First sector of each place, and the sustained rate there in bytes a second; in order of
    /// place.
    pub rates: Vec<(u64, f64)>,
    /// Steps of the rate, if these come clearly nearer to it than a slope.
    pub count: Option<u32>,
    /// How exact a rate is, as a part of it.
    pub error: f64,
}

impl Zones {
    pub fn outer(&self) -> f64 {
        self.rates.first().map_or(0.0, |rate| rate.1)
    }

    pub fn inner(&self) -> f64 {
        self.rates.last().map_or(0.0, |rate| rate.1)
    }

    /// By the nearest place, in bytes a second.
    pub fn rate_at(&self, sector: u64) -> f64 {
        let nearest = self.rates.iter().min_by_key(|(place, _)| place.abs_diff(sector));
        nearest.map_or(0.0, |rate| rate.1)
    }
}

/// Rates that follow from tracks and skews must be those seen to within this part: else something
/// else limits them. A stream of 16 MiB has about ten changes of track, one more or less is a
/// fiftieth of its time, and the mean of 96 such is closer.
const AGREE: f64 = 0.02;

/// `outer`: a long read at the disk's beginning, which stands for the first place. Times in
/// nanoseconds.
pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    (turn, overhead): (f64, f64),
    tracks: &Tracks,
    outer: &SequentialRead,
) -> Result<Zones> {
    let last = bench.size().saturating_sub(LENGTH) / 8;
    // At each place the rate seen, and the one that follows from tracks and skews, which is more
    // exact.
    let both = |stream: &SequentialRead, place: u64| {
        (place, stream.rate(), sustained(stream.sectors_on_track(turn), turn, tracks))
    };
    let mut found = vec![both(outer, 0)];
    let mut rate = outer.rate();
    for index in 1..PLACES {
        let place = last * index / (PLACES - 1) * 8;
        let stream = SequentialRead::measure(bench, place, LENGTH, request(rate, turn, overhead))?;
        rate = stream.rate();
        found.push(both(&stream, place));
    }
    // One stream is wrong by as much as it happens to have a change of track too many; their mean
    // is not.
    let apart =
        mean(&found.iter().map(|(_, seen, follow)| seen / follow - 1.0).collect::<Vec<_>>()).abs();
    let follows = tracks.gap > 0.0 && apart < AGREE;
    let rates: Vec<(u64, f64)> = found
        .iter()
        .map(|&(place, seen, follow)| (place, if follows { follow } else { seen }))
        .collect();
    let request = f64::from(outer.request);
    let error = if follows { apart } else { request / LENGTH as f64 };
    Ok(Zones { count: count(&rates), rates, error })
}

/// With a track's or a cylinder's skew behind each track, in bytes a second.
fn sustained(sectors: f64, turn: f64, tracks: &Tracks) -> f64 {
    let (heads, last) = match tracks.cylinder {
        Some(cylinder) => (f64::from(cylinder.heads), cylinder.gap),
        None => (1.0, tracks.gap),
    };
    heads * sectors * 512.0 * 1e9 / (heads * turn + (heads - 1.0) * tracks.gap + last)
}

/// The whole of a disk whose rate falls by less than this part is one zone.
const EVEN: f64 = 0.01;
/// Steps are clear if the rates are so much nearer to them than to a slope. Even steps are beside
/// their slope by a step over the root of 12, so that this lets noise be 0.22 of a step.
const CLEAR: f64 = 0.6;
/// Each round puts the zones' borders where the line of the round before has them; a third changes
/// nothing that is seen.
const ROUNDS: u32 = 3;

/// The number of zones with which a model, whose zones have equally many cylinders and rates that
/// fall evenly, comes nearest to the rates.
fn count(rates: &[(u64, f64)]) -> Option<u32> {
    let (first, last) = (rates.first()?, rates.last()?);
    if first.1 < last.1 * (1.0 + EVEN) {
        return Some(1);
    }
    let wrong = |zones: u32| {
        let (mut outer, mut inner, mut beside) = (first.1, last.1, f64::MAX);
        // The first and the last rate may be off by themselves: the line through all tells better
        // where zones begin.
        for _ in 0..ROUNDS {
            let points: Vec<(f64, f64)> = rates
                .iter()
                .map(|&(place, rate)| {
                    (zone_of(place as f64 / last.0 as f64, zones, outer, inner), rate)
                })
                .collect();
            let (start, slope, distance) = line(&points);
            (outer, inner) = (start, start + slope * f64::from(zones - 1));
            beside = beside.min(distance);
        }
        beside
    };
    let tried: Vec<(u32, f64)> = (1..=MOST).map(|zones| (zones, wrong(zones))).collect();
    let best = tried.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
    let slope = tried.last()?;
    (best.0 < MOST && best.1 < CLEAR * slope.1).then_some(best.0)
}

/// Returns the zone, from 0, that a part of the disk's sectors is in. Zones have equally many
/// cylinders: as many sectors as their rate is high.
fn zone_of(part: f64, zones: u32, outer: f64, inner: f64) -> f64 {
    let rate =
        |zone: u32| outer - (outer - inner) * f64::from(zone) / f64::from((zones - 1).max(1));
    let all: f64 = (0..zones).map(rate).sum();
    let mut passed = 0.0;
    let zone = (0..zones).find(|&zone| {
        passed += rate(zone) / all;
        part < passed
    });
    f64::from(zone.unwrap_or(zones - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(zones: u32, noise: f64) -> Vec<(u64, f64)> {
        let rate = |zone: u32| 175e6 - 92e6 * f64::from(zone) / f64::from(zones.max(2) - 1);
        let all: f64 = (0..zones).map(rate).sum();
        let mut places = Vec::new();
        let mut passed = 0.0;
        for zone in 0..zones {
            passed += rate(zone) / all * (PLACES - 1) as f64;
            while (places.len() as f64) < passed - 1e-9
                || zone + 1 == zones && places.len() < PLACES as usize
            {
                let index = places.len() as u64;
                places.push((
                    index,
                    rate(zone) * (1.0 + noise * ((index * 31 % 7) as f64 / 3.0 - 1.0)),
                ));
            }
        }
        places
    }

    #[test]
    fn zones_are_counted_where_their_steps_show() {
        for zones in [1, 2, 6, 15, 24] {
            assert_eq!(count(&drawn(zones, 2e-4)), Some(zones));
        }
        assert_eq!(count(&drawn(6, 0.02)), Some(6), "steps are larger than the noise");
        assert_eq!(count(&drawn(24, 0.05)), None, "steps are smaller than the noise");
    }

    #[test]
    fn a_sustained_rate_has_the_changes_of_track_in_it() {
        let tracks = Tracks { sectors: 2_800.0, gap: 1.8e6, cylinder: None, seen: None };
        let rate = sustained(2_800.0, 8.2e6, &tracks);
        assert!((rate - 2_800.0 * 512.0 / 10e-3).abs() < 1.0, "{rate}");
    }
}
