//! Looking at the data while seeds are added, without fooling oneself.
//!
//! Who tests at 5 % after each new seed and stops at the first difference finds one on A/A data far
//! more often than in 5 % of cases: by 30 seeds in more than a fifth (tests/simulation). Here alpha
//! is spent: interim analyses are planned at a few numbers of trials, and each takes its part of
//! alpha (Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 1983).
//! The parts are equal and simply add up (Bonferroni), so whatever holds at one analysis for any
//! distribution holds over all of them; nothing further is assumed, and stopping early or late, or
//! going on for another cell's sake, costs nothing.
//!
//! Why not a confidence sequence that is valid at every n for ever (Wang and Ramdas, "Anytime-valid
//! t-tests and confidence sequences for Gaussian means with unknown variance", 2024)? It pays for
//! analyses that are never made: for 5 % its interval at 30 pairs is 3.5 standard errors wide to
//! each side, that of six analyses up to 30 is 2.8, that of one 2.05. And its promise is for normal
//! data. A budget is always known here.

use crate::comparison::{FEWEST, separation_by_chance};
use crate::error::{at_least, chance};
use crate::{Comparison, Error, Rule};

/// The numbers of trials at which a comparison may be decided, and the alpha of each decision.
#[derive(Debug, Clone, PartialEq)]
pub struct InterimAnalyses {
    /// The numbers of trials in rising order; the last is the budget.
    trials: Vec<usize>,
    alpha: f64,
}

impl InterimAnalyses {
    /// Plans analyses up to `budget` trials of a cell, each at about 1.5 times the trials of the
    /// one before, that together give a false verdict with a chance of at most `alpha`. The first
    /// is where the alpha of one analysis can decide at all ([`crate::comparison`]): at 5 % and a
    /// budget of 30 at 4 trials.
    pub fn plan(budget: usize, alpha: f64) -> Result<Self, Error> {
        at_least("the budget of trials", budget, FEWEST)?;
        chance("alpha", alpha)?;
        let plan = |first: usize| {
            let trials = growing(first, budget);
            let alpha = alpha / trials.len() as f64;
            Self { trials, alpha }
        };
        let decides = |plan: &Self| {
            let first = plan.trials[0];
            separation_by_chance(first, first) <= plan.alpha
        };
        Ok((FEWEST..budget).map(plan).find(decides).unwrap_or_else(|| plan(budget)))
    }

    /// The numbers of trials at which to compare, in rising order; the last is the budget.
    pub fn trials(&self) -> &[usize] {
        &self.trials
    }

    /// The alpha of each analysis: for [`crate::Rule::with_alpha`].
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

impl Rule {
    /// Compares pair by pair after each of some analyses: `pairs` are the pairs that there were at
    /// each, of `planned` analyses in all. What is said holds however these analyses decided on
    /// going on: the interval is that of one analysis, with the alpha of one; p-values are the
    /// smallest of any analysis that saw the effect on the same side, times the analyses planned.
    /// As long as the effect stays on its side they only fall, so that what a family of cells has
    /// decided ([`Rule::family`]) stays decided. Effect and interval are those of the last
    /// analysis, or of the one with the smallest p-value where that alone tells a difference.
    pub fn after_analyses(
        &self,
        treatment: &[f64],
        baseline: &[f64],
        pairs: &[usize],
        planned: usize,
    ) -> Result<Comparison, Error> {
        at_least("looks planned", planned, pairs.len().max(1))?;
        let analyses = planned as f64;
        let one_analysis = self.with_alpha(self.alpha() / analyses)?;
        let after_pairs = |n: usize| {
            let n = n.min(treatment.len()).min(baseline.len());
            one_analysis.paired(&treatment[..n], &baseline[..n])
        };
        let last = after_pairs(pairs.last().copied().unwrap_or(0))?;
        let mut after = last;
        // Early analyses may have had too few pairs that are ok.
        let earlier = pairs.iter().filter_map(|&n| after_pairs(n).ok());
        for analysis in earlier {
            let same_side = analysis.log_ratio.value.is_sign_positive()
                == last.log_ratio.value.is_sign_positive();
            if same_side && analysis.p_different < after.p_different {
                after.p_different = analysis.p_different;
                if last.log_ratio.interval.contains(0.0)
                    && !analysis.log_ratio.interval.contains(0.0)
                {
                    after.log_ratio = analysis.log_ratio;
                }
            }
            after.p_same = after.p_same.min(analysis.p_same);
        }
        after.p_different = (after.p_different * analyses).min(1.0);
        after.p_same = (after.p_same * analyses).min(1.0);
        Ok(after)
    }
}

/// Half as many more each time; a last step of less than a fifth is made together with the one
/// before.
fn growing(first: usize, budget: usize) -> Vec<usize> {
    let step = |&n: &usize| Some((n * 3).div_ceil(2)).filter(|next| next * 6 <= budget * 5);
    let mut trials: Vec<usize> = std::iter::successors(Some(first), step).collect();
    if first < budget {
        trials.push(budget);
    }
    trials
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        let plan = |budget, alpha| InterimAnalyses::plan(budget, alpha).unwrap().trials;
        assert_eq!(plan(30, 0.05), [4, 6, 9, 14, 21, 30]);
        assert_eq!(plan(100, 0.05), [5, 8, 12, 18, 27, 41, 62, 100]);
        assert_eq!(plan(10, 0.05), [4, 6, 10]);
        assert_eq!(plan(4, 0.05), [4]);
        assert_eq!(plan(3, 0.05), [3]);
        assert!(InterimAnalyses::plan(2, 0.05).is_err());
    }

    #[test]
    fn alpha_is_spent_once() {
        for budget in 3..300 {
            for alpha in [0.2, 0.05, 0.01, 0.001] {
                let analyses = InterimAnalyses::plan(budget, alpha).unwrap();
                assert!((analyses.alpha() * analyses.trials().len() as f64 - alpha).abs() < 1e-12);
                assert!(analyses.trials().windows(2).all(|pair| pair[0] < pair[1]), "{analyses:?}");
                assert_eq!(analyses.trials().last(), Some(&budget));
            }
        }
    }
}
