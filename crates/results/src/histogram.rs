//! Latencies counted in fio's buckets.
//!
//! fio sorts latencies into buckets, 64 to an octave (below 128 ns, a bucket per nanosecond), and
//! prints a bucket by its *midpoint*. So the error of a value from a histogram is at most 1/128 of
//! it, 0.8 %.

/// The number of requests by latency: (midpoint of the bucket in nanoseconds, requests), in rising
/// order, without empty buckets and with every midpoint once. The sum of all requests fits `u64`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    bins: Vec<(u64, u64)>,
}

impl Histogram {
    /// Builds a histogram from bins in any order; equal midpoints are added up. Returns `None` if
    /// the sum of all counts does not fit `u64`.
    pub fn from_bins(mut bins: Vec<(u64, u64)>) -> Option<Self> {
        bins.iter().try_fold(0_u64, |sum, &(_, count)| sum.checked_add(count))?;
        bins.retain(|&(_, count)| count > 0);
        bins.sort_unstable_by_key(|&(ns, _)| ns);
        bins.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        Some(Self { bins })
    }

    pub fn bins(&self) -> &[(u64, u64)] {
        &self.bins
    }

    /// Returns the number of all requests.
    pub fn count(&self) -> u64 {
        self.bins.iter().map(|&(_, count)| count).sum()
    }

    /// Returns the sum of both histograms, or `None` if the number of requests does not fit `u64`.
    pub fn merged(&self, other: &Self) -> Option<Self> {
        Self::from_bins([self.bins.as_slice(), &other.bins].concat())
    }

    /// Returns the midpoint, in nanoseconds, of the bucket with the request of nearest rank: the
    /// first bucket that has `percent` of all requests at or below it. Nothing is interpolated.
    /// This is fio's rule, so fio prints the same number, except that the rank is computed in
    /// integers here, while fio's floating point can reach the next request. Returns `None` without
    /// requests, or if `percent` is not within 0 to 100.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        /// Denominator of ranks: fio prints percentiles with six decimals.
        const PARTS: u128 = 100_000_000;
        if !(0.0..=100.0).contains(&percent) {
            return None;
        }
        let parts = (percent * 1e6).round() as u128;
        let rank = (parts * u128::from(self.count())).div_ceil(PARTS);
        let mut below = 0_u128;
        self.bins.iter().find_map(|&(ns, count)| {
            below += u128::from(count);
            (below >= rank).then_some(ns)
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Histogram;

    fn histogram(bins: &[(u64, u64)]) -> Histogram {
        Histogram::from_bins(bins.to_vec()).expect("small counts")
    }

    #[test]
    fn ranks_are_exact_where_floating_point_is_not() {
        let thousand = histogram(&[(10, 998), (20, 1), (30, 1)]);
        assert_eq!(thousand.percentile(99.8), Some(10));
        assert_eq!(thousand.percentile(99.9), Some(20));
        assert_eq!(thousand.percentile(100.0), Some(30));
        assert_eq!(thousand.percentile(0.0), Some(10));
    }

    #[test]
    fn nothing_measured_has_no_percentiles() {
        assert_eq!(Histogram::default().percentile(50.0), None);
        assert_eq!(histogram(&[(10, 1)]).percentile(100.1), None);
        assert_eq!(histogram(&[(10, 1)]).percentile(f64::NAN), None);
    }

    #[test]
    fn counts_that_do_not_fit_are_refused() {
        assert_eq!(Histogram::from_bins(vec![(1, u64::MAX), (2, 1)]), None);
        assert_eq!(histogram(&[(1, u64::MAX)]).merged(&histogram(&[(1, 1)])), None);
    }

    proptest! {
        #[test]
        fn a_percentile_is_the_value_of_that_rank(
            mut values in prop::collection::vec(0_u64..50, 1..200),
            percent in 0_u32..=100,
        ) {
            let measured = histogram(&values.iter().map(|&value| (value, 1)).collect::<Vec<_>>());
            values.sort_unstable();
            let rank = (values.len() * percent as usize).div_ceil(100).max(1);
            prop_assert_eq!(measured.percentile(f64::from(percent)), Some(values[rank - 1]));
        }

        #[test]
        fn merging_is_measuring_together(
            left in prop::collection::vec((0_u64..50, 0_u64..9), 0..40),
            right in prop::collection::vec((0_u64..50, 0_u64..9), 0..40),
        ) {
            let together = histogram(&[left.as_slice(), &right].concat());
            prop_assert_eq!(histogram(&left).merged(&histogram(&right)), Some(together.clone()));
            prop_assert!(together.bins().windows(2).all(|pair| pair[0].0 < pair[1].0));
        }
    }
}
