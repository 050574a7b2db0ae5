//! Compares two cells: effect, interval, p-values, verdict; and chooses the method that keeps its
//! error rate with this number of seeds.
//!
//! The effect is the log-ratio of treatment to baseline. Pairs are trials of one seed: in virtual
//! time they share the phase of the disks and the sequence of requests, and the shared effects
//! cancel.
//!
//! # Choice of the method
//!
//! The choice depends on the number of seeds, on alpha and on how many comparisons share it
//! ([`Rule::among`]), never on the values:
//!
//! - **Ranks**, if they can reach alpha at all (at 5 %: from 6 pairs, or 4 against 4): the shift of
//!   Hodges and Lehmann with its exact interval. On A/A data it holds alpha for any distribution,
//!   because the difference of two trials of one cell is symmetric, and two samples of one cell can
//!   be exchanged. Student's t does not hold it. For a measure with three values, it finds
//!   differences in 6.1 to 6.4 % of cases with 6 to 8 pairs, and in up to 12 % with 3 trials
//!   against 7.
//! - **Student's or Welch's t** on the logarithms, for fewer trials. A method without assumptions
//!   can decide nothing there: with 3 pairs, all differences have one sign by chance in 1 of 4
//!   cases. t assumes that the observed spread shows the true spread. That fails if a measure has
//!   few values. An example is the choice of a mirror by a process id, which is either even or odd.
//!   Trials of a measure with two values can separate the cells completely, and leave no spread at
//!   all. The chance of that is up to 2 / 4^n (3.1 %, 0.8 %, 0.2 % for n = 3, 4, 5). Half of it is
//!   set aside from alpha, and nothing is decided at an alpha below the whole of it.
//! - With fewer than **3** trials the effect is estimated and nothing is decided: the interval is
//!   unbounded, and no p-value is below 1.
//!
//! The price is a step. 6 pairs of normal data are decided less often than 5, since all 6 must be
//! on one side then: an effect of one standard deviation in 35 % of cases instead of 40 %, and with
//! 7 pairs in 57 %. So take 5 seeds, or 8 and more.
//!
//! # Error rates
//!
//! On A/A data, alpha = 5 %: tests/simulation has twelve distributions and prints the rates. A
//! search over measures of up to five values found the worst distribution for t: 4.98 % for 3
//! pairs, 3.6 % for 4, 4.9 % for 5; 3.2 % for 3 against 3. At smaller alphas t holds a little less:
//! 2.6 % for a stated 2 %, 0.8 % for 0.5 % (Welch, 5 against 5).
//!
//! Beyond A/A data, the error rates assume that the effect is a factor, by which every value is
//! multiplied. If a treatment changes the shape of the distribution too, "no difference" has
//! several meanings. For cells with equal centres, the rates of better or worse are then:
//!
//! - 5 % in pairs whose sides spread 5 to 1;
//! - unpaired with 30 trials, 6 % at a spread of 2 to 1 and 9 % at 5 to 1;
//! - up to 14 % for a treatment with exponential logarithms against a baseline that does not vary
//!   at all, since mean, median and the centre by ranks are then three numbers.

use crate::distribution::t_critical;
use crate::error::{at_least, paired, positive};
use crate::log_ratio::{log_ratios, logarithms, mean};
use crate::{
    Correction, Error, Estimate, Interval, LocationTest, Rule, Shift, StudentT, Tails, Verdict,
    one_sample_shift, one_sample_t, two_sample_shift, welch,
};

/// Smallest number of trials of a cell, or of pairs, for a verdict.
pub const FEWEST: usize = 3;

/// The method of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// The ranks of the log-ratios, by [`one_sample_shift`].
    PairedRanks,
    /// Student's t of the log-ratios, by [`one_sample_t`].
    PairedT,
    /// The ranks of the logarithms, by [`two_sample_shift`].
    Ranks,
    /// Welch's t of the logarithms, by [`welch`].
    WelchT,
}

