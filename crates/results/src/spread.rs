//! The spread of a number over several seeds.

use serde::Serialize;

/// The least, the middle and the greatest of a number's values.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    /// The value in the middle; for an even number of values, the mean of the two in the middle.
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// Returns the spread of `values`, or `None` if there are none.
    pub fn over(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { min, median: low.midpoint(high), max })
    }

    /// Returns whether the ranges have a value in common.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.min <= other.max && other.min <= self.max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |values: &[f64]| Spread::over(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[5.0]), Some(Spread { min: 5.0, median: 5.0, max: 5.0 }));
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]), Some(Spread { min: 1.0, median: 3.0, max: 9.0 }));
    }

    #[test]
    fn ranges_that_touch_overlap() {
        let spread = |min, max| Spread { min, median: min, max };
        assert!(spread(1.0, 2.0).overlaps(&spread(2.0, 3.0)));
        assert!(spread(1.0, 9.0).overlaps(&spread(2.0, 3.0)));
        assert!(!spread(1.0, 2.0).overlaps(&spread(2.1, 3.0)));
        assert!(!spread(2.1, 3.0).overlaps(&spread(1.0, 2.0)));
    }
}
