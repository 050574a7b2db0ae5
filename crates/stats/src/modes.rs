//! Detects whether a cell takes one of two values, depending on the seed.

use crate::Error;
use crate::error::positive;
use crate::log_ratio::mean;

/// Least ratio of the gap between two modes to the width of the wider mode.
const APART: f64 = 5.0;
/// Smallest number of trials of each mode.
const FEWEST: usize = 2;

/// Two groups of trials of one cell: the geometric mean of each, the lower first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TwoModes {
    pub lower: f64,
    pub upper: f64,
    /// Number of trials of the lower mode and of the upper one.
    pub trials: (usize, usize),
}

/// Splits the trials of one cell in two at the widest gap between their logarithms. Returns `None`
/// unless each group has two trials or more. The gap must be more than five times as wide as the
/// wider group, and more than `least_gap` (a share, such as the smallest effect of interest).
///
/// The result is a remark for readers and no test. tests/simulation has how often trials with one
/// mode are taken for two. By chance, four trials are two pairs in up to 5 %, and eight are two
/// groups in up to 0.3 %. Three equally spaced values without noise are often taken for two.
pub fn two_modes(values: &[f64], least_gap: f64) -> Result<Option<TwoModes>, Error> {
    positive("values", values)?;
    let mut logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    logarithms.sort_unstable_by(f64::total_cmp);
    let width = |group: &[f64]| group[group.len() - 1] - group[0];
    let is_split = |at: &usize| {
        let (lower, upper) = logarithms.split_at(*at);
        let gap = upper[0] - lower[lower.len() - 1];
        gap > least_gap.ln_1p() && gap > APART * width(lower).max(width(upper))
    };
    let last = logarithms.len().saturating_sub(FEWEST);
    let split = (FEWEST..=last).find(is_split).map(|at| logarithms.split_at(at));
    Ok(split.map(|(lower, upper)| TwoModes {
        lower: mean(lower).exp(),
        upper: mean(upper).exp(),
        trials: (lower.len(), upper.len()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_values_are_told_from_one_with_noise() {
        let modes = |values: &[f64]| two_modes(values, 0.02).unwrap();
        let found = modes(&[331.0, 550.0, 329.0, 552.0, 330.0]).unwrap();
        assert_eq!(found.trials, (3, 2));
        assert!((found.lower - 330.0).abs() < 0.1 && (found.upper - 551.0).abs() < 0.1);
        // The cases are two outliers of one value each, one outlier, no gap, an irrelevant gap, and
        // too few values.
        for values in [
            &[330.0, 331.0, 550.0][..],
            &[330.0, 331.0, 329.0, 550.0],
            &[100.0, 110.0, 120.0, 130.0, 140.0],
            &[100.0, 100.0, 101.0, 101.0],
            &[100.0; 6],
            &[5.0],
            &[],
        ] {
            assert_eq!(modes(values), None, "{values:?}");
        }
        assert!(two_modes(&[0.0; 4], 0.02).is_err());
    }
}