/// The comparison of a treatment with a baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Comparison {
    pub method: Method,
    /// Number of trials of the treatment and of the baseline.
    pub trials: (usize, usize),
    /// `ln(treatment / baseline)`; [`crate::percent`] converts it to per cent.
    pub log_ratio: Estimate,
    /// The logarithm of the baseline's own number ([`Finding::baseline`]).
    pub baseline: f64,
    /// The p-value of a difference: at most alpha if the interval leaves zero out.
    pub p_different: f64,
    /// The p-value of sameness: at most alpha if the interval lies within the smallest effect of
    /// interest. Twice [`LocationTest::p_equivalent`], so that one interval decides on all
    /// verdicts.
    pub p_same: f64,
    pub verdict: Verdict,
    /// The standard deviation of the log-ratios of pairs, or of the logarithms within a cell, for
    /// planning. It is `None` if there is only one trial, which shows no spread.
    pub spread: Option<f64>,
}

/// The test of a treatment and a baseline, by the method that keeps its error rate with this number
/// of trials.
pub struct Finding {
    method: Method,
    /// Number of trials of the treatment and of the baseline.
    trials: (usize, usize),
    /// The test of the log-ratio.
    test: Box<dyn LocationTest>,
    /// The logarithm of the baseline's own number.
    baseline: f64,
    /// The chance of a complete separation that the test does not account for. Half of it is added
    /// to each two-sided p-value, and it is the least p-value.
    separation: f64,
}

impl Finding {
    /// Compares pair by pair: values at the same index are of one seed. All must be above zero, in
    /// one pair or more. `alpha` is the least level of any decision; it chooses the method.
    pub fn paired(treatment: &[f64], baseline: &[f64], alpha: f64) -> Result<Self, Error> {
        paired(treatment, baseline)?;
        let n = treatment.len();
        at_least("pairs of trials", n, 1)?;
        let differences = log_ratios(treatment, baseline)?;
        let baseline = logarithms("baseline", baseline)?;
        Ok(match differences[..] {
            [only] => Self::by_mean(Method::PairedT, StudentT::without_spread(only), n, &baseline),
            _ if n >= FEWEST && least_p_of_pairs(n) <= alpha => {
                Self::by_ranks(Method::PairedRanks, one_sample_shift(&differences)?, n, &baseline)?
            }
            _ => Self::by_mean(Method::PairedT, one_sample_t(&differences)?, n, &baseline),
        })
    }

    /// Compares samples that share nothing, each with at least one value, all above zero. `alpha`
    /// has the same meaning as for pairs.
    pub fn unpaired(treatment: &[f64], baseline: &[f64], alpha: f64) -> Result<Self, Error> {
        at_least("trials of the treatment", treatment.len(), 1)?;
        at_least("trials of the baseline", baseline.len(), 1)?;
        positive("baseline", baseline)?;
        let (treatment, baseline) =
            (logarithms("treatment", treatment)?, logarithms("baseline", baseline)?);
        let (left, right) = (treatment.len(), baseline.len());
        let fewest = left.min(right);
        Ok(if fewest >= FEWEST && 2.0 / deals(left, right) <= alpha {
            let shift = two_sample_shift(&treatment, &baseline)?;
            Self::by_ranks(Method::Ranks, shift, left, &baseline)?
        } else if fewest >= 2 {
            Self::by_mean(Method::WelchT, welch(&treatment, &baseline)?, left, &baseline)
        } else {
            let only = StudentT::without_spread(mean(&treatment) - mean(&baseline));
            Self::by_mean(Method::WelchT, only, left, &baseline)
        })
    }

    fn by_mean(method: Method, test: StudentT, trials: usize, baseline: &[f64]) -> Self {
        Self::new(method, (trials, baseline.len()), Box::new(test), mean(baseline))
    }

    fn by_ranks(
        method: Method,
        test: Shift,
        trials: usize,
        baseline: &[f64],
    ) -> Result<Self, Error> {
        let centre = one_sample_shift(baseline)?.estimate();
        Ok(Self::new(method, (trials, baseline.len()), Box::new(test), centre))
    }

    fn new(
        method: Method,
        trials: (usize, usize),
        test: Box<dyn LocationTest>,
        baseline: f64,
    ) -> Self {
        Self { method, trials, test, baseline, separation: method.separation(trials) }
    }

