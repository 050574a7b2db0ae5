//! Plans how many trials of each cell would decide the open ones.
//!
//! The number is for planning, and no test. It assumes that the effect is as estimated, and that
//! single trials spread as before. Then a record that trials are added to, up to this number, has a
//! verdict in four of five cases. The number follows from the normal theory of the t-test (Cohen,
//! "Statistical Power Analysis", 1988, chapter 2), whatever the method of the comparison:
//!
//! ```text
//! s = h / (t(1 - a/2) c)             h: half the width of the interval at 1 - a;
//!                                    c: 1 / sqrt(n), or sqrt(1/n + 1/m) unpaired
//! n = k ((t(1 - b/2) + t(p)) s / d)^2    rounded up; k = 1, or 2 unpaired
//! ```
//!
//! The smallest of three numbers of trials counts. For a difference, d is the effect, and p = 0.8.
//! For the same, d is how far the effect is within the smallest effect of interest, and p = 0.9,
//! since either side may fail. An interval that is no wider than the smallest effect of interest
//! decides wherever it is: d is then half of that, and p = 0.5.
//!
//! b is this cell's alpha among the other cells if their verdicts stay. Let k of m cells be decided
//! in that way. For the share of wrong verdicts (Benjamini and Hochberg) it is alpha (k + 1) / m,
//! for any (Holm) alpha / (m - k). Of that it is the part that an extended record has
//! ([`crate::share_of_stage`]).
//!
//! At least half as many trials again are added, because fewer seldom turn a verdict that was just
//! open. A single trial shows no spread: n is then the least number with which anything is decided
//! at b.
//!
//! With few trials, effect and spread are known only roughly, and so is the number.
//! tests/simulation has how often a run that was planned in this way decides.

use crate::comparison::FEWEST;
use crate::distribution::{normal_quantile, t_critical};
use crate::interim::growth;
use crate::{Comparison, Correction, Error, Finding, Gate, GateTest, Rule, Verdict};

/// The chance that the planned trials decide.
pub const PLANNED_POWER: f64 = 0.8;
/// A number of trials beyond any run.
const MOST: f64 = 1e9;
/// The number of trials from which on t is normal, to three digits.
const NORMAL: f64 = 1e4;

/// The trials that would decide an undecided cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrialsNeeded {
    /// Total number of trials of each side, or of pairs.
    pub trials: usize,
    /// Whether the spread is unknown. Fewer trials then decide nothing, and this number may or may
    /// not decide.
    pub at_least: bool,
    /// Whether the existing trials can decide nothing among these cells, whatever their values.
    pub too_few: bool,
}

impl Rule {
    /// Returns the trials for each cell that a family ([`Rule::family`]) leaves undecided. The
    /// entry is `None` for any other cell, and for a number beyond any run. `shares` are the parts
    /// of alpha of these comparisons ([`Rule::spending`]) and of those that come when trials are
    /// added.
    pub fn trials_to_decide(
        &self,
        cells: &[Comparison],
        correction: Correction,
        shares: (f64, f64),
    ) -> Result<Vec<Option<TrialsNeeded>>, Error> {
        let level = |p_value: fn(&Comparison) -> f64| -> Result<f64, Error> {
            let adjusted = correction.adjust(cells.iter().map(p_value))?;
            let decided = adjusted.iter().filter(|p| **p <= self.alpha()).count();
            let (decided, all) = (decided as f64, cells.len() as f64);
            Ok(match correction {
                Correction::BenjaminiHochberg => self.alpha() * ((decided + 1.0) / all).min(1.0),
                Correction::Holm => self.alpha() / (all - decided).max(1.0),
            })
        };
        let levels = (level(|cell| cell.p_different)?, level(|cell| cell.p_same)?);
        let verdicts = self.family(cells, correction)?;
        let needed = |(cell, verdict): (&Comparison, Verdict)| match verdict {
            Verdict::Undecided => self.trials_for(cell, shares, levels),
            Verdict::Better | Verdict::Worse | Verdict::Same => None,
        };
        Ok(cells.iter().zip(verdicts).map(needed).collect())
    }

