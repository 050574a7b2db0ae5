//! Measures how the rate of the medium falls from the first sector to the last, by short sequential
//! reads all over the disk.

use crate::bench::TestBench;
use crate::error::Result;
use crate::hdd::tracks::{SequentialRead, Tracks, request};
use crate::numbers::{line, mean};

/// Number of places: at least four in each of the two dozen zones that disks have.
const PLACES: u64 = 96;
/// Length of the read at each place, in sectors: 16 MiB, which is several tracks.
const LENGTH: u64 = 32_768;
/// Number of zones that cannot be distinguished from a slope: with 96 places, each zone has hardly
/// one and a half.
const MOST: u32 = 64;

#[derive(Debug, Clone)]
pub(crate) struct Zones {
    /// First sector of each place and the sustained rate there, in bytes a second, in order of
    /// place.
    pub rates: Vec<(u64, f64)>,
    /// Number of steps of the rate, if steps come clearly nearer to the rates than a slope.
    pub count: Option<u32>,
    /// Relative error of a rate.
    pub error: f64,
}

impl Zones {
    pub fn outer(&self) -> f64 {
        self.rates.first().map_or(0.0, |rate| rate.1)
    }

    pub fn inner(&self) -> f64 {
        self.rates.last().map_or(0.0, |rate| rate.1)
    }

    /// Returns the rate at the place nearest to `sector`, in bytes a second.
    pub fn rate_at(&self, sector: u64) -> f64 {
        let nearest = self.rates.iter().min_by_key(|(place, _)| place.abs_diff(sector));
        nearest.map_or(0.0, |rate| rate.1)
    }
}

/// Greatest relative difference between the rates computed from tracks and skews and those seen;
/// otherwise something else limits the rates. A stream of 16 MiB has about ten changes of track.
/// One more or less is a fiftieth of its time, and the mean of 96 streams is closer.
const AGREE: f64 = 0.02;

/// Measures the zones. `outer` is a long read at the disk's beginning, which serves as the first
/// place. Times are in ns.
pub(crate) fn measure(
    bench: &mut TestBench<'_>,
    (turn, overhead): (f64, f64),
    tracks: &Tracks,
    outer: &SequentialRead,
) -> Result<Zones> {
    let last = bench.size().saturating_sub(LENGTH) / 8;
    // For each place, this returns the rate seen and the one computed from tracks and skews, which
    // is more exact.
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
    // A single stream is off by the change of track that it may have too many; the mean of all
    // streams is not.
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

/// Returns the sustained rate in bytes a second, with the skew of a track or cylinder behind each
/// track.
fn sustained(sectors: f64, turn: f64, tracks: &Tracks) -> f64 {
    let (heads, last) = match tracks.cylinder {
        Some(cylinder) => (f64::from(cylinder.heads), cylinder.gap),
        None => (1.0, tracks.gap),
    };
    heads * sectors * 512.0 * 1e9 / (heads * turn + (heads - 1.0) * tracks.gap + last)
}

/// A disk whose rate falls by less than this fraction has one zone.
const EVEN: f64 = 0.01;
/// Steps are clear if the rates' distance from them is less than this fraction of the distance from
/// a slope. Even steps are the step divided by the root of 12 away from their slope, so noise may
/// be 0.22 of a step.
const CLEAR: f64 = 0.6;
/// Number of rounds. Each puts the zones' borders where the line of the previous round has them; a
/// third makes no visible difference.
const ROUNDS: u32 = 3;

/// Returns the number of zones with which a model comes nearest to the rates. The model's zones
/// have equally many cylinders, and their rates fall evenly.
fn count(rates: &[(u64, f64)]) -> Option<u32> {
    let (first, last) = (rates.first()?, rates.last()?);
    if first.1 < last.1 * (1.0 + EVEN) {
        return Some(1);
    }
    let wrong = |zones: u32| {
        let (mut outer, mut inner, mut beside) = (first.1, last.1, f64::MAX);
        // The first and the last rate may have errors of their own. The line through all rates is a
        // better guide to where zones begin.
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

/// Returns the number of the zone, from 0, that contains the place `part`, a fraction of the disk's
/// sectors. Zones have equally many cylinders, so their sectors are proportional to their rates.
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
