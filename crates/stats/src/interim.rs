//! Interim analyses: looks at the data while seeds are added, with a limited rate of false
//! verdicts.
//!
//! If a user tests at 5 % after each new seed, and stops at the first difference, false differences
//! on A/A data are far more frequent than 5 %: by 30 seeds more than a fifth (tests/simulation).
//! Here alpha is spent. Interim analyses are planned at a few numbers of trials, and each takes its
//! part of alpha (Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika
//! 1983).
//!
//! The parts are equal and add up (Bonferroni). So if a bound holds at one analysis for any
//! distribution, it holds over all of them without a further assumption. Stopping early or late, or
//! continuing for another cell's sake, costs nothing.
//!
//! A confidence sequence that is valid at every n for ever would be the alternative (Wang and
//! Ramdas, "Anytime-valid t-tests and confidence sequences for Gaussian means with unknown
//! variance", 2024). It pays for analyses that are never made. For 5 % its interval at 30 pairs is
//! 3.5 standard errors wide to each side. With six analyses up to 30 it is 2.8 here, and 2.05 with
//! one. Its guarantee is for normal data. And a budget is always known here.

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
    /// Plans analyses up to `budget` trials of a cell, which together give a false verdict with a
    /// chance of at most `alpha`. Each has about 1.5 times the trials of the one before. The first
    /// is at the number of trials from which the alpha of one analysis can decide at all
    /// ([`crate::comparison`]): at 5 % and a budget of 30, at 4 trials.
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

    /// Returns the numbers of trials of further analyses, if trials are added to `done` ones up to
    /// `budget`.
    pub fn later(done: usize, budget: usize) -> Vec<usize> {
        growing((done * 3).div_ceil(2).min(budget), budget)
    }

    /// Returns the numbers of trials at which to compare, in rising order; the last is the budget.
    pub fn trials(&self) -> &[usize] {
        &self.trials
    }

    /// Returns the alpha of each analysis, for [`crate::Rule::with_alpha`].
    pub fn alpha(&self) -> f64 {
        self.alpha
    }
}

/// An analysis of a record to which seeds were added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analysis {
    /// Number of pairs at the time of the analysis.
    pub pairs: usize,
    /// The part of alpha that the analysis may spend.
    pub share: f64,
}

/// Returns the part of alpha of each stage of a record. `stage` 0 is the first run, and each
/// extension that the user asked for after having seen the results is a stage of its own. A record
/// that was never extended spends all of alpha.
///
/// How often a user will extend a record is not known in advance. So each stage takes half of the
/// alpha that the stages before it left: 1/2, 1/4, 1/8, ... Whatever the number of extensions, and
/// however the user decides on them, a verdict of an extended record is false with a chance of at
/// most alpha (Bonferroni).
///
/// A user may take the verdict of the first stage at all of alpha, and extend only the cells that
/// it left open. The chance of a wrong verdict is then at most 1.5 alpha; tests/simulation has the
/// rates.
pub fn share_of_stage(stage: usize, stages: usize) -> f64 {
    if stages <= 1 { 1.0 } else { 0.5_f64.powf((stage.min(stages - 1) + 1) as f64) }
}

impl Rule {
    /// Compares pair by pair after each of some analyses, whose shares of alpha are at most 1
    /// together. The last analysis comes last. The guarantees hold however these analyses decided
    /// to continue. The interval is that of one analysis, with its share of alpha. A p-value is the
    /// smallest of any analysis that saw the effect on the same side, each divided by its share.
    ///
    /// As long as the effect stays on its side, p-values only fall. So the verdicts of a family of
    /// cells ([`Rule::family`]) stay decided. Effect and interval are those of the last analysis.
    /// If only the analysis with the smallest p-value excludes zero, they are those of that
    /// analysis.
    pub fn after_analyses(
        &self,
        treatment: &[f64],
        baseline: &[f64],
        analyses: &[Analysis],
    ) -> Result<Comparison, Error> {
        let after = |analysis: &Analysis| {
            let n = analysis.pairs.min(treatment.len()).min(baseline.len());
            self.spending(analysis.share, |rule| rule.paired(&treatment[..n], &baseline[..n]))
        };
        let last = after(analyses.last().unwrap_or(&Analysis { pairs: 0, share: 1.0 }))?;
        let mut found = last;
        // Early analyses may have had too few pairs that are ok.
        let earlier = analyses.iter().filter_map(|analysis| after(analysis).ok());
        for analysis in earlier {
            let same_side = analysis.log_ratio.value.is_sign_positive()
                == last.log_ratio.value.is_sign_positive();
            if same_side && analysis.p_different < found.p_different {
                found.p_different = analysis.p_different;
                if last.log_ratio.interval.contains(0.0)
                    && !analysis.log_ratio.interval.contains(0.0)
                {
                    (found.log_ratio, found.baseline) = (analysis.log_ratio, analysis.baseline);
                }
            }
            found.p_same = found.p_same.min(analysis.p_same);
        }
        Ok(found)
    }

    /// Returns a comparison that spends a share of alpha: its interval is at 1 - `share` alpha, and
    /// its p-values are divided by `share`.
    pub fn spending(
        &self,
        share: f64,
        compare: impl FnOnce(&Self) -> Result<Comparison, Error>,
    ) -> Result<Comparison, Error> {
        let mut found = compare(&self.with_alpha(self.alpha() * share)?)?;
        found.p_different = (found.p_different / share).min(1.0);
        found.p_same = (found.p_same / share).min(1.0);
        Ok(found)
    }
}

/// Returns the number of trials of the next analysis: half as many more.
pub(crate) fn growth(trials: usize) -> usize {
    (trials * 3).div_ceil(2)
}

/// Returns numbers of trials, each half as many more. If the last step is less than a fifth, it is
/// merged with the one before.
fn growing(first: usize, budget: usize) -> Vec<usize> {
    let step = |&n: &usize| Some(growth(n)).filter(|next| next * 6 <= budget * 5);
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
        assert_eq!(InterimAnalyses::later(30, 60), [45, 60]);
        assert_eq!(InterimAnalyses::later(5, 6), [6]);
    }

    #[test]
    fn stages_share_alpha_whatever_their_number() {
        assert_eq!(share_of_stage(0, 1), 1.0);
        for stages in 2..40 {
            let sum: f64 = (0..stages).map(|stage| share_of_stage(stage, stages)).sum();
            assert!(sum < 1.0 && sum > 0.7, "{stages}: {sum}");
            assert_eq!(share_of_stage(0, stages), 0.5, "a further stage changes no earlier one");
        }
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
