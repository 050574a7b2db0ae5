//! Student's and Welch's t.

use crate::distribution::{t_critical, t_upper};
use crate::error::{at_least, chance, finite};
use crate::log_ratio::{mean, variance};
use crate::{Error, Interval, LocationTest, Tails};

/// A mean, or a difference of means, that is assumed to be t-distributed about the truth.
///
/// The assumption holds for normal data, and nearly for other symmetric distributions. It is too
/// cautious for these, the more the heavier their tails are. Skewed data need more than 30 values:
/// see [`crate::comparison`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    /// The estimate, in the unit of the data.
    pub estimate: f64,
    /// The standard error in the unit of the data. It is zero if all values of a sample are equal.
    pub standard_error: f64,
    pub degrees_of_freedom: f64,
}

/// Returns the mean of one sample, or of paired differences (Student, "The probable error of a
/// mean", Biometrika 1908). Needs two values or more.
pub fn one_sample_t(values: &[f64]) -> Result<StudentT, Error> {
    at_least("values", values.len(), 2)?;
    finite("values", values)?;
    let n = values.len() as f64;
    StudentT {
        estimate: mean(values),
        standard_error: (variance(values) / n).sqrt(),
        degrees_of_freedom: n - 1.0,
    }
    .if_it_fits()
}

/// Returns the difference of two means, `left - right`, of samples whose variances may differ
/// (Welch, "The generalization of 'Student's' problem when several different population variances
/// are involved", Biometrika 1947). Needs two values or more each.
pub fn welch(left: &[f64], right: &[f64]) -> Result<StudentT, Error> {
    at_least("left", left.len(), 2)?;
    at_least("right", right.len(), 2)?;
    finite("left", left)?;
    finite("right", right)?;
    let (n_left, n_right) = (left.len() as f64, right.len() as f64);
    let (part_left, part_right) = (variance(left) / n_left, variance(right) / n_right);
    let squared = part_left + part_right;
    let degrees = squared.powi(2)
        / (part_left.powi(2) / (n_left - 1.0) + part_right.powi(2) / (n_right - 1.0));
    StudentT {
        estimate: mean(left) - mean(right),
        standard_error: squared.sqrt(),
        // Without any spread, the number of degrees does not matter.
        degrees_of_freedom: if degrees.is_finite() { degrees } else { n_left + n_right - 2.0 },
    }
    .if_it_fits()
}

impl StudentT {
    /// Returns an estimate of unknown spread, from one trial.
    pub(crate) fn without_spread(estimate: f64) -> Self {
        Self { estimate, standard_error: f64::INFINITY, degrees_of_freedom: 1.0 }
    }

    /// Returns the estimate, or an error if it is not finite: squares of values beyond 1e150
    /// overflow.
    fn if_it_fits(self) -> Result<Self, Error> {
        if self.estimate.is_finite() && self.standard_error.is_finite() {
            Ok(self)
        } else {
            let must = "finite; the values are too large for their squares";
            Err(Error::OutOfRange { what: "the standard error", value: self.standard_error, must })
        }
    }
}

impl LocationTest for StudentT {
    fn estimate(&self) -> f64 {
        self.estimate
    }

    fn interval(&self, alpha: f64) -> Result<Interval, Error> {
        chance("alpha", alpha)?;
        // Without spread the interval is a point, however far out the critical value is.
        let reach = match self.standard_error {
            0.0 => 0.0,
            error => error * t_critical(alpha / 2.0, self.degrees_of_freedom),
        };
        Ok(Interval { low: self.estimate - reach, high: self.estimate + reach })
    }

    fn tails(&self, null: f64) -> Tails {
        let off = self.estimate - null;
        if self.standard_error == 0.0 {
            return Tails {
                less: f64::from(u8::from(off >= 0.0)),
                greater: f64::from(u8::from(off <= 0.0)),
            };
        }
        let t = off / self.standard_error;
        Tails {
            less: t_upper(-t, self.degrees_of_freedom),
            greater: t_upper(t, self.degrees_of_freedom),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_without_spread_leave_no_doubt() {
        let exact = one_sample_t(&[0.1, 0.1, 0.1]).unwrap();
        assert_eq!(exact.interval(0.05), Ok(Interval { low: 0.1, high: 0.1 }));
        assert_eq!(exact.tails(0.0), Tails { less: 1.0, greater: 0.0 });
        assert_eq!(exact.tails(0.1).two_sided(), 1.0);
        assert_eq!(welch(&[1.0, 1.0], &[1.0, 1.0]).unwrap().tails(0.0).two_sided(), 1.0);
    }

    #[test]
    fn the_interval_ends_where_the_test_turns() {
        let t = welch(&[3.0, 4.5, 5.0, 4.0], &[1.0, 2.0, 9.0]).unwrap();
        let interval = t.interval(0.07).unwrap();
        assert!((t.tails(interval.low).greater - 0.035).abs() < 1e-12);
        assert!((t.tails(interval.high).less - 0.035).abs() < 1e-12);
    }

    #[test]
    fn too_little_and_too_odd_is_refused() {
        assert!(matches!(one_sample_t(&[1.0]), Err(Error::TooFew { needed: 2, .. })));
        assert!(matches!(
            welch(&[1.0, 2.0], &[1.0, f64::NAN]),
            Err(Error::NotFinite { what: "right", .. })
        ));
        assert!(matches!(one_sample_t(&[1e300, -1e300]), Err(Error::OutOfRange { .. })));
        assert!(one_sample_t(&[1.0, 2.0]).unwrap().interval(0.0).is_err());
        assert!(one_sample_t(&[1.0, 2.0]).unwrap().interval(f64::NAN).is_err());
    }
}
