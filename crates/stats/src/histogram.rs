//! Percentiles of the requests of several trials together, and of any resample of those trials.
//!
//! The unit of chance is the trial: requests of one trial depend on each other, so they are never
//! resampled.

use crate::Error;
use crate::error::at_least;

/// The latency histograms of several trials over the bins of all of them.
///
/// Any resample of the trials has its percentile found in fewer than `trials * log2(bins)` steps,
/// without its histograms being added up: for each bin it is known how many requests of each trial
/// are at or below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedHistograms {
    trials: usize,
    /// Rising, each once.
    bins: Vec<u64>,
    /// For each bin a row of one number a trial: its requests in that bin and below. The last row
    /// is their totals.
    at_or_below: Vec<u64>,
}

/// fio prints percentiles with six decimals: ranks are computed in hundred millionths, in integers.
const PARTS: u128 = 100_000_000;

impl MergedHistograms {
    /// Each trial as (bin, requests) in any order, the bin as the value it stands for (fio's
    /// midpoint in nanoseconds). A trial without requests is an error.
    pub fn new(trials: &[&[(u64, u64)]]) -> Result<Self, Error> {
        at_least("trials", trials.len(), 1)?;
        let used =
            || trials.iter().flat_map(|trial| trial.iter()).filter(|&&(_, requests)| requests > 0);
        let mut bins: Vec<u64> = used().map(|&(bin, _)| bin).collect();
        bins.sort_unstable();
        bins.dedup();
        // A resample may hold the largest trial as often as there are trials, and that must still
        // fit.
        let most = u64::MAX / trials.len() as u64;
        let mut at_or_below = vec![0_u64; bins.len() * trials.len()];
        for (at, trial) in trials.iter().enumerate() {
            let requests =
                trial.iter().try_fold(0_u64, |sum, &(_, requests)| sum.checked_add(requests));
            match requests {
                Some(0) => {
                    return Err(Error::TooFew { what: "requests of a trial", given: 0, needed: 1 });
                }
                Some(requests) if requests <= most => {}
                _ => {
                    let what = "requests of a trial, times the trials";
                    return Err(Error::TooMany { what, given: usize::MAX, most: most as usize });
                }
            }
            for &(bin, requests) in trial.iter().filter(|&&(_, requests)| requests > 0) {
                if let Ok(row) = bins.binary_search(&bin) {
                    at_or_below[row * trials.len() + at] += requests;
                }
            }
        }
        for entry in trials.len()..at_or_below.len() {
            at_or_below[entry] += at_or_below[entry - trials.len()];
        }
        Ok(Self { trials: trials.len(), bins, at_or_below })
    }

    pub fn trials(&self) -> usize {
        self.trials
    }

    /// One percentile, to be asked for of all trials or of some.
    pub fn percentile(&self, percent: f64) -> Result<MergedPercentile<'_>, Error> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(Error::OutOfRange {
                what: "the percentile",
                value: percent,
                must: "between 0 and 100",
            });
        }
        let parts = (percent * 1e6).round() as u128;
        let anywhere =
            MergedPercentile { histograms: self, parts, lowest: 0, highest: self.bins.len() - 1 };
        let of_each = || (0..self.trials as u32).map(|trial| anywhere.bin(&[trial]));
        // However trials are mixed, their percentile is between the least and the greatest that one
        // of them has.
        Ok(MergedPercentile {
            lowest: of_each().min().unwrap_or(anywhere.lowest),
            highest: of_each().max().unwrap_or(anywhere.highest),
            ..anywhere
        })
    }
}

/// A percentile of [`MergedHistograms`]: the bin of the request of nearest rank, as fio has it.
/// Nothing is interpolated.
#[derive(Debug, Clone, Copy)]
pub struct MergedPercentile<'a> {
    histograms: &'a MergedHistograms,
    /// Of [`PARTS`].
    parts: u128,
    /// Places in `bins` between which it is.
    lowest: usize,
    highest: usize,
}

impl MergedPercentile<'_> {
    /// Of all trials together.
    pub fn of_all(&self) -> u64 {
        let all: Vec<u32> = (0..self.histograms.trials as u32).collect();
        self.of(&all)
    }

    /// Of the trials with the indices `drawn`, each counted as often as it is in there. As many as
    /// there are trials at most, so that their requests can be counted.
    pub fn of(&self, drawn: &[u32]) -> u64 {
        self.histograms.bins[self.bin(drawn)]
    }

    fn bin(&self, drawn: &[u32]) -> usize {
        let Self { histograms: MergedHistograms { trials, bins, at_or_below }, .. } = self;
        let reached = |bin: usize| {
            let row = &at_or_below[bin * trials..][..*trials];
            drawn.iter().fold(0_u64, |sum, &trial| sum.saturating_add(row[trial as usize]))
        };
        let requests = u128::from(reached(bins.len() - 1));
        let rank = ((self.parts * requests).div_ceil(PARTS) as u64).max(1);
        let (mut low, mut high) = (self.lowest, self.highest);
        while low < high {
            let middle = usize::midpoint(low, high);
            if reached(middle) >= rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ranks_are_fios() {
        let bins: &[(u64, u64)] = &[(20, 1), (10, 998), (30, 1), (5, 0)];
        let merged = MergedHistograms::new(&[bins]).unwrap();
        let percentile = |percent| merged.percentile(percent).unwrap().of_all();
        assert_eq!([0.0, 99.8, 99.9, 100.0].map(percentile), [10, 10, 20, 30]);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(MergedHistograms::new(&[]).is_err());
        assert!(MergedHistograms::new(&[&[(1, 1)], &[]]).is_err());
        assert!(MergedHistograms::new(&[&[(1, u64::MAX)], &[(1, 1)]]).is_err());
        assert!(MergedHistograms::new(&[&[(1, u64::MAX), (2, 1)]]).is_err());
        let merged = MergedHistograms::new(&[&[(1, 1)], &[(2, 1)]]).unwrap();
        assert!(merged.percentile(f64::NAN).is_err() && merged.percentile(100.1).is_err());
    }

    proptest! {
        #[test]
        fn a_resample_is_its_requests_in_order(
            trials in prop::collection::vec(prop::collection::vec((0_u64..40, 1_u64..9), 1..12), 1..6),
            picks in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
            percent in 0_u32..=1000,
        ) {
            let slices: Vec<&[(u64, u64)]> = trials.iter().map(Vec::as_slice).collect();
            let merged = MergedHistograms::new(&slices).unwrap();
            let drawn: Vec<u32> =
                picks.iter().take(trials.len()).map(|pick| pick.index(trials.len()) as u32).collect();
            let mut requests: Vec<u64> = drawn
                .iter()
                .flat_map(|&trial| &trials[trial as usize])
                .flat_map(|&(bin, count)| std::iter::repeat_n(bin, count as usize))
                .collect();
            requests.sort_unstable();
            let rank = (requests.len() * percent as usize).div_ceil(1000).max(1);
            let percentile = merged.percentile(f64::from(percent) / 10.0).unwrap();
            prop_assert_eq!(percentile.of(&drawn), requests[rank - 1]);
        }
    }
}