    /// Returns the logarithm of the baseline's own number, by the estimator of the effect: the mean
    /// of its logarithms, or with ranks their shift. Plus [`Self::estimate`], it is the
    /// treatment's.
    pub fn baseline(&self) -> f64 {
        self.baseline
    }

    pub(crate) fn method(&self) -> Method {
        self.method
    }

    pub(crate) fn trials(&self) -> (usize, usize) {
        self.trials
    }

    pub fn estimate(&self) -> f64 {
        self.test.estimate()
    }

    /// Returns an interval that misses the truth with a chance of at most `alpha`. The interval is
    /// unbounded for too few trials.
    pub fn interval(&self, alpha: f64) -> Result<Interval, Error> {
        if alpha < self.separation {
            Ok(Interval::UNBOUNDED)
        } else {
            self.test.interval(alpha - self.separation / 2.0)
        }
    }

    /// Tests whether the log-ratio is `null`, one side at a time.
    pub fn tails(&self, null: f64) -> Tails {
        let Tails { less, greater } = self.test.tails(null);
        let one_side = |p: f64| self.with_separation(2.0 * p) / 2.0;
        Tails { less: one_side(less), greater: one_side(greater) }
    }

    /// Returns the standard deviation of single trials for which Student's t gives an interval of
    /// this width at 1 - `alpha`, or `None` if the width is unknown.
    pub(crate) fn spread(&self, alpha: f64) -> Result<Option<f64>, Error> {
        let (left, right) = (self.trials.0 as f64, self.trials.1 as f64);
        let (degrees, error) = if self.method.is_paired() {
            (left - 1.0, left.recip().sqrt())
        } else {
            (left + right - 2.0, (left.recip() + right.recip()).sqrt())
        };
        let Interval { low, high } = self.test.interval(alpha)?;
        let sd = (high - low) / 2.0 / (t_critical(alpha / 2.0, degrees) * error);
        Ok(Some(sd).filter(|sd| sd.is_finite()))
    }

    fn with_separation(&self, two_sided: f64) -> f64 {
        (two_sided + self.separation / 2.0).max(self.separation).min(1.0)
    }
}

impl Rule {
    /// Compares pair by pair: values at the same index are of one seed. All must be above zero, in
    /// one pair or more.
    pub fn paired(&self, treatment: &[f64], baseline: &[f64]) -> Result<Comparison, Error> {
        self.compare(&Finding::paired(treatment, baseline, self.least_alpha())?)
    }

    /// Compares samples that share nothing, each with at least one value, all above zero.
    pub fn unpaired(&self, treatment: &[f64], baseline: &[f64]) -> Result<Comparison, Error> {
        self.compare(&Finding::unpaired(treatment, baseline, self.least_alpha())?)
    }

    fn compare(&self, finding: &Finding) -> Result<Comparison, Error> {
        let interval = finding.interval(self.alpha())?;
        let p_same = 2.0 * finding.test.p_equivalent(self.margin())?;
        Ok(Comparison {
            method: finding.method,
            trials: finding.trials,
            log_ratio: Estimate { value: finding.estimate(), interval },
            baseline: finding.baseline,
            p_different: finding.with_separation(finding.test.tails(0.0).two_sided()),
            p_same: finding.with_separation(p_same),
            verdict: self.verdict(interval),
            spread: finding.spread(self.alpha())?,
        })
    }

    /// Returns the verdicts on all cells of a suite. `correction` limits the chance of a wrong
    /// verdict over all of them together. Better or worse is one family, and the same is another,
    /// each with an alpha of its own. If a difference is certain but too small by its own interval,
    /// and the family does not allow "the same", the cell is undecided.
    pub fn family(
        &self,
        cells: &[Comparison],
        correction: Correction,
    ) -> Result<Vec<Verdict>, Error> {
        let different = correction.adjust(cells.iter().map(|cell| cell.p_different))?;
        let same = correction.adjust(cells.iter().map(|cell| cell.p_same))?;
        let verdict = |((cell, different), same): ((&Comparison, &f64), &f64)| {
            if *same <= self.alpha() {
                Verdict::Same
            } else if *different <= self.alpha() && !self.is_small(cell.log_ratio.interval) {
                self.side(cell.log_ratio.value > 0.0)
            } else {
                Verdict::Undecided
            }
        };
        Ok(cells.iter().zip(&different).zip(&same).map(verdict).collect())
    }
}

