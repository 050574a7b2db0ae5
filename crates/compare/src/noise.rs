//! The difference between two measurements of the same trial on this machine, from trials that were
//! measured twice in one run.

use disklab_stats::{Better, Rule, log_ratios, percent};
use disklab_units::prose::count;
use serde::Serialize;

use crate::answer;
use crate::decision::DecisionRule;
use crate::matching::RepeatedTrial;
use crate::metric::Metric;

/// Least number of pairs for an interval.
const FEWEST: usize = 3;

/// Noise: the change that two measurements of the same trial may show.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// The end of the interval, farther from zero, of the change from the first measurements to the
    /// second. With fewer than three pairs, it is the greatest change of any.
    pub percent: f64,
    pub pairs: usize,
}

impl Noise {
    /// Computes the noise. Returns `None` if nothing was measured twice.
    pub fn measured(trials: &[RepeatedTrial], metric: &Metric, rule: DecisionRule) -> Option<Self> {
        let value = |outcome| metric.value_in(outcome).filter(|value| *value > 0.0);
        let both =
            trials.iter().filter_map(|(first, second)| Some((value(first)?, value(second)?)));
        let (first, second): (Vec<f64>, Vec<f64>) = both.unzip();
        let greatest =
            log_ratios(&second, &first).ok()?.into_iter().map(f64::abs).reduce(f64::max)?;
        let rule = Rule::new(rule.alpha, rule.smallest_effect, Better::Higher).ok()?;
        let interval = (first.len() >= FEWEST).then(|| rule.paired(&second, &first).ok()).flatten();
        let ends = interval.map(|comparison| comparison.log_ratio.interval);
        let farthest = ends.map(|ends| ends.low.abs().max(ends.high.abs()));
        let size = farthest.filter(|size| size.is_finite()).unwrap_or(greatest);
        Some(Self { percent: percent(size), pairs: first.len() })
    }

    /// Returns true if a change (in per cent) is within the noise.
    pub fn hides(self, change: f64) -> bool {
        answer::size(change) <= answer::size(self.percent)
    }

    /// Formats the noise: `0.84 %, by 5 pairs`.
    pub fn in_words(self) -> String {
        format!("{:.2} %, by {}", self.percent, count(self.pairs, "pair"))
    }
}
