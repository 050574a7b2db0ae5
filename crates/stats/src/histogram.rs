//! Percentiles of the requests of several trials together, and of any resample of those trials.
//!
//! The unit of chance is the trial: requests of one trial depend on each other, so they are never resampled.

use crate::Error;
use crate::error::at_least;

/// The latency histograms of several trials over the bins of all of them.
///
/// Any resample of the trials has its percentile found in about `trials * log2(bins)` steps, without its histograms
/// being added up: for each bin it is known how many requests of each trial are at or below it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergedHistograms {
    trials: usize,
    /// Rising, each once.
    bins: Vec<u64>,
    /// For each bin a row of one number a trial: its requests in that bin and below. The last row is their totals.
    at_or_below: Vec<u64>,
}

/// fio prints percentiles with six decimals: ranks are computed in hundred millionths, in integers.
const PARTS: u128 = 100_000_000;

impl MergedHistograms {
    /// Each trial as (bin, requests) in any order, the bin as the value it stands for (fio's midpoint in nanoseconds).
    /// A trial without requests is an error.
    pub fn new(trials: &[&[(u64, u64)]]) -> Result<Self, Error> {
        at_least("trials", trials.len(), 1)?;
        let used = || trials.iter().flat_map(|trial| trial.iter()).filter(|&&(_, requests)| requests > 0);
        let mut bins: Vec<u64> = used().map(|&(bin, _)| bin).collect();
        bins.sort_unstable();
        bins.dedup();
        // A resample may hold the largest trial as often as there are trials, and that must still fit.
        let most = u64::MAX / trials.len() as u64;
        let mut at_or_below = vec![0_u64; bins.len() * trials.len()];
        for (at, trial) in trials.iter().enumerate() {
            let requests = trial.iter().try_fold(0_u64, |sum, &(_, requests)| sum.checked_add(requests));
            match requests {
                Some(0) => return Err(Error::TooFew { what: "requests of a trial", given: 0, needed: 1 }),
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

    /// The percentile of all trials together; see [`Self::percentile_of`].
    pub fn percentile(&self, percent: f64) -> Result<u64, Error> {
        let all: Vec<u32> = (0..self.trials as u32).collect();
        self.percentile_of(&all, percent)
    }

    /// The percentile of the trials with the indices `drawn`, each counted as often as it is in there: the bin of the
    /// request of nearest rank, as fio has it. Nothing is interpolated.
    pub fn percentile_of(&self, drawn: &[u32], percent: f64) -> Result<u64, Error> {
        if !(0.0..=100.0).contains(&percent) {
            return Err(Error::OutOfRange {
                what: "the percentile",
                value: percent,
                must: "between 0 and 100",
            });
        }
        at_least("trials drawn", drawn.len(), 1)?;
        if drawn.len() > self.trials {
            return Err(Error::TooMany { what: "trials drawn", given: drawn.len(), most: self.trials });
        }
        let reached = |bin: usize| {
            let row = &self.at_or_below[bin * self.trials..][..self.trials];
            drawn.iter().map(|&trial| row[trial as usize]).sum::<u64>()
        };
        let parts = (percent * 1e6).round() as u128;
        let requests = u128::from(reached(self.bins.len() - 1));
        let rank = (parts * requests).div_ceil(PARTS) as u64;
        let (mut low, mut high) = (0, self.bins.len() - 1);
        while low < high {
            let middle = usize::midpoint(low, high);
            if reached(middle) >= rank.max(1) {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(self.bins[low])
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
        assert_eq!(merged.percentile(99.8), Ok(10));
        assert_eq!(merged.percentile(99.9), Ok(20));
        assert_eq!(merged.percentile(100.0), Ok(30));
        assert_eq!(merged.percentile(0.0), Ok(10));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(MergedHistograms::new(&[]).is_err());
        assert!(MergedHistograms::new(&[&[(1, 1)], &[]]).is_err());
        assert!(MergedHistograms::new(&[&[(1, u64::MAX)], &[(1, 1)]]).is_err());
        assert!(MergedHistograms::new(&[&[(1, u64::MAX), (2, 1)]]).is_err());
        let merged = MergedHistograms::new(&[&[(1, 1)], &[(2, 1)]]).unwrap();
        assert!(merged.percentile(f64::NAN).is_err() && merged.percentile(100.1).is_err());
        assert!(merged.percentile_of(&[], 50.0).is_err() && merged.percentile_of(&[0; 3], 50.0).is_err());
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
            prop_assert_eq!(merged.percentile_of(&drawn, f64::from(percent) / 10.0), Ok(requests[rank - 1]));
        }
    }
}
