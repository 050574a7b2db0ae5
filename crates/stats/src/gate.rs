//! Did anything get worse by more than is allowed?

use crate::error::{above_zero, chance};
use crate::{Better, Correction, Error, Estimate, Finding, Interval};

/// What may get worse by how much, and how certain the answer has to be. Chosen before the data are
/// seen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Gate {
    alpha: f64,
    /// The log-ratio of the worst that is allowed: below zero where higher is better.
    worst: f64,
    better: Better,
}

/// A cell at the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Crossing {
    /// `ln(treatment / baseline)`.
    pub log_ratio: Estimate,
    /// Small where it is not worse by as much as is allowed.
    pub p_within: f64,
    /// Small where it is worse by more than is allowed.
    pub p_beyond: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    /// It is certain that it did not get worse by as much as is allowed.
    Passed,
    /// It is certain that it got worse by more than is allowed.
    Regressed,
    /// Neither; more seeds may tell.
    Undecided,
}

impl Gate {
    /// `allowed`: the regression that is just too much, as a share: 0.03 for 3 % fewer IOPS, or 3 %
    /// more latency.
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

    /// For how small an alpha the method of a [`Finding`] is to be chosen, where so many cells
    /// stand at the gate: that of the strictest step of [`Self::family`].
    pub fn least_alpha(&self, cells: usize) -> f64 {
        self.alpha / cells.max(1) as f64
    }

    pub fn cross(&self, finding: &Finding) -> Result<Crossing, Error> {
        let tails = finding.tails(self.worst);
        let (p_within, p_beyond) = match self.better {
            Better::Higher => (tails.greater, tails.less),
            Better::Lower => (tails.less, tails.greater),
        };
        let interval = finding.interval(2.0 * self.alpha)?;
        Ok(Crossing {
            log_ratio: Estimate { value: finding.estimate(), interval },
            p_within,
            p_beyond,
        })
    }

    /// The same of a cell whose values may differ by as much as `noise` between two measurements of
    /// the same, a log-ratio above zero: its interval has to be clear of the gate by as much.
    pub fn heed(&self, passage: Passage, crossing: &Crossing, noise: f64) -> Passage {
        let Interval { low, high } = crossing.log_ratio.interval;
        let (worst, best) = match self.better {
            Better::Higher => (low - noise - self.worst, high + noise - self.worst),
            Better::Lower => (self.worst - high - noise, self.worst - low + noise),
        };
        match passage {
            Passage::Passed if worst <= 0.0 => Passage::Undecided,
            Passage::Regressed if best >= 0.0 => Passage::Undecided,
            other => other,
        }
    }

    /// All cells together. If some did get worse by as much as is allowed or more, the chance that
    /// all pass is at most alpha, with no correction: each of those alone would have to be taken
    /// for sound (Berger, "Multiparameter hypothesis testing and acceptance sampling",
    /// Technometrics 1982). The chance that any is wrongly called a regression is at most alpha
    /// (Holm).
    pub fn family(&self, cells: &[Crossing]) -> Result<Vec<Passage>, Error> {
        let beyond: Vec<f64> = cells.iter().map(|cell| cell.p_beyond).collect();
        let beyond = Correction::Holm.adjust(&beyond)?;
        let passage = |(cell, beyond): (&Crossing, &f64)| {
            if cell.p_within <= self.alpha {
                Passage::Passed
            } else if *beyond <= self.alpha {
                Passage::Regressed
            } else {
                Passage::Undecided
            }
        };
        Ok(cells.iter().zip(&beyond).map(passage).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passage(better: Better, factor: f64) -> Passage {
        let baseline: Vec<f64> = (0..8).map(|seed| 1000.0 + f64::from(seed)).collect();
        // The same noise of a tenth of a per cent at any factor.
        let noise = |seed: usize| 1.0 + 0.001 * (seed as f64 - 3.5) / 3.5;
        let treatment: Vec<f64> =
            baseline.iter().enumerate().map(|(seed, value)| value * factor * noise(seed)).collect();
        let gate = Gate::new(0.05, 0.03, better).unwrap();
        let finding = Finding::paired(&treatment, &baseline, gate.least_alpha(1)).unwrap();
        gate.family(&[gate.cross(&finding).unwrap()]).unwrap()[0]
    }

    #[test]
    fn each_side_of_the_gate() {
        for (factor, expected) in [
            (1.2, Passage::Passed),
            (1.0, Passage::Passed),
            (0.98, Passage::Passed),
            (0.97, Passage::Undecided),
            (0.96, Passage::Regressed),
            (0.5, Passage::Regressed),
        ] {
            assert_eq!(passage(Better::Higher, factor), expected, "{factor}");
        }
        for (factor, expected) in [
            (0.5, Passage::Passed),
            (1.02, Passage::Passed),
            (1.03, Passage::Undecided),
            (1.04, Passage::Regressed),
        ] {
            assert_eq!(passage(Better::Lower, factor), expected, "{factor}");
        }
    }

    #[test]
    fn noise_keeps_a_cell_from_both_sides() {
        let cell = |low: f64, high: f64| Crossing {
            log_ratio: Estimate {
                value: f64::midpoint(low, high),
                interval: Interval { low, high },
            },
            p_within: 0.0,
            p_beyond: 0.0,
        };
        let higher = Gate::new(0.05, 0.03, Better::Higher).unwrap();
        let same = cell(-0.005, 0.005);
        assert_eq!(higher.heed(Passage::Passed, &same, 0.02), Passage::Passed);
        assert_eq!(higher.heed(Passage::Passed, &same, 0.03), Passage::Undecided);
        assert_eq!(
            higher.heed(Passage::Passed, &cell(0.1, 0.2), 0.05),
            Passage::Passed,
            "much better"
        );
        let worse = cell(-0.06, -0.05);
        assert_eq!(higher.heed(Passage::Regressed, &worse, 0.01), Passage::Regressed);
        assert_eq!(higher.heed(Passage::Regressed, &worse, 0.03), Passage::Undecided);
        let lower = Gate::new(0.05, 0.03, Better::Lower).unwrap();
        assert_eq!(lower.heed(Passage::Passed, &same, 0.02), Passage::Passed);
        assert_eq!(lower.heed(Passage::Passed, &same, 0.03), Passage::Undecided);
        assert_eq!(lower.heed(Passage::Regressed, &cell(0.05, 0.06), 0.01), Passage::Regressed);
        assert_eq!(lower.heed(Passage::Regressed, &cell(0.05, 0.06), 0.03), Passage::Undecided);
        assert_eq!(higher.heed(Passage::Undecided, &cell(0.1, 0.2), 0.0), Passage::Undecided);
    }

    #[test]
    fn many_cells_want_more_to_be_called_regressions_and_no_more_to_pass() {
        let gate = Gate::new(0.05, 0.03, Better::Higher).unwrap();
        let crossing = |p_within, p_beyond| Crossing {
            log_ratio: Estimate { value: 0.0, interval: Interval::UNBOUNDED },
            p_within,
            p_beyond,
        };
        let cells = [crossing(0.04, 0.96), crossing(0.97, 0.03), crossing(0.999, 0.001)];
        assert_eq!(
            gate.family(&cells).unwrap(),
            [Passage::Passed, Passage::Undecided, Passage::Regressed]
        );
        assert_eq!(gate.least_alpha(4), 0.0125);
        assert!(
            Gate::new(0.05, 1.0, Better::Higher).is_err()
                && Gate::new(0.05, 1.0, Better::Lower).is_ok()
        );
        assert!(Gate::new(0.05, 0.0, Better::Lower).is_err());
    }
}
