//! The interface that the tests of location share.

use crate::error::above_zero;
use crate::{Error, Interval};

/// A test of one number, a difference or a log-ratio, against any value that it might have.
///
/// Interval and p-values agree: [`Tails::two_sided`] is at most `alpha` if the interval excludes
/// the number.
pub trait LocationTest {
    /// Returns the estimate, in the unit of the data.
    fn estimate(&self) -> f64;

    /// Returns an interval that misses the truth with a chance of at most `alpha`: 0.05 for a 95 %
    /// interval. It is unbounded if there are too little data for that.
    fn interval(&self, alpha: f64) -> Result<Interval, Error>;

    /// Tests whether the truth is `null`.
    fn tails(&self, null: f64) -> Tails;

    /// Tests whether the truth is nearer to zero than `margin`, in the unit of the data, by two
    /// one-sided tests (Schuirmann, "A comparison of the two one-sided tests procedure and the
    /// power approach", J. Pharmacokinetics and Biopharmaceutics 1987). The p-value is at most
    /// alpha if the interval of level 1 - 2 alpha lies within the margins.
    fn p_equivalent(&self, margin: f64) -> Result<f64, Error> {
        above_zero("margin", margin)?;
        Ok(self.tails(-margin).greater.max(self.tails(margin).less))
    }
}

/// The p-values of one test: for each side, the chance of a statistic at least as far out if there
/// is no difference.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// The chance for the lower side: small if the first sample (or the differences) lies lower.
    pub less: f64,
    /// The chance for the higher side: small if the first sample (or the differences) lies higher.
    pub greater: f64,
}

impl Tails {
    /// Returns twice the smaller side, at most 1.
    pub fn two_sided(&self) -> f64 {
        (2.0 * self.less.min(self.greater)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{one_sample_shift, one_sample_t};

    #[test]
    fn equivalent_is_an_interval_within_the_margins() {
        let values = [0.4, -0.3, 0.1, 0.2, -0.5, 0.7, 0.05, -0.1];
        let tests: [&dyn LocationTest; 2] =
            [&one_sample_t(&values).unwrap(), &one_sample_shift(&values).unwrap()];
        for test in tests {
            for margin in (1..=60).map(|step| f64::from(step) / 40.0 + 0.001) {
                let p = test.p_equivalent(margin).unwrap();
                let inside = test.interval(0.1).unwrap().is_inside(-margin, margin);
                assert_eq!(p <= 0.05, inside, "margin {margin}");
            }
        }
    }

    #[test]
    fn a_margin_must_be_one() {
        let t = one_sample_t(&[1.0, 2.0]).unwrap();
        assert!(t.p_equivalent(0.0).is_err() && t.p_equivalent(f64::NAN).is_err());
    }
}
