//! A gate for regressions: it decides whether anything got worse by more than allowed.

use crate::error::{above_zero, chance};
use crate::{Better, Correction, Error, Estimate, Finding, Interval};

/// The allowed regression, and the level of certainty. Both are chosen before the data are seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    alpha: f64,
    /// The log-ratio of the worst allowed result: below zero if higher is better.
    worst: f64,
    better: Better,
}

/// The test of one cell at the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateTest {
    /// `ln(treatment / baseline)`.
    pub log_ratio: Estimate,
    /// The p-value of "worse by the allowed amount or more": small if the cell is within the limit.
    pub p_within: f64,
    /// The p-value of "worse by at most the allowed amount": small if the cell is beyond the limit.
    pub p_beyond: f64,
}

/// The answer of the gate for one cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GateVerdict {
    /// The cell certainly got worse by less than the allowed amount, or not at all.
    Passed,
    /// The cell certainly got worse by more than the allowed amount.
    Regressed,
    /// Neither is certain; more seeds may decide.
    Undecided,
}

impl Gate {
    /// Returns a gate. `allowed` is the regression that is just too much, as a share: 0.03 for 3 %
    /// fewer IOPS, or 3 % more latency.
    pub fn new(alpha: f64, allowed: f64, better: Better) -> Result<Self, Error> {
        chance("alpha", alpha)?;
        above_zero("the allowed regression", allowed)?;
        let worst = match better {
            Better::Higher if allowed >= 1.0 => {
                return Err(Error::OutOfRange {
                    what: "the allowed regression",
                    value: allowed,
                    must: "below 1, for more than all cannot be lost",
                });
            }
            Better::Higher => (-allowed).ln_1p(),
            Better::Lower => allowed.ln_1p(),
        };
        Ok(Self { alpha, worst, better })
    }

    pub(crate) fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Returns the log-ratio of the worst allowed result.
    pub(crate) fn worst(&self) -> f64 {
        self.worst
    }

    /// Returns whether an effect is within the limit.
    pub(crate) fn is_within(&self, log_ratio: f64) -> bool {
        match self.better {
            Better::Higher => log_ratio > self.worst,
            Better::Lower => log_ratio < self.worst,
        }
    }

    /// Returns the alpha for choosing the method of a [`Finding`], if `cells` cells are tested
    /// together: that of the strictest step of [`Self::family`].
    pub fn least_alpha(&self, cells: usize) -> f64 {
        self.alpha / cells.max(1) as f64
    }

    /// Tests one cell.
    pub fn test(&self, finding: &Finding) -> Result<GateTest, Error> {
        let tails = finding.tails(self.worst);
        let (p_within, p_beyond) = match self.better {
            Better::Higher => (tails.greater, tails.less),
            Better::Lower => (tails.less, tails.greater),
        };
        let interval = finding.interval(2.0 * self.alpha)?;
        let log_ratio = Estimate { value: finding.estimate(), interval };
        Ok(GateTest { log_ratio, p_within, p_beyond })
    }

    /// Returns the verdict on a cell whose values may differ by `noise`, a log-ratio above zero,
    /// between two measurements of the same. Its interval has to be at that distance from the
    /// limit.
    pub fn allow_for_noise(
        &self,
        verdict: GateVerdict,
        test: &GateTest,
        noise: f64,
    ) -> GateVerdict {
        let Interval { low, high } = test.log_ratio.interval;
        let (worst, best) = match self.better {
            Better::Higher => (low - noise - self.worst, high + noise - self.worst),
            Better::Lower => (self.worst - high - noise, self.worst - low + noise),
        };
        match verdict {
            GateVerdict::Passed if worst <= 0.0 => GateVerdict::Undecided,
            GateVerdict::Regressed if best >= 0.0 => GateVerdict::Undecided,
            other => other,
        }
    }

