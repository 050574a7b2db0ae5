//! Do paired differences lie to one side of zero?

use crate::error::{at_least, finite};
use crate::permutation::{Count, MOST_EXACT, signed_sum};
use crate::{Error, Tails};

/// The result of a signed-rank test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SignedRankTest {
    /// The sum of the ranks of the positive differences, ranked by magnitude; ties share their mean
    /// rank.
    pub positive_ranks: f64,
    /// Differences that are not zero. The others are left out of the test.
    pub nonzero: usize,
    pub tails: Tails,
}

/// Wilcoxon's signed-rank test ("Individual comparisons by ranking methods", Biometrics 1945):
/// exact up to 60 differences that are not zero, by the normal approximation beyond.
///
/// Holds its level for any distribution that is symmetric about zero, as differences of two trials
/// of one cell are. Ties are respected: the exact test counts all ways to give signs to the very
/// magnitudes seen. It says nothing at 5 % of fewer than 6 differences: that all have one sign has
/// a chance of 2 / 2^n.
pub fn signed_rank(differences: &[f64]) -> Result<SignedRankTest, Error> {
    let nonzero = differences.iter().filter(|&&difference| difference != 0.0).count();
    test(differences, Count::for_values(nonzero))
}

/// The same, always exact. At most 60 differences.
pub fn signed_rank_exact(differences: &[f64]) -> Result<SignedRankTest, Error> {
    let given = differences.len();
    if given > MOST_EXACT {
        return Err(Error::TooMany { what: "differences", given, most: MOST_EXACT });
    }
    test(differences, Count::All)
}

/// The same, always by the normal approximation, with corrections for ties and continuity.
pub fn signed_rank_asymptotic(differences: &[f64]) -> Result<SignedRankTest, Error> {
    test(differences, Count::Normal)
}

fn test(differences: &[f64], count: Count) -> Result<SignedRankTest, Error> {
    at_least("differences", differences.len(), 1)?;
    finite("differences", differences)?;
    let mut nonzero: Vec<f64> =
        differences.iter().copied().filter(|&difference| difference != 0.0).collect();
    nonzero.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    // Ranks doubled, so that shared ones are whole: the first and the last place of equal
    // magnitudes, added.
    let doubled_ranks: Vec<usize> = nonzero
        .chunk_by(|a, b| a.abs().total_cmp(&b.abs()).is_eq())
        .scan(0, |before, equal| {
            let first = *before + 1;
            *before += equal.len();
            Some(std::iter::repeat_n(first + *before, equal.len()))
        })
        .flatten()
        .collect();
    let of_positive =
        nonzero.iter().zip(&doubled_ranks).filter(|&(&difference, _)| difference > 0.0);
    let positive = of_positive.map(|(_, rank)| rank).sum();
    Ok(SignedRankTest {
        positive_ranks: positive as f64 / 2.0,
        nonzero: nonzero.len(),
        tails: signed_sum(&doubled_ranks, positive, count),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_are_left_out_and_ties_shared() {
        let test = signed_rank(&[0.0, 1.0, -1.0, 2.0]).unwrap();
        assert_eq!((test.positive_ranks, test.nonzero), (4.5, 3));
        // Of the 8 ways to give signs to ranks 1.5, 1.5 and 3, three reach 4.5 or more (4.5 twice,
        // and 6).
        assert!((test.tails.greater - 3.0 / 8.0).abs() < 1e-15);
    }

    #[test]
    fn nothing_but_zeros_is_no_difference() {
        for test in [signed_rank_exact, signed_rank_asymptotic] {
            assert_eq!(test(&[0.0, 0.0]).unwrap().tails.two_sided(), 1.0);
        }
        assert!(matches!(signed_rank(&[]), Err(Error::TooFew { .. })));
    }
}
