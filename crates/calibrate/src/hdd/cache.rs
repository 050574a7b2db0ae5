//! Measures the read cache: how far the disk reads ahead behind a read, how many places it
//! remembers, and how much of each.

use disklab_units::Nanos;

use crate::bench::{BLOCK, TestBench};
use crate::error::{Error, Result};
use crate::target::Probe;

/// Time for the disk to read ahead as far as it does, in ms. A random part of `MORE` is added, so
/// that the platters are not always in the same place at the end.
const CALM: f64 = 150.0;
const MORE: f64 = 30.0;
/// Number of tries that must agree, three hits before two misses. A read from the medium may by
/// chance be as quick as a hit, and a hit may be late.
const HITS: u32 = 3;
const MISSES: u32 = 2;
/// The largest read-ahead and segment that are looked for, in sectors: 64 MiB.
const FURTHEST: u64 = 131_072;
/// The largest number of remembered places that is looked for.
const MOST_PLACES: u64 = 512;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Largest number that was a hit.
    pub low: u64,
    /// Smallest number that was not a hit.
    pub high: u64,
}

impl Bounds {
    /// Returns the roundest number from `low` to below `high`, which the maker probably chose.
    pub fn round(self) -> u64 {
        let roundest = (0..64).rev().find_map(|bits| {
            let step = 1_u64 << bits;
            Some(self.low.checked_next_multiple_of(step)?)
                .filter(|&number| number > 0 && number < self.high)
        });
        roundest.unwrap_or(self.low)
    }

    /// Returns the relative error.
    pub fn error(self) -> f64 {
        (self.high - self.low) as f64 / (self.low + self.high).max(1) as f64
    }
}

fn calm(bench: &mut TestBench<'_>) {
    let more = bench.chance() * MORE;
    bench.idle(Nanos(((CALM + more) * 1e6) as u64));
}

/// The number at which hits end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Border {
    /// Even the least number that was tried is not a hit.
    Nowhere,
    Within(Bounds),
    /// This number is still a hit, and no larger one was tried.
    Beyond(u64),
}

impl Border {
    /// Returns the last number that is a hit, or 0 if there is none.
    pub fn last(self) -> u64 {
        match self {
            Self::Nowhere => 0,
            Self::Within(bounds) => bounds.low,
            Self::Beyond(last) => last,
        }
    }

    /// Returns the last number that is a hit, as round as the bounds allow.
    pub fn round(self) -> u64 {
        if let Self::Within(bounds) = self { bounds.round() } else { self.last() }
    }
}

/// Measures how far the disk reads ahead behind a read, in sectors. A read that takes less than
/// `hit` ns came from the cache.
pub(crate) fn look_ahead(bench: &mut TestBench<'_>, hit: f64) -> Result<Border> {
    let ahead = |bench: &mut TestBench<'_>, distance: u64| {
        let place = bench.place(distance + u64::from(2 * BLOCK));
        bench.read(place, BLOCK)?;
        calm(bench);
        // This block ends `distance` behind the first one.
        Ok(bench.read(place + distance, BLOCK)?.nanos() < hit)
    };
    border(bench, u64::from(BLOCK), FURTHEST, ahead)
}

/// Measures how many places, read one after another, the disk remembers.
pub(crate) fn segments(bench: &mut TestBench<'_>, hit: f64) -> Result<Border> {
    let remembered = |bench: &mut TestBench<'_>, count: u64| {
        let places = bench.places(count as usize, 4096);
        for &place in &places {
            bench.read(place, BLOCK)?;
        }
        let first = places.first().copied().unwrap_or_default();
        Ok(bench.read(first, BLOCK)?.nanos() < hit)
    };
    border(bench, 1, MOST_PLACES, remembered)
}

/// Measures how much of one sequential read the disk remembers, in sectors, including the sectors
/// that it read ahead behind it.
pub(crate) fn segment(bench: &mut TestBench<'_>, hit: f64, look_ahead: u64) -> Result<Border> {
    const REQUEST: u32 = 256;
    let remembered = |bench: &mut TestBench<'_>, length: u64| {
        let length = length.next_multiple_of(u64::from(REQUEST));
        let place = bench.place(length + look_ahead);
        let requests = length / u64::from(REQUEST);
        bench.serve(2, &Probe::read(place, REQUEST).in_sequence(requests))?;
        calm(bench);
        Ok(bench.read(place, BLOCK)?.nanos() < hit)
    };
    let found = border(bench, u64::from(REQUEST), FURTHEST, remembered)?;
    Ok(match found {
        Border::Within(Bounds { low, high }) => {
            Border::Within(Bounds { low: low + look_ahead, high: high + look_ahead })
        }
        Border::Beyond(last) => Border::Beyond(last + look_ahead),
        Border::Nowhere => Border::Nowhere,
    })
}

/// Finds the largest number that is a hit. It doubles from `step` up to `most`, then bisects down
/// to `step` or a 128th.
fn border<B>(
    bench: &mut B,
    step: u64,
    most: u64,
    mut hit: impl FnMut(&mut B, u64) -> Result<bool>,
) -> Result<Border> {
    let mut mostly = |bench: &mut B, number: u64| {
        let (mut hits, mut misses) = (0, 0);
        while hits < HITS && misses < MISSES {
            if hit(bench, number)? { hits += 1 } else { misses += 1 }
        }
        Ok::<bool, Error>(hits == HITS)
    };
    let (mut low, mut high) = (0, step);
    while mostly(bench, high)? {
        (low, high) = (high, high * 2);
        if high > most {
            return Ok(Border::Beyond(low));
        }
    }
    if low == 0 {
        return Ok(Border::Nowhere);
    }
    while high - low > step.max(low / 128) {
        let middle = (low.midpoint(high) / step * step).max(low + step);
        if mostly(bench, middle)? { low = middle } else { high = middle }
    }
    Ok(Border::Within(Bounds { low, high }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn none_is_told_from_more_than_was_tried() {
        let up_to = |last: u64| border(&mut (), 8, 1024, |(), number| Ok(number <= last)).unwrap();
        assert_eq!(up_to(0), Border::Nowhere);
        assert_eq!(up_to(7), Border::Nowhere, "less than the least");
        assert_eq!(up_to(640), Border::Within(Bounds { low: 640, high: 648 }));
        assert_eq!(up_to(1024), Border::Beyond(1024));
        assert_eq!(up_to(u64::MAX), Border::Beyond(1024));
    }

    #[test]
    fn round_numbers_are_chosen_within_the_bounds() {
        assert_eq!(Bounds { low: 2040, high: 2056 }.round(), 2048);
        assert_eq!(Bounds { low: 2049, high: 2050 }.round(), 2049);
        assert_eq!(Bounds { low: 7, high: 9 }.round(), 8);
    }
}
