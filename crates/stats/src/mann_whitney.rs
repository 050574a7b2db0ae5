//! Does one sample tend to be larger than the other?

use std::cmp::Ordering;

use crate::error::{at_least, finite};
use crate::permutation::{Count, MOST_EXACT, chosen_sum};
use crate::{Error, Tails};

/// More are refused: every value is compared with every other.
const MOST: usize = 10_000;

/// The result of a rank test of two samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankTest {
    /// Pairs with the larger value on the left; a tie counts half.
    pub u: f64,
    /// `u` as a share of all pairs: the chance that a value on the left exceeds one on the right.
    /// 0.5 is no difference.
    pub chance_left_is_larger: f64,
    pub tails: Tails,
}

/// The Mann-Whitney test (Annals of Mathematical Statistics 1947): exact up to 60 values together,
/// by the normal approximation beyond.
///
/// Ties are respected: the exact test counts all ways to deal the very values seen, the approximate
/// one uses their variance (Lehmann, "Nonparametrics", 1975, section 1.4). Holds its level for any
/// two samples from one distribution. It says nothing at 5 % of fewer than 4 values against 4: not
/// even complete separation is that unlikely.
pub fn mann_whitney(left: &[f64], right: &[f64]) -> Result<RankTest, Error> {
    test(left, right, Count::for_values(left.len() + right.len()))
}

/// The same, always exact. At most 60 values together.
pub fn mann_whitney_exact(left: &[f64], right: &[f64]) -> Result<RankTest, Error> {
    let given = left.len() + right.len();
    if given > MOST_EXACT {
        return Err(Error::TooMany { what: "values of both samples", given, most: MOST_EXACT });
    }
    test(left, right, Count::All)
}

/// The same, always by the normal approximation, with corrections for ties and continuity.
pub fn mann_whitney_asymptotic(left: &[f64], right: &[f64]) -> Result<RankTest, Error> {
    test(left, right, Count::Normal)
}

fn test(left: &[f64], right: &[f64], count: Count) -> Result<RankTest, Error> {
    finite("left", left)?;
    finite("right", right)?;
    // Not `total_cmp`, which tells -0 from 0.
    rank_test(left, right, |left, right| left.partial_cmp(right).unwrap_or(Ordering::Equal), count)
}

/// The test on anything whose order may be partly unknown (then [`Ordering::Equal`]).
///
/// A value's score is how many of all values it exceeds less how many exceed it (Gehan, "A
/// generalized Wilcoxon test for comparing arbitrarily singly-censored samples", Biometrika 1965).
/// Where the order is known this is twice the midrank but for a constant, so the test is that of
/// Mann and Whitney.
pub(crate) fn rank_test<T>(
    left: &[T],
    right: &[T],
    order: impl Fn(&T, &T) -> Ordering,
    count: Count,
) -> Result<RankTest, Error> {
    at_least("left", left.len(), 1)?;
    at_least("right", right.len(), 1)?;
    let given = left.len() + right.len();
    if given > MOST {
        return Err(Error::TooMany { what: "values of both samples", given, most: MOST });
    }
    let all = || left.iter().chain(right);
    let score = |one: &T| all().map(|other| order(one, other) as i64).sum::<i64>();
    let scores: Vec<i64> = all().map(score).collect();
    // Within the left sample the scores cancel.
    let wins_less_losses: i64 = scores[..left.len()].iter().sum();
    let pairs = left.len() as f64 * right.len() as f64;
    let u = wins_less_losses as f64 / 2.0 + pairs / 2.0;
    Ok(RankTest {
        u,
        chance_left_is_larger: u / pairs,
        tails: chosen_sum(&scores, left.len(), count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The case that statrs 0.19.1 answers with 1: 5 runs against 5.
    #[test]
    fn five_against_five() {
        let test = mann_whitney(&[1.0, 2.0, 3.0, 7.0, 6.0], &[4.0, 5.0, 8.0, 9.0, 10.0]).unwrap();
        assert_eq!(test.u, 4.0);
        assert!((test.tails.two_sided() - 24.0 / 252.0).abs() < 1e-15);
    }

    #[test]
    fn all_equal_is_no_difference() {
        for test in [mann_whitney_exact, mann_whitney_asymptotic] {
            let test = test(&[2.0; 4], &[2.0; 5]).unwrap();
            assert_eq!((test.u, test.tails.two_sided()), (10.0, 1.0));
        }
    }

    #[test]
    fn zeros_of_either_sign_are_equal() {
        assert_eq!(mann_whitney(&[0.0; 4], &[-0.0; 4]).unwrap().chance_left_is_larger, 0.5);
    }

    #[test]
    fn what_is_too_much_for_counting_is_said() {
        let many = [1.0; 40];
        assert!(matches!(
            mann_whitney_exact(&many, &many),
            Err(Error::TooMany { given: 80, most: 60, .. })
        ));
        assert!(mann_whitney(&many, &many).is_ok());
        assert!(mann_whitney(&vec![1.0; MOST], &many).is_err());
        assert!(matches!(mann_whitney(&[], &many), Err(Error::TooFew { what: "left", .. })));
    }
}