    /// Returns the trials that decide one cell, at the levels of a difference and of sameness.
    fn trials_for(
        &self,
        cell: &Comparison,
        (share, next): (f64, f64),
        (different, same): (f64, f64),
    ) -> Option<TrialsNeeded> {
        let paired = cell.method.is_paired();
        let too_few = cell.method.least_p(cell.trials) / share > different.max(same);
        let (different, same) = (different * next, same * next);
        let effect = cell.log_ratio.value.abs();
        let enough = cell.spread.map_or(least(different.max(same)), |sd| {
            let difference = trials(paired, sd / effect, different, PLANNED_POWER);
            let sameness = if effect < self.margin() {
                let power = f64::midpoint(1.0, PLANNED_POWER);
                trials(paired, sd / (self.margin() - effect), same, power)
            } else {
                f64::INFINITY
            };
            let either = trials(paired, 2.0 * sd / self.margin(), different.min(same), 0.5);
            difference.min(sameness).min(either)
        });
        TrialsNeeded::plan(enough, cell.trials, cell.spread, too_few)
    }
}

impl Gate {
    /// Returns the trials for a cell that the gate leaves undecided, among `cells`. They are for
    /// passing if the effect is within the limit, and for a regression if it is beyond. `next` is
    /// the part of this gate's alpha that is left when trials are added.
    pub fn trials_to_decide(
        &self,
        test: &GateTest,
        finding: &Finding,
        cells: usize,
        next: f64,
    ) -> Result<Option<TrialsNeeded>, Error> {
        let (trials, method) = (finding.trials(), finding.method());
        // These are the two-sided levels of one-sided tests.
        let pass = 2.0 * self.alpha();
        let regress = pass / cells.max(1) as f64;
        let too_few = method.least_p(trials) > pass.max(regress);
        let off = test.log_ratio.value - self.worst();
        let level = if self.is_within(test.log_ratio.value) { pass } else { regress };
        let level = level * next;
        let spread = finding.spread(self.alpha())?;
        let enough = spread.map_or(least(level), |sd| {
            self::trials(method.is_paired(), sd / off.abs(), level, PLANNED_POWER)
        });
        Ok(TrialsNeeded::plan(enough, trials, spread, too_few))
    }
}

impl TrialsNeeded {
    /// Returns the plan, or `None` if `enough` is beyond any run.
    fn plan(
        enough: f64,
        trials: (usize, usize),
        spread: Option<f64>,
        too_few: bool,
    ) -> Option<Self> {
        // Fewer additional trials seldom turn a verdict that was just open.
        let trials = (enough as usize).max(growth(trials.0.max(trials.1)));
        (enough <= MOST).then_some(Self { trials, at_least: spread.is_none(), too_few })
    }
}

/// Returns the fewest trials of each cell that decide anything at `alpha`: by chance alone, fewer
/// are all on one side.
fn least(alpha: f64) -> f64 {
    (2.0 / alpha).log(4.0).ceil().max(FEWEST as f64)
}

