//! One number over several seeds.

use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    pub min: f64,
    /// Of an even number of values, the mean of the two in the middle.
    pub median: f64,
    pub max: f64,
}

impl Spread {
    /// `None` of no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (&min, &max) = (values.first()?, values.last()?);
        let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
        Some(Self { min, median: low.midpoint(high), max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        let spread = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(spread(&[]), None);
        assert_eq!(spread(&[5.0]), Some(Spread { min: 5.0, median: 5.0, max: 5.0 }));
        assert_eq!(spread(&[9.0, 1.0, 2.0]), Some(Spread { min: 1.0, median: 2.0, max: 9.0 }));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 9.0]), Some(Spread { min: 1.0, median: 3.0, max: 9.0 }));
    }
}
