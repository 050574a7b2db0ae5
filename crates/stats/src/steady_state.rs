//! From where on a time series is steady, by fio's two criteria (fio's `steadystate` option and
//! HOWTO; its window is `steadystate_duration`).
//!
//! fio stops a job there, and its totals still have the unsteady part in them. Here the place is
//! only told.

use crate::Error;
use crate::error::{above_zero, at_least, finite};
use crate::log_ratio::mean;

/// What must be small.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Criterion {
    /// The slope of the least-squares line, in the unit of the values a sample: fio's `iops_slope`
    /// and its like.
    Slope,
    /// The largest distance of a sample from the window's mean, in the unit of the values: fio's
    /// `iops` and its like.
    MaxMeanDeviation,
}

/// How small.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    Absolute(f64),
    /// In per cent of the window's mean, as fio's limits with `%`.
    Percent(f64),
}

impl Criterion {
    /// The criterion of one window of two samples or more. Never negative.
    pub fn of(self, window: &[f64]) -> Result<f64, Error> {
        at_least("samples of a window", window.len(), 2)?;
        finite("samples", window)?;
        Ok(self.measure(window))
    }

    fn measure(self, window: &[f64]) -> f64 {
        let mean = mean(window);
        match self {
            Self::Slope => {
                let middle = (window.len() - 1) as f64 / 2.0;
                let off_middle = |at: usize| at as f64 - middle;
                let products: f64 =
                    window.iter().enumerate().map(|(at, y)| off_middle(at) * (y - mean)).sum();
                let squares: f64 = (0..window.len()).map(|at| off_middle(at).powi(2)).sum();
                (products / squares).abs()
            }
            Self::MaxMeanDeviation => window.iter().map(|y| (y - mean).abs()).fold(0.0, f64::max),
        }
    }
}

/// The index of the first sample of the first window of `window` samples that is steady: whose
/// criterion is below the limit. `None` where no window is. Samples are equally spaced in time.
pub fn first_steady(
    series: &[f64],
    window: usize,
    criterion: Criterion,
    limit: Limit,
) -> Result<Option<usize>, Error> {
    at_least("samples of a window", window, 2)?;
    finite("samples", series)?;
    let (Limit::Absolute(number) | Limit::Percent(number)) = limit;
    above_zero("the limit", number)?;
    Ok(series.windows(window).position(|window| {
        let largest = match limit {
            Limit::Absolute(largest) => largest,
            Limit::Percent(percent) => percent / 100.0 * mean(window).abs(),
        };
        criterion.measure(window) < largest
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn criteria_by_hand() {
        assert_eq!(Criterion::Slope.of(&[1.0, 3.0, 5.0, 7.0]), Ok(2.0));
        assert_eq!(Criterion::Slope.of(&[7.0, 5.0, 3.0, 1.0]), Ok(2.0));
        assert_eq!(Criterion::MaxMeanDeviation.of(&[1.0, 2.0, 6.0]), Ok(3.0));
        assert_eq!(Criterion::Slope.of(&[4.0, 4.0]), Ok(0.0));
    }

    #[test]
    fn the_first_steady_window_is_found() {
        let series = [10.0, 60.0, 90.0, 99.0, 101.0, 100.0, 99.0, 101.0, 100.0];
        let by = |criterion, limit| first_steady(&series, 4, criterion, limit).unwrap();
        assert_eq!(by(Criterion::MaxMeanDeviation, Limit::Percent(2.0)), Some(3));
        assert_eq!(by(Criterion::MaxMeanDeviation, Limit::Percent(1.1)), Some(5));
        assert_eq!(by(Criterion::MaxMeanDeviation, Limit::Percent(10.0)), Some(2));
        assert_eq!(by(Criterion::Slope, Limit::Absolute(0.5)), Some(3));
        assert_eq!(by(Criterion::MaxMeanDeviation, Limit::Absolute(0.5)), None);
        assert_eq!(first_steady(&series[..3], 4, Criterion::Slope, Limit::Percent(1.0)), Ok(None));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(first_steady(&[1.0; 9], 1, Criterion::Slope, Limit::Percent(1.0)).is_err());
        assert!(first_steady(&[1.0; 9], 3, Criterion::Slope, Limit::Percent(0.0)).is_err());
        assert!(first_steady(&[1.0, f64::NAN], 2, Criterion::Slope, Limit::Percent(1.0)).is_err());
    }
}