/// Returns the trials of each cell that find an effect at `alpha` with a chance of `power`.
/// `relative` is the standard deviation divided by the effect. The quantiles depend on the number,
/// which is approached from below.
fn trials(paired: bool, relative: f64, alpha: f64, power: f64) -> f64 {
    let sides = if paired { 1.0 } else { 2.0 };
    let needed = |quantiles: f64| (sides * (quantiles * relative).powi(2)).ceil();
    let mut n = needed(normal_quantile(1.0 - alpha / 2.0) + normal_quantile(power));
    n = n.max(least(alpha));
    for _ in 0..20 {
        if n > NORMAL {
            break;
        }
        let degrees = sides * (n - 1.0);
        let next = needed(t_critical(alpha / 2.0, degrees) + t_critical(1.0 - power, degrees));
        if next <= n {
            break;
        }
        n = next;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Better, Estimate, Interval, Method};

    fn cell(n: usize, value: f64, half: f64) -> Comparison {
        let interval = Interval { low: value - half, high: value + half };
        Comparison {
            method: Method::PairedRanks,
            trials: (n, n),
            log_ratio: Estimate { value, interval },
            p_different: 0.5,
            p_same: 0.5,
            verdict: Verdict::Undecided,
            baseline: 0.0,
            spread: Some(half / half_of(n, 1.0)),
        }
    }

    /// Returns half the width of an interval at 95 % of `n` pairs that spread by `sd`.
    fn half_of(n: usize, sd: f64) -> f64 {
        t_critical(0.025, n as f64 - 1.0) * sd / (n as f64).sqrt()
    }

    fn needed(rule: Rule, cells: &[Comparison], correction: Correction) -> Option<TrialsNeeded> {
        rule.trials_to_decide(cells, correction, (1.0, 0.25)).unwrap()[0]
    }

    #[test]
    fn more_trials_are_planned_where_more_are_held_together() {
        let rule = Rule::new(0.05, 0.02, Better::Higher).unwrap();
        let open = cell(8, 0.05, half_of(8, 0.1));
        let holm = |cells: &[Comparison]| needed(rule, cells, Correction::Holm);
        let alone = holm(&[open]).unwrap();
        let among = holm(&[open; 20]).unwrap();
        let sure = Comparison { p_different: 1e-9, ..open };
        let after: Vec<_> = std::iter::once(open).chain([sure; 19]).collect();
        let after = needed(rule, &after, Correction::BenjaminiHochberg).unwrap();
        assert!(among.trials > alone.trials && after == alone, "{alone:?}, {among:?}, {after:?}");
        // Without an effect the verdict will be the same, however small the spread.
        assert_eq!(holm(&[cell(8, 0.0, 0.0)]).unwrap().trials, 12);
        assert_eq!(holm(&[Comparison { p_different: 1e-9, ..open }]), None, "it is decided");
        // Another analysis takes its part of alpha.
        let looked = rule.trials_to_decide(&[open], Correction::Holm, (0.25, 0.125)).unwrap();
        assert!(looked[0].unwrap().trials > alone.trials, "{looked:?}");
    }

    #[test]
    fn a_gate_plans_for_the_side_on_which_a_cell_is() {
        let gate = Gate::new(0.05, 0.03, Better::Higher).unwrap();
        let needed = |values: &[f64], cells: usize| {
            let finding =
                Finding::paired(values, &vec![1.0; values.len()], gate.least_alpha(cells)).unwrap();
            let test = gate.test(&finding).unwrap();
            gate.trials_to_decide(&test, &finding, cells, 0.25).unwrap()
        };
        let plan = |trials, at_least, too_few| Some(TrialsNeeded { trials, at_least, too_few });
        assert_eq!(needed(&[1.0], 1), plan(4, true, true));
        let near = needed(&[0.97, 1.02, 0.96, 1.03], 1).unwrap();
        let far = needed(&[1.07, 1.12, 1.06, 1.13], 1).unwrap();
        assert!(near.trials > far.trials && !near.too_few, "{near:?} {far:?}");
        let worse = |cells| needed(&[0.94, 0.98, 0.93, 0.99], cells).unwrap().trials;
        assert!(worse(9) > worse(1), "{} {}", worse(9), worse(1));
    }

    #[test]
    fn too_few_are_those_that_no_values_would_decide() {
        let rule = Rule::new(0.05, 0.02, Better::Higher).unwrap();
        let values = |n: usize| -> (Vec<f64>, Vec<f64>) {
            ((0..n).map(|at| [0.5, 3.0][at % 2]).collect(), vec![1.0; n])
        };
        let family = |n: usize, cells: usize| {
            let (treatment, baseline) = values(n);
            let rule = rule.among(cells);
            let cell = rule.paired(&treatment, &baseline).unwrap();
            needed(rule, &vec![cell; cells], Correction::BenjaminiHochberg).unwrap()
        };
        let plan = |trials, at_least, too_few| TrialsNeeded { trials, at_least, too_few };
        // One trial has no spread, so only the least number at a quarter of 5 % is known.
        assert_eq!(family(1, 1), plan(4, true, true));
        assert_eq!(family(1, 27), plan(7, true, true));
        assert!(family(2, 1).too_few && !family(2, 1).at_least);
        assert!(!family(3, 1).too_few && family(3, 27).too_few && family(5, 27).too_few);
        assert!(!family(6, 27).too_few);
        let decided = |n: usize| {
            let rule = rule.among(27);
            let cells = vec![rule.paired(&vec![2.0; n], &vec![1.0; n]).unwrap(); 27];
            rule.family(&cells, Correction::BenjaminiHochberg).unwrap()[0]
        };
        assert_eq!((decided(2), decided(3)), (Verdict::Undecided, Verdict::Better));
    }
}