impl Method {
    pub(crate) fn is_paired(self) -> bool {
        matches!(self, Self::PairedRanks | Self::PairedT)
    }

    /// Returns the chance of complete separation without a difference, for which the method has to
    /// allow. Ranks account for it themselves.
    pub(crate) fn separation(self, trials: (usize, usize)) -> f64 {
        match self {
            _ if trials.0.min(trials.1) < FEWEST => 1.0,
            Self::PairedT | Self::WelchT => separation_by_chance(trials.0, trials.1),
            Self::PairedRanks | Self::Ranks => 0.0,
        }
    }

    /// Returns the least p-value that this number of trials can have, whatever their values.
    pub(crate) fn least_p(self, trials: (usize, usize)) -> f64 {
        match self {
            Self::PairedRanks => least_p_of_pairs(trials.0),
            Self::Ranks => 2.0 / deals(trials.0, trials.1),
            Self::PairedT | Self::WelchT => self.separation(trials),
        }
    }
}

/// Returns the least p-value of ranks of this number of pairs, when all differences have one sign.
fn least_p_of_pairs(pairs: usize) -> f64 {
    2.0 * 0.5_f64.powf(pairs as f64)
}

/// Returns the largest chance with which a measure of two values separates the cells completely
/// without a difference: all trials of one cell have one value, and all of the other cell the
/// other.
pub(crate) fn separation_by_chance(left: usize, right: usize) -> f64 {
    let (left, right) = (left as f64, right as f64);
    let by_share =
        |p: f64| p.powf(left) * (1.0 - p).powf(right) + p.powf(right) * (1.0 - p).powf(left);
    // For samples of about equal size, the maximum is in the middle; for others, close to the
    // maximum of one of the terms.
    by_share(0.5).max(by_share(left / (left + right)))
}

