//! The distributions of the two rank statistics without a difference and without ties.

use crate::distribution::{normal_cdf, normal_quantile};

/// Largest number of values for an exact distribution; beyond, it is normal. Exact counts fit
/// `u128`: the largest number of deals is 128 over 64, 2.4e37.
const MOST_EXACT: usize = 128;

/// The distribution of a whole number from 0 to `most`, symmetric about the middle.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RankNull {
    /// The cumulative chance of each value.
    Exact(Vec<f64>),
    Normal {
        mean: f64,
        sd: f64,
    },
}

impl RankNull {
    /// Returns the distribution of Mann and Whitney's U for `left` against `right` values.
    ///
    /// Its counts are the coefficients of the Gaussian binomial, the product over i of (1 -
    /// q^(right + i)) / (1 - q^i) (Andrews, "The Theory of Partitions", 1976, chapter 3).
    pub(crate) fn mann_whitney(left: usize, right: usize) -> Self {
        let (few, many) = (left.min(right), left.max(right));
        if few + many > MOST_EXACT {
            let pairs = few as f64 * many as f64;
            let variance = pairs * ((few + many + 1) as f64) / 12.0;
            return Self::Normal { mean: pairs / 2.0, sd: variance.sqrt() };
        }
        // Between the product and the quotient coefficients may be negative: wrapping arithmetic
        // makes that harmless, since the result is whole and fits.
        let mut counts = vec![0_u128; few * many + 1];
        counts[0] = 1;
        for i in 1..=few {
            for power in (many + i..counts.len()).rev() {
                counts[power] = counts[power].wrapping_sub(counts[power - many - i]);
            }
            for power in i..counts.len() {
                counts[power] = counts[power].wrapping_add(counts[power - i]);
            }
        }
        let all = counts.iter().sum::<u128>() as f64;
        let mut below = 0;
        let cumulative = counts.iter().map(|count| {
            below += count;
            below as f64 / all
        });
        Self::Exact(cumulative.collect())
    }

    /// Returns the distribution of Wilcoxon's signed-rank sum of `n` differences.
    pub(crate) fn signed_rank(n: usize) -> Self {
        if n > MOST_EXACT {
            let n = n as f64;
            let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
            return Self::Normal { mean: n * (n + 1.0) / 4.0, sd: variance.sqrt() };
        }
        let mut chances = vec![0.0; n * (n + 1) / 2 + 1];
        chances[0] = 1.0;
        for rank in 1..=n {
            for sum in (0..chances.len()).rev() {
                let with = if sum >= rank { chances[sum - rank] } else { 0.0 };
                chances[sum] = f64::midpoint(chances[sum], with);
            }
        }
        let mut below = 0.0;
        for chance in &mut chances {
            below += *chance;
            *chance = below;
        }
        Self::Exact(chances)
    }

    /// Returns the chance of `value` or less.
    pub(crate) fn at_most(&self, value: usize) -> f64 {
        match self {
            // Rounding may leave a sum of chances above 1 by the last digit.
            Self::Exact(cumulative) => cumulative.get(value).map_or(1.0, |chance| chance.min(1.0)),
            Self::Normal { mean, sd } => normal_cdf((value as f64 + 0.5 - mean) / sd),
        }
    }

    /// Returns the largest value whose cumulative chance is at most `chance`, or `None` if 0 has a
    /// larger one.
    pub(crate) fn largest_below(&self, chance: f64) -> Option<usize> {
        match self {
            Self::Exact(cumulative) => {
                cumulative.partition_point(|&below| below <= chance).checked_sub(1)
            }
            Self::Normal { mean, sd } => {
                let value = (mean + normal_quantile(chance) * sd - 0.5).floor();
                (value >= 0.0).then_some(value as usize)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers are from the tables of Wilcoxon (1945) and Mann and Whitney (1947).
    #[test]
    fn agrees_with_the_printed_tables() {
        assert_eq!(RankNull::signed_rank(6).largest_below(0.025), Some(0));
        assert_eq!(RankNull::signed_rank(5).largest_below(0.025), None);
        assert_eq!(RankNull::signed_rank(10).largest_below(0.025), Some(8));
        assert_eq!(RankNull::signed_rank(30).largest_below(0.025), Some(137));
        assert_eq!(RankNull::mann_whitney(3, 3).largest_below(0.025), None);
        assert_eq!(RankNull::mann_whitney(4, 4).largest_below(0.025), Some(0));
        assert_eq!(RankNull::mann_whitney(10, 10).largest_below(0.025), Some(23));
        assert_eq!(RankNull::mann_whitney(8, 15).largest_below(0.025), Some(29));
    }

    #[test]
    fn the_approximation_takes_over_without_a_step() {
        let step = |exact: &RankNull, normal: &RankNull, chance| {
            let (exact, normal) =
                (exact.largest_below(chance).unwrap(), normal.largest_below(chance).unwrap());
            exact.abs_diff(normal)
        };
        let normal = |n: f64| RankNull::Normal {
            mean: n * n / 2.0,
            sd: (n * n * (2.0 * n + 1.0) / 12.0).sqrt(),
        };
        assert!(step(&RankNull::mann_whitney(64, 64), &normal(64.0), 0.025) <= 3);
        let RankNull::Normal { mean, sd } = RankNull::signed_rank(129) else {
            panic!("is approximate")
        };
        let before = RankNull::signed_rank(128);
        let z = |value: usize, mean: f64, sd: f64| (value as f64 + 0.5 - mean) / sd;
        let exact_z = z(
            before.largest_below(0.025).unwrap(),
            4128.0,
            (128.0 * 129.0 * 257.0 / 24.0_f64).sqrt(),
        );
        let normal_z = z(RankNull::Normal { mean, sd }.largest_below(0.025).unwrap(), mean, sd);
        assert!((exact_z - normal_z).abs() < 0.01, "{exact_z} {normal_z}");
    }

    #[test]
    fn counts_are_symmetric_and_complete() {
        for null in [
            RankNull::mann_whitney(64, 64),
            RankNull::mann_whitney(7, 12),
            RankNull::signed_rank(128),
        ] {
            let RankNull::Exact(below) = null else { panic!("is exact") };
            let last = below.len() - 1;
            assert!((below[last] - 1.0).abs() < 1e-12);
            for value in 0..last {
                assert!(
                    (below[value] + below[last - 1 - value] - 1.0).abs() < 1e-9,
                    "{value} of {last}"
                );
            }
        }
    }
}
