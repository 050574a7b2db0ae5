//! Estimates the distance between two samples, whatever the shape of their distribution.

use crate::error::{at_least, chance, finite};
use crate::rank_null::RankNull;
use crate::{Error, Interval, LocationTest, Tails};

/// Largest number of values of a sample, because all pairs are kept and sorted.
const MOST: usize = 3_000;

/// A shift as the median of many small comparisons. Its interval and p-values need no normal
/// distribution (Hodges and Lehmann, "Estimates of location based on rank tests", Annals of
/// Mathematical Statistics 1963).
///
/// Intervals are exact if no values are equal: they miss with at most the requested chance, and
/// with less if few values allow few levels (6 differences: 3.1 % instead of 5 %). With ties they
/// are cautious, since the ends belong to the interval. Above 128 values together they use the
/// normal approximation.
///
/// In the p-values ties count against a difference, so that test and interval agree.
#[derive(Debug, Clone, PartialEq)]
pub struct Shift {
    /// The small comparisons, in rising order.
    comparisons: Vec<f64>,
    null: RankNull,
}

/// Returns the shift of `left` against `right`: the median of all differences between a value of
/// one and a value of the other.
///
/// The interval and p-values are exact if both have the same distribution except for the shift
/// (Lehmann, "Nonparametrics", 1975, section 2.3).
pub fn two_sample_shift(left: &[f64], right: &[f64]) -> Result<Shift, Error> {
    check("left", left)?;
    check("right", right)?;
    let comparisons =
        left.iter().flat_map(|left| right.iter().map(move |right| left - right)).collect();
    Ok(Shift::new(comparisons, RankNull::mann_whitney(left.len(), right.len())))
}

/// Returns the centre of one sample, or of paired differences: the median of the means of all pairs
/// of values, each value with itself included (Walsh averages).
///
/// The interval and p-values are exact if the distribution is symmetric (Lehmann, "Nonparametrics",
/// 1975, section 4.2).
pub fn one_sample_shift(values: &[f64]) -> Result<Shift, Error> {
    check("values", values)?;
    let with_later = |at: usize| values[at..].iter().map(move |later| values[at].midpoint(*later));
    let comparisons = (0..values.len()).flat_map(with_later).collect();
    Ok(Shift::new(comparisons, RankNull::signed_rank(values.len())))
}

fn check(what: &'static str, values: &[f64]) -> Result<(), Error> {
    at_least(what, values.len(), 1)?;
    if values.len() > MOST {
        return Err(Error::TooMany { what, given: values.len(), most: MOST });
    }
    finite(what, values)
}

impl Shift {
    fn new(mut comparisons: Vec<f64>, null: RankNull) -> Self {
        comparisons.sort_unstable_by(f64::total_cmp);
        Self { comparisons, null }
    }
}

impl LocationTest for Shift {
    fn estimate(&self) -> f64 {
        let n = self.comparisons.len();
        f64::midpoint(self.comparisons[(n - 1) / 2], self.comparisons[n / 2])
    }

    fn interval(&self, alpha: f64) -> Result<Interval, Error> {
        chance("alpha", alpha)?;
        let n = self.comparisons.len();
        Ok(match self.null.largest_below(alpha / 2.0) {
            Some(beyond) => {
                Interval { low: self.comparisons[beyond], high: self.comparisons[n - 1 - beyond] }
            }
            None => Interval::UNBOUNDED,
        })
    }

    fn tails(&self, null: f64) -> Tails {
        let not_above = self.comparisons.partition_point(|&comparison| comparison <= null);
        let below = self.comparisons.partition_point(|&comparison| comparison < null);
        Tails {
            less: self.null.at_most(self.comparisons.len() - below),
            greater: self.null.at_most(not_above),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_hand() {
        let shift = two_sample_shift(&[5.0, 9.0], &[1.0, 2.0]).unwrap();
        assert_eq!(shift.estimate(), 5.5); // of 3, 4, 7, 8
        let centre = one_sample_shift(&[1.0, 2.0, 6.0]).unwrap();
        assert_eq!(centre.estimate(), 2.75); // of 1, 1.5, 2, 3.5, 4, 6
    }

    #[test]
    fn six_differences_are_the_first_that_can_be_decided() {
        let values = [3.0, 1.0, 7.0, 4.0, 2.0, 5.0];
        let interval = |n: usize| one_sample_shift(&values[..n]).unwrap().interval(0.05).unwrap();
        assert_eq!(interval(5), Interval::UNBOUNDED);
        assert_eq!(interval(6), Interval { low: 1.0, high: 7.0 });
    }

    #[test]
    fn interval_and_test_say_the_same() {
        let shift =
            two_sample_shift(&[1.0, 4.0, 4.0, 8.0, 9.0], &[0.0, 2.0, 4.0, 4.0, 3.0]).unwrap();
        for alpha in [0.03, 0.05, 0.1, 0.2, 0.5] {
            let interval = shift.interval(alpha).unwrap();
            for null in (-100..=100).map(|tenth| f64::from(tenth) / 10.0) {
                let rejected = shift.tails(null).two_sided() <= alpha;
                assert_eq!(rejected, !interval.contains(null), "alpha {alpha}, null {null}");
            }
        }
    }

    #[test]
    fn too_many_are_refused_before_all_pairs_are_made() {
        let many = vec![1.0; MOST + 1];
        assert!(matches!(one_sample_shift(&many), Err(Error::TooMany { most: MOST, .. })));
        assert!(matches!(
            two_sample_shift(&[1.0], &many),
            Err(Error::TooMany { what: "right", .. })
        ));
    }
}
