//! Defines the verdict on a comparison, in one word. No other place defines the words.

use std::cmp::Ordering;
use std::fmt;

use crate::error::{above_zero, chance};
use crate::{Error, Interval};

/// The direction that is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    /// Less is better, as with latencies and start-up times.
    Lower,
    /// More is better, as with IOPS and bandwidth.
    Higher,
}

impl Better {
    /// Orders two numbers that are not NaN: the greater is the better.
    pub(crate) fn order(self, one: f64, other: f64) -> Ordering {
        let order = one.partial_cmp(&other).unwrap_or(Ordering::Equal);
        if self == Self::Higher { order } else { order.reverse() }
    }
}

/// The answer to "is the treatment better than the baseline?", from the interval of their log-ratio
/// and the smallest effect of interest. The interval misses the truth with a chance of at most
/// alpha.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The whole interval is on the good side of zero, and some of it beyond the smallest effect of
    /// interest. If there is no effect, or a bad one, the chance of this word is at most alpha / 2.
    Better,
    /// The whole interval is on the bad side of zero, and some of it beyond the smallest effect of
    /// interest.
    Worse,
    /// The whole interval is nearer to zero than the smallest effect of interest. If the effect is
    /// that large or larger, the chance of this word is at most alpha / 2. A difference may still
    /// be certain; it is then certainly too small.
    Same,
    /// No other word holds. More seeds may decide; [`Rule::trials_to_decide`] says how many.
    Undecided,
}

/// The rule for verdicts. It is chosen before the data are seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    alpha: f64,
    margin: f64,
    better: Better,
    /// Number of comparisons that are corrected together ([`Self::family`]).
    cells: usize,
}

impl Rule {
    /// Returns a rule. `alpha` is the chance of better or worse without a difference, 0.05 if in
    /// doubt. `smallest_effect` is the least change of interest as a share, 0.02 for 2 %; a change
    /// down by 1 / 1.02 counts as one of equal size.
    pub fn new(alpha: f64, smallest_effect: f64, better: Better) -> Result<Self, Error> {
        chance("alpha", alpha)?;
        above_zero("the smallest effect of interest", smallest_effect)?;
        Ok(Self { alpha, margin: smallest_effect.ln_1p(), better, cells: 1 })
    }

    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the same rule with another chance of a wrong verdict.
    pub fn with_alpha(self, alpha: f64) -> Result<Self, Error> {
        chance("alpha", alpha)?;
        Ok(Self { alpha, ..self })
    }

    /// Returns the same rule for one of `cells` comparisons that are corrected together. It chooses
    /// methods that can reach the strictest step of the correction, alpha / cells. Ranks of 5
    /// against 5 trials, for example, have no p-value below 0.8 %, and would leave the largest
    /// effect undecided among twelve cells.
    #[must_use]
    pub fn among(self, cells: usize) -> Self {
        Self { cells: cells.max(1), ..self }
    }

    /// Returns the alpha that the method of a comparison has to be able to reach.
    pub(crate) fn least_alpha(&self) -> f64 {
        self.alpha / self.cells as f64
    }

    /// Returns the smallest effect of interest as a log-ratio.
    pub fn margin(&self) -> f64 {
        self.margin
    }

    /// Returns the verdict on an interval of the log-ratio of treatment to baseline.
    pub fn verdict(&self, log_ratio: Interval) -> Verdict {
        if self.is_small(log_ratio) {
            Verdict::Same
        } else if log_ratio.contains(0.0) {
            Verdict::Undecided
        } else {
            self.side(log_ratio.low > 0.0)
        }
    }

    pub(crate) fn is_small(&self, log_ratio: Interval) -> bool {
        log_ratio.is_inside(-self.margin, self.margin)
    }

    pub(crate) fn side(&self, is_higher: bool) -> Verdict {
        if is_higher == (self.better == Better::Higher) { Verdict::Better } else { Verdict::Worse }
    }
}

impl Verdict {
    /// Returns whether it is certain that the treatment differs from the baseline.
    pub fn is_difference(self) -> bool {
        matches!(self, Self::Better | Self::Worse)
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::Same => "same",
            Self::Undecided => "undecided",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_by_its_interval() {
        let verdict = |low: f64, high: f64, better| {
            Rule::new(0.05, 0.02, better)
                .unwrap()
                .verdict(Interval { low: low.ln_1p(), high: high.ln_1p() })
        };
        let table = [
            (0.03, 0.05, Verdict::Better),     // all of it of interest
            (0.01, 0.05, Verdict::Better),     // certainly higher, perhaps of interest
            (0.005, 0.015, Verdict::Same),     // certainly higher, certainly not of interest
            (-0.01, 0.01, Verdict::Same),      // no difference known, none of interest possible
            (-0.01, 0.03, Verdict::Undecided), // may be of interest, may be nothing
            (-0.30, 0.30, Verdict::Undecided), // nothing is known
            (-0.05, -0.01, Verdict::Worse),
            (0.0, 0.05, Verdict::Undecided), // ends belong to the interval
            (0.0, 0.02, Verdict::Undecided),
        ];
        for (low, high, expected) in table {
            assert_eq!(verdict(low, high, Better::Higher), expected, "{low}..{high}");
            let mirrored = match expected {
                Verdict::Better => Verdict::Worse,
                Verdict::Worse => Verdict::Better,
                other => other,
            };
            assert_eq!(verdict(low, high, Better::Lower), mirrored, "{low}..{high}");
        }
        let rule = Rule::new(0.05, 0.02, Better::Higher).unwrap();
        assert_eq!(rule.verdict(Interval::UNBOUNDED), Verdict::Undecided);
        assert_eq!(rule.verdict(Interval { low: 0.0, high: 0.0 }), Verdict::Same);
    }

    #[test]
    fn twice_and_half_are_equally_far() {
        let rule = Rule::new(0.05, 1.0, Better::Higher).unwrap();
        let half = 0.5_f64.ln();
        assert_eq!(rule.verdict(Interval { low: half * 0.99, high: -half * 0.99 }), Verdict::Same);
        assert_eq!(rule.verdict(Interval { low: half * 1.01, high: 0.0 }), Verdict::Undecided);
    }

    #[test]
    fn a_rule_without_sense_is_refused() {
        assert!(Rule::new(0.0, 0.02, Better::Lower).is_err());
        assert!(Rule::new(0.05, 0.0, Better::Lower).is_err());
        assert!(Rule::new(0.05, f64::INFINITY, Better::Lower).is_err());
    }
}