    /// Returns the verdicts on all cells together. If some cell did get worse by the allowed amount
    /// or more, the chance that all pass is at most alpha, without a correction. The reason is that
    /// each such cell alone would have to pass wrongly (Berger, "Multiparameter hypothesis testing
    /// and acceptance sampling", Technometrics 1982). The chance of any wrong regression is at most
    /// alpha (Holm).
    pub fn family(&self, cells: &[GateTest]) -> Result<Vec<GateVerdict>, Error> {
        let beyond = Correction::Holm.adjust(cells.iter().map(|cell| cell.p_beyond))?;
        let verdict = |(cell, beyond): (&GateTest, &f64)| {
            if cell.p_within <= self.alpha {
                GateVerdict::Passed
            } else if *beyond <= self.alpha {
                GateVerdict::Regressed
            } else {
                GateVerdict::Undecided
            }
        };
        Ok(cells.iter().zip(&beyond).map(verdict).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(better: Better, factor: f64) -> GateVerdict {
        let baseline: Vec<f64> = (0..8).map(|seed| 1000.0 + f64::from(seed)).collect();
        // The noise is a tenth of a per cent at any factor.
        let noise = |seed: usize| 1.0 + 0.001 * (seed as f64 - 3.5) / 3.5;
        let treatment: Vec<f64> =
            baseline.iter().enumerate().map(|(seed, value)| value * factor * noise(seed)).collect();
        let gate = Gate::new(0.05, 0.03, better).unwrap();
        let finding = Finding::paired(&treatment, &baseline, gate.least_alpha(1)).unwrap();
        gate.family(&[gate.test(&finding).unwrap()]).unwrap()[0]
    }

    #[test]
    fn each_side_of_the_gate() {
        for (factor, expected) in [
            (1.2, GateVerdict::Passed),
            (1.0, GateVerdict::Passed),
            (0.98, GateVerdict::Passed),
            (0.97, GateVerdict::Undecided),
            (0.96, GateVerdict::Regressed),
            (0.5, GateVerdict::Regressed),
        ] {
            assert_eq!(verdict(Better::Higher, factor), expected, "{factor}");
        }
        for (factor, expected) in [
            (0.5, GateVerdict::Passed),
            (1.02, GateVerdict::Passed),
            (1.03, GateVerdict::Undecided),
            (1.04, GateVerdict::Regressed),
        ] {
            assert_eq!(verdict(Better::Lower, factor), expected, "{factor}");
        }
    }

    #[test]
    fn noise_keeps_a_cell_from_both_sides() {
        let cell = |low: f64, high: f64| GateTest {
            log_ratio: Estimate {
                value: f64::midpoint(low, high),
                interval: Interval { low, high },
            },
            p_within: 0.0,
            p_beyond: 0.0,
        };
        let higher = Gate::new(0.05, 0.03, Better::Higher).unwrap();
        let same = cell(-0.005, 0.005);
        assert_eq!(higher.allow_for_noise(GateVerdict::Passed, &same, 0.02), GateVerdict::Passed);
        assert_eq!(
            higher.allow_for_noise(GateVerdict::Passed, &same, 0.03),
            GateVerdict::Undecided
        );
        assert_eq!(
            higher.allow_for_noise(GateVerdict::Passed, &cell(0.1, 0.2), 0.05),
            GateVerdict::Passed,
            "much better"
        );
        let worse = cell(-0.06, -0.05);
        assert_eq!(
            higher.allow_for_noise(GateVerdict::Regressed, &worse, 0.01),
            GateVerdict::Regressed
        );
        assert_eq!(
            higher.allow_for_noise(GateVerdict::Regressed, &worse, 0.03),
            GateVerdict::Undecided
        );
        let lower = Gate::new(0.05, 0.03, Better::Lower).unwrap();
        assert_eq!(lower.allow_for_noise(GateVerdict::Passed, &same, 0.02), GateVerdict::Passed);
        assert_eq!(lower.allow_for_noise(GateVerdict::Passed, &same, 0.03), GateVerdict::Undecided);
        assert_eq!(
            lower.allow_for_noise(GateVerdict::Regressed, &cell(0.05, 0.06), 0.01),
            GateVerdict::Regressed
        );
        assert_eq!(
            lower.allow_for_noise(GateVerdict::Regressed, &cell(0.05, 0.06), 0.03),
            GateVerdict::Undecided
        );
        assert_eq!(
            higher.allow_for_noise(GateVerdict::Undecided, &cell(0.1, 0.2), 0.0),
            GateVerdict::Undecided
        );
    }

    #[test]
    fn many_cells_want_more_to_be_called_regressions_and_no_more_to_pass() {
        let gate = Gate::new(0.05, 0.03, Better::Higher).unwrap();
        let test = |p_within, p_beyond| GateTest {
            log_ratio: Estimate { value: 0.0, interval: Interval::UNBOUNDED },
            p_within,
            p_beyond,
        };
        let cells = [test(0.04, 0.96), test(0.97, 0.03), test(0.999, 0.001)];
        assert_eq!(
            gate.family(&cells).unwrap(),
            [GateVerdict::Passed, GateVerdict::Undecided, GateVerdict::Regressed]
        );
        assert_eq!(gate.least_alpha(4), 0.0125);
        assert!(
            Gate::new(0.05, 1.0, Better::Higher).is_err()
                && Gate::new(0.05, 1.0, Better::Lower).is_ok()
        );
        assert!(Gate::new(0.05, 0.0, Better::Lower).is_err());
    }
}