/// Returns the number of ways to deal `left + right` values into two groups.
fn deals(left: usize, right: usize) -> f64 {
    (1..=left.min(right)).fold(1.0, |deals, i| deals * (left.max(right) + i) as f64 / i as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Better;

    fn rule(alpha: f64) -> Rule {
        Rule::new(alpha, 0.02, Better::Higher).unwrap()
    }

    #[test]
    fn the_method_depends_on_numbers_of_trials_alone() {
        let values: Vec<f64> = (1..=12).map(f64::from).collect();
        let paired =
            |n: usize, alpha| rule(alpha).paired(&values[..n], &values[..n]).unwrap().method;
        assert_eq!(paired(3, 0.05), Method::PairedT);
        assert_eq!(paired(5, 0.05), Method::PairedT);
        assert_eq!(paired(6, 0.05), Method::PairedRanks);
        assert_eq!(paired(6, 0.01), Method::PairedT);
        assert_eq!(paired(8, 0.01), Method::PairedRanks);
        let unpaired =
            |l: usize, r: usize| rule(0.05).unpaired(&values[..l], &values[..r]).unwrap().method;
        assert_eq!(unpaired(3, 3), Method::WelchT);
        assert_eq!(unpaired(3, 4), Method::WelchT);
        assert_eq!(unpaired(3, 5), Method::Ranks);
        assert_eq!(unpaired(4, 4), Method::Ranks);
    }

    #[test]
    fn a_large_effect_is_found_among_many_cells() {
        let baseline: Vec<f64> = (0..8).map(|n| 100.0 + f64::from(n)).collect();
        let treatment: Vec<f64> = (0..8).map(|n| 1000.0 + 11.0 * f64::from(n)).collect();
        let same: Vec<f64> = (0..8).map(|n| 100.0 + f64::from((n * 5) % 8)).collect();
        for n in 5..=8 {
            let family = |rule: Rule| {
                let mut cells = vec![rule.unpaired(&same[..n], &baseline[..n]).unwrap(); 11];
                cells.push(rule.unpaired(&treatment[..n], &baseline[..n]).unwrap());
                rule.family(&cells, crate::Correction::Holm).unwrap()[11]
            };
            assert_eq!(family(rule(0.05).among(12)), Verdict::Better, "{n}");
        }
        assert_eq!(
            rule(0.05).among(12).unpaired(&treatment[..5], &baseline[..5]).unwrap().method,
            Method::WelchT
        );
    }

    #[test]
    fn chance_that_leaves_no_spread_is_not_believed_at_small_alphas() {
        let (treatment, baseline) = ([2.0; 3], [1.0; 3]);
        let at = |alpha| rule(alpha).paired(&treatment, &baseline).unwrap();
        assert_eq!(at(0.05).verdict, Verdict::Better);
        assert_eq!(at(0.05).p_different, 2.0 / 64.0);
        assert_eq!(at(0.03).verdict, Verdict::Undecided);
        assert_eq!(at(0.03).log_ratio.interval, Interval::UNBOUNDED);
        assert_eq!(rule(0.05).paired(&baseline, &baseline).unwrap().verdict, Verdict::Same);
    }

    #[test]
    fn chance_is_the_worst_case_of_two_values() {
        assert_eq!(separation_by_chance(3, 3), 2.0 / 64.0);
        for (left, right) in [(3, 4), (4, 3), (3, 9)] {
            let worst = (1..1000).map(|p| f64::from(p) / 1000.0).map(|p| {
                p.powi(left) * (1.0 - p).powi(right) + p.powi(right) * (1.0 - p).powi(left)
            });
            let worst = worst.fold(0.0, f64::max);
            let chance = separation_by_chance(left as usize, right as usize);
            assert!(
                chance <= worst + 1e-9 && chance > 0.98 * worst,
                "{left} {right}: {chance} {worst}"
            );
        }
    }

    #[test]
    fn of_too_few_the_effect_is_estimated_and_nothing_is_decided() {
        let lax = rule(0.9);
        let (two, half) = ([4.0, 8.0], [1.0, 8.0]);
        for n in 1..=2 {
            for compare in [Rule::paired, Rule::unpaired] {
                let compared = compare(&lax, &two[..n], &half[..n]).unwrap();
                let effect = 4.0_f64.ln() / n as f64;
                assert!((compared.log_ratio.value - effect).abs() < 1e-12, "{compared:?}");
                assert_eq!(compared.log_ratio.interval, Interval::UNBOUNDED);
                assert_eq!((compared.p_different, compared.p_same), (1.0, 1.0));
                assert_eq!(compared.verdict, Verdict::Undecided);
                assert_eq!(compared.spread.is_some(), n == 2);
            }
        }
        // Ranks of 2 trials against 12 could reach 5 %.
        let many: Vec<f64> = (10..22).map(f64::from).collect();
        assert_eq!(lax.unpaired(&two, &many).unwrap().p_different, 1.0);
        assert!(lax.unpaired(&two[..1], &many).unwrap().log_ratio.value < 0.0);
        assert!(matches!(rule(0.05).paired(&[], &[]), Err(Error::TooFew { needed: 1, .. })));
        assert!(matches!(rule(0.05).paired(&two, &[1.0]), Err(Error::NotPaired { .. })));
        assert!(matches!(
            rule(0.05).unpaired(&[1.0, 2.0, 3.0], &[1.0, -2.0, 3.0]),
            Err(Error::NotPositive { what: "baseline", index: 1, .. })
        ));
    }

    #[test]
    fn the_two_numbers_of_a_comparison_have_its_ratio() {
        // Means of logarithms on both sides have the ratio of the pairs. So do all shifts against a
        // baseline that does not vary.
        let (treatment, baseline) = ([2.0, 8.0, 4.0], [1.0, 1.0, 8.0]);
        let finding = Finding::paired(&treatment, &baseline, 0.05).unwrap();
        assert!((finding.baseline().exp() - 2.0).abs() < 1e-12);
        assert!(((finding.baseline() + finding.estimate()).exp() - 4.0).abs() < 1e-12);
        let ranks = Finding::paired(&[3.0; 6], &[1.0, 2.0, 3.0, 4.0, 5.0, 60.0], 0.05).unwrap();
        assert!(((ranks.baseline() + ranks.estimate()).exp() - 3.0).abs() < 1e-12);
    }
}
