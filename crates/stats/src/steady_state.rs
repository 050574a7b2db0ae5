//! Checks whether a time series is steady, by fio's two criteria (fio's `steadystate` option and
//! HOWTO).
//!
//! fio stops a job that is steady, and its totals still include the unsteady part. Here the caller
//! decides.

use crate::Error;
use crate::error::{at_least, finite};
use crate::log_ratio::mean;

/// A criterion: a number that is small if a series is steady.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The slope of the least-squares line, in the unit of the values per sample: fio's
    /// `iops_slope` and similar ones.
    Slope,
    /// The largest distance of a sample from the window's mean, in the unit of the values: fio's
    /// `iops` and similar ones.
    MaxMeanDeviation,
}

impl Criterion {
    /// Returns the criterion of a window of two samples or more, equally spaced in time. It is
    /// never negative.
    pub fn measure(self, window: &[f64]) -> Result<f64, Error> {
        at_least("samples of a window", window.len(), 2)?;
        finite("samples", window)?;
        let mean = mean(window);
        Ok(match self {
            Self::Slope => {
                let middle = (window.len() - 1) as f64 / 2.0;
                let off_middle = |index: usize| index as f64 - middle;
                let products: f64 = window
                    .iter()
                    .enumerate()
                    .map(|(index, y)| off_middle(index) * (y - mean))
                    .sum();
                let squares: f64 = (0..window.len()).map(|index| off_middle(index).powi(2)).sum();
                (products / squares).abs()
            }
            Self::MaxMeanDeviation => window.iter().map(|y| (y - mean).abs()).fold(0.0, f64::max),
        })
    }

    /// Returns whether the criterion is below `percent` of the window's mean, as in fio's limits
    /// with `%`.
    pub fn is_below(self, percent: f64, window: &[f64]) -> Result<bool, Error> {
        Ok(self.measure(window)? < percent / 100.0 * mean(window).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_by_hand() {
        assert_eq!(Criterion::Slope.measure(&[1.0, 3.0, 5.0, 7.0]), Ok(2.0));
        assert_eq!(Criterion::Slope.measure(&[7.0, 5.0, 3.0, 1.0]), Ok(2.0));
        assert_eq!(Criterion::MaxMeanDeviation.measure(&[1.0, 2.0, 6.0]), Ok(3.0));
        assert_eq!(Criterion::Slope.measure(&[4.0, 4.0]), Ok(0.0));
    }

    #[test]
    fn the_first_steady_window_is_found() {
        let series = [10.0, 60.0, 90.0, 99.0, 101.0, 100.0, 99.0, 101.0, 100.0];
        let first = |criterion: Criterion, percent| {
            series.windows(4).position(|window| criterion.is_below(percent, window).unwrap())
        };
        assert_eq!(first(Criterion::MaxMeanDeviation, 2.0), Some(3));
        assert_eq!(first(Criterion::MaxMeanDeviation, 1.1), Some(5));
        assert_eq!(first(Criterion::MaxMeanDeviation, 10.0), Some(2));
        assert_eq!(first(Criterion::Slope, 0.5), Some(3));
        assert_eq!(first(Criterion::MaxMeanDeviation, 0.5), None);
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Criterion::Slope.is_below(1.0, &[1.0]).is_err());
        assert!(Criterion::Slope.is_below(1.0, &[1.0, f64::NAN]).is_err());
    }
}
