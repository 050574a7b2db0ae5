//! How many trials of each cell would decide what is open.
//!
//! For planning, and no test: if the effect is what it was estimated to be, and single trials
//! spread as the interval says, a run of so many trials, planned before it begins, gives a verdict
//! in four of five cases. By the normal theory of the t-test (Cohen, "Statistical Power Analysis",
//! 1988, chapter 2), whatever the method of the comparison:
//!
//! ```text
//! s = h / (t(1 - a/2) c)             h: half the width of the interval at 1 - a;
//!                                    c: 1 / sqrt(n), or sqrt(1/n + 1/m) unpaired
//! n = k ((t(1 - b/2) + t(p)) s / d)^2    rounded up; k = 1, or 2 unpaired
//! ```
//!
//! For a difference d is the effect, p = 0.8; for the same d is how far the effect is within the
//! smallest effect of interest, p = 0.9, since either side may fail. An interval that is no wider
//! than the smallest effect of interest decides wherever it is: d is then half of that, p = 0.5.
//! What takes the fewest trials counts. b is the alpha that this cell would be held to among the
//! others if their verdicts stay: alpha (k + 1) / m for the share of wrong verdicts (Benjamini and
//! Hochberg), alpha / (m - k) for any (Holm), with k of m decided in that way.
//!
//! Effect and spread are known only roughly from few trials, and so is this: tests/simulation has
//! how often a run that was planned in this way decides.

use crate::comparison::FEWEST;
use crate::distribution::{normal_quantile, t_critical};
use crate::{Comparison, Correction, Error, Rule, Verdict};

/// The chance that so many trials decide.
pub const PLANNED_POWER: f64 = 0.8;
/// A number of trials beyond any run.
const MOST: f64 = 1e9;
/// The number of trials from which on t is normal, to three digits.
const NORMAL: f64 = 1e4;

impl Rule {
    /// Returns, for each cell that a family ([`Rule::family`]) leaves undecided, so many trials, or
    /// pairs where it is paired. `None` for the others, and where nothing can be said: the interval
    /// is unbounded. `analyses`: how many were planned for these comparisons
    /// ([`Rule::after_analyses`]); 1 without.
    pub fn trials_to_decide(
        &self,
        cells: &[Comparison],
        correction: Correction,
        analyses: usize,
    ) -> Result<Vec<Option<usize>>, Error> {
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
            Verdict::Undecided => self.trials_for(cell, analyses, levels),
            Verdict::Better | Verdict::Worse | Verdict::Same => None,
        };
        Ok(cells.iter().zip(verdicts).map(needed).collect())
    }

    /// The trials that decide one cell, at the levels of a difference and of sameness.
    fn trials_for(
        &self,
        cell: &Comparison,
        analyses: usize,
        (different, same): (f64, f64),
    ) -> Option<usize> {
        let sd = standard_deviation(cell, self.alpha() / analyses.max(1) as f64)?;
        let paired = cell.method.is_paired();
        let effect = cell.log_ratio.value.abs();
        let difference = trials(paired, sd / effect, different, PLANNED_POWER);
        let sameness = if effect < self.margin() {
            let power = f64::midpoint(1.0, PLANNED_POWER);
            trials(paired, sd / (self.margin() - effect), same, power)
        } else {
            f64::INFINITY
        };
        let either = trials(paired, 2.0 * sd / self.margin(), different.min(same), 0.5);
        let enough = difference.min(sameness).min(either);
        let more = cell.trials.0.max(cell.trials.1) + 1;
        (enough <= MOST).then(|| (enough as usize).max(more))
    }
}

/// The standard deviation that a t-interval of this width at 1 - `alpha` has: that of log-ratios of
/// pairs, or of the logarithms within a cell.
fn standard_deviation(cell: &Comparison, alpha: f64) -> Option<f64> {
    let (left, right) = (cell.trials.0 as f64, cell.trials.1 as f64);
    let (degrees, error) = if cell.method.is_paired() {
        (left - 1.0, left.recip().sqrt())
    } else {
        (left + right - 2.0, (left.recip() + right.recip()).sqrt())
    };
    let separation = cell.method.separation(cell.trials) / 2.0;
    let interval = cell.log_ratio.interval;
    let half = (interval.high - interval.low) / 2.0;
    let sd = half / (t_critical((alpha - separation) / 2.0, degrees) * error);
    sd.is_finite().then_some(sd)
}

/// The trials of each cell with which an effect of one by `relative` standard deviations is found
/// at `alpha` with a chance of `power`. The quantiles depend on the number, which is approached
/// from below.
fn trials(paired: bool, relative: f64, alpha: f64, power: f64) -> f64 {
    let sides = if paired { 1.0 } else { 2.0 };
    let needed = |quantiles: f64| (sides * (quantiles * relative).powi(2)).ceil();
    let mut n = needed(normal_quantile(1.0 - alpha / 2.0) + normal_quantile(power));
    // Fewer decide nothing: chance alone puts them on one side.
    let least = (2.0 / alpha).log(4.0).ceil().max(FEWEST as f64);
    n = n.max(least);
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
        }
    }

    /// Half the width of an interval at 95 % of `n` pairs that spread by `sd`.
    fn half(n: usize, sd: f64) -> f64 {
        t_critical(0.025, n as f64 - 1.0) * sd / (n as f64).sqrt()
    }

    fn needed(rule: Rule, cell: Comparison) -> Option<usize> {
        rule.trials_to_decide(&[cell], Correction::Holm, 1).unwrap()[0]
    }

    #[test]
    fn nothing_is_planned_where_nothing_is_known_and_more_where_more_are_held_together() {
        let rule = Rule::new(0.05, 0.02, Better::Higher).unwrap();
        let open = cell(8, 0.05, half(8, 0.1));
        let unbounded = Estimate { value: 0.05, interval: Interval::UNBOUNDED };
        assert_eq!(needed(rule, Comparison { log_ratio: unbounded, ..open }), None);
        let alone = needed(rule, open).unwrap();
        let among = rule.trials_to_decide(&[open; 20], Correction::Holm, 1).unwrap()[0].unwrap();
        let sure = Comparison { p_different: 1e-9, ..open };
        let after: Vec<_> = std::iter::once(open).chain([sure; 19]).collect();
        let after =
            rule.trials_to_decide(&after, Correction::BenjaminiHochberg, 1).unwrap()[0].unwrap();
        assert!(among > alone && after == alone, "{alone}, {among}, {after}");
        // No effect: it is the same that will be said, of however small a spread.
        assert_eq!(needed(rule, cell(8, 0.0, 0.0)), Some(9));
        assert_eq!(needed(rule, Comparison { p_different: 1e-9, ..open }), None, "it is decided");
    }
}
