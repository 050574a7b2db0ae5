//! Compares predictions with measurements.

use disklab_units::Nanos;
use disklab_units::average::mean;

/// Number of quantiles that are compared.
const STEPS: usize = 10_000;

/// Returns the root mean square horizontal distance between two distributions: of the differences
/// between 10000 of their quantiles, in the unit of the values. Returns 0 for empty ones.
pub fn distance(some: &[f64], others: &[f64]) -> f64 {
    let sorted = |values: &[f64]| {
        let mut values = values.to_vec();
        values.sort_unstable_by(f64::total_cmp);
        values
    };
    let (some, others) = (sorted(some), sorted(others));
    let quantile = |values: &[f64], step: usize| {
        let at = (2 * step + 1) * values.len() / (2 * STEPS);
        values.get(at).copied().unwrap_or_default()
    };
    let squares = (0..STEPS).map(|step| (quantile(&some, step) - quantile(&others, step)).powi(2));
    (squares.sum::<f64>() / STEPS as f64).sqrt()
}

pub(crate) fn millis(time: Nanos) -> f64 {
    time.0 as f64 / 1e6
}

/// Returns the standard deviation of measured minus predicted, pair by pair.
pub fn deviation(measured: &[f64], predicted: &[f64]) -> f64 {
    let differences: Vec<f64> =
        measured.iter().zip(predicted).map(|(one, other)| one - other).collect();
    let middle = mean(&differences);
    mean(&differences.iter().map(|difference| (difference - middle).powi(2)).collect::<Vec<_>>())
        .sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_is_that_of_sorted_values() {
        assert!(distance(&[3.0, 1.0, 2.0], &[2.0, 3.0, 1.0]).abs() < 1e-12);
        assert!((distance(&[1.0, 2.0], &[1.5, 2.5]) - 0.5).abs() < 1e-12);
        // A quarter of the second list is larger by 4.
        assert!((distance(&[1.0; 4], &[1.0, 1.0, 1.0, 5.0]) - 2.0).abs() < 1e-12);
    }

    #[test]
    fn a_common_shift_is_no_deviation() {
        assert!(deviation(&[1.0, 2.0, 5.0], &[2.0, 3.0, 6.0]).abs() < 1e-12);
        assert!((deviation(&[0.0, 2.0], &[0.0, 0.0]) - 1.0).abs() < 1e-12);
    }
}
