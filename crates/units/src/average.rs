//! Averages of samples.
//!
//! ```
//! use disklab_units::average::{mean, median, quantile};
//!
//! let values = [4.0, 1.0, 3.0, 2.0, 5.0];
//! assert_eq!([0.0, 0.5, 1.0].map(|part| quantile(&values, part)), [1.0, 3.0, 5.0]);
//! assert_eq!((median(&values[..4]), mean(&values)), (3.0, 3.0));
//! assert_eq!((median(&[]), mean(&[])), (0.0, 0.0));
//! ```

/// Returns the middle value, or the upper of the two middle ones. Returns 0 for no values.
pub fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Returns the value below which this part of the other values is, or 0 for no values.
pub fn quantile(values: &[f64], part: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((part * last).round() as usize).copied().unwrap_or_default()
}

/// Returns the arithmetic mean, or 0 for no values.
pub fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}
