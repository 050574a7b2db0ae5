//! Effects as logarithms of ratios.
//!
//! A policy that saves 20 % does so on fast disks and on slow ones: effects on rates and times
//! multiply. On logarithms they add, and "twice" and "half" are equally far from 1. The mean of the
//! logarithms is that of the ratios in either direction (Fleming and Wallace, "How not to lie with
//! statistics", CACM 1986).

use crate::Error;
use crate::error::{paired, positive};

/// Returns `ln(treatment / baseline)`, pair by pair. Both must have the same unit and be above
/// zero.
pub fn log_ratios(treatment: &[f64], baseline: &[f64]) -> Result<Vec<f64>, Error> {
    paired(treatment, baseline)?;
    positive("treatment", treatment)?;
    positive("baseline", baseline)?;
    // A difference of logarithms cannot overflow, while the ratio could.
    Ok(std::iter::zip(treatment, baseline).map(|(one, other)| one.ln() - other.ln()).collect())
}

/// Returns the natural logarithms of values above zero.
pub(crate) fn logarithms(what: &'static str, values: &[f64]) -> Result<Vec<f64>, Error> {
    positive(what, values)?;
    Ok(values.iter().map(|value| value.ln()).collect())
}

/// Converts a log-ratio to per cent: `ln 1.25` is +25 %, `ln 0.8` is -20 %.
pub fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

/// Returns the mean. If all values are equal, it is exactly that value, so that they have no
/// spread.
pub(crate) fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|value| value - first).sum::<f64>() / values.len() as f64
}

/// Returns the unbiased variance of two values or more.
pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ratio_of_means_is_the_mean_of_ratios_either_way_round() {
        let (fast, slow) = ([4.0, 9.0, 50.0], [2.0, 10.0, 20.0]);
        let there = mean(&log_ratios(&fast, &slow).unwrap());
        let back = mean(&log_ratios(&slow, &fast).unwrap());
        let of_means = (1800.0_f64 / 400.0).cbrt();
        assert!((there + back).abs() < 1e-15);
        assert!((there.exp() - of_means).abs() < 1e-15);
        assert!((percent(1.25_f64.ln()) - 25.0).abs() < 1e-12);
    }

    #[test]
    fn extremes_neither_overflow_nor_vanish() {
        assert!(log_ratios(&[f64::MAX], &[f64::MIN_POSITIVE]).unwrap()[0].is_finite());
    }

    #[test]
    fn what_has_no_logarithm_is_refused_with_its_place() {
        let zero = Error::NotPositive { what: "baseline", index: 1, value: 0.0 };
        assert_eq!(log_ratios(&[1.0, 1.0], &[1.0, 0.0]), Err(zero));
        assert_eq!(log_ratios(&[1.0], &[]), Err(Error::NotPaired { left: 1, right: 0 }));
        assert!(matches!(
            logarithms("values", &[f64::NAN]),
            Err(Error::NotFinite { index: 0, .. })
        ));
    }

    #[test]
    fn equal_values_have_no_spread_at_all() {
        assert_eq!(variance(&[0.1; 7]), 0.0);
        assert_eq!(mean(&[0.1; 3]), 0.1);
    }
}
