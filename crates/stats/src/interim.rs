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

    /// Plans the numbers of trials of further analyses, when trials are added to `done` ones up to
    /// `budget`.
    pub fn later(done: usize, budget: usize) -> Vec<usize> {
        growing((done * 3).div_ceil(2).min(budget), budget)
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

/// An analysis of a record to which seeds were added.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Analysis {
    /// The pairs that there were.
    pub pairs: usize,
    /// The part of alpha that it may spend.
    pub share: f64,
}

/// The part of alpha of each stage of a record: `stage` 0 is what was run first, and each extension
/// that the user asked for after having seen the results is a stage of its own. A record that was
/// never extended spends all of alpha.
///
/// How often a user will extend a record is not known in advance, so each stage takes half of what
/// the stages before it left: 1/2, 1/4, 1/8, ... Whatever the number of extensions, and however the
/// user decides on them, a verdict of an extended record is false with a chance of at most alpha
/// (Bonferroni). A user who takes the verdict of the first stage at all of alpha, and extends only
/// what it left open, is wrong with a chance of at most 1.5 alpha; tests/simulation has the rates.
pub fn share_of_stage(stage: usize, stages: usize) -> f64 {
    if stages <= 1 { 1.0 } else { 0.5_f64.powf((stage.min(stages - 1) + 1) as f64) }
}

impl Rule {
    /// Compares pair by pair after each of some analyses, the last one last, whose shares of alpha
    /// are at most 1 together. What is said holds however these analyses decided on going on: the
    /// interval is that of one analysis, with its share of alpha; p-values are the smallest of any
    /// analysis that saw the effect on the same side, each divided by its share. As long as the
    /// effect stays on its side they only fall, so that what a family of cells has decided
    /// ([`Rule::family`]) stays decided. Effect and interval are those of the last analysis, or of
    /// the one with the smallest p-value where that alone tells a difference.
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

    /// A comparison that spends a share of alpha: its interval is at 1 - `share` alpha, and its
    /// p-values are divided by `share`.
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

/// The trials of the next analysis: half as many more.
pub(crate) fn growth(trials: usize) -> usize {
    (trials * 3).div_ceil(2)
}

/// Half as many more each time; a last step of less than a fifth is made together with the one
/// before.
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
