//! Is a difference too small to matter?

use crate::error::above_zero;
use crate::{Error, Evidence};

/// Two one-sided tests against a margin.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Equivalence {
    /// Small where the truth lies above `-margin`: it is not lower by as much as that.
    pub above_lower: f64,
    /// Small where the truth lies below `margin`: it is not higher by as much as that.
    pub below_upper: f64,
}

/// Tests whether the truth is nearer to zero than `margin`, in the unit of the evidence
/// (Schuirmann, "A comparison of the two one-sided tests procedure and the power approach", J.
/// Pharmacokinetics and Biopharmaceutics 1987).
///
/// One side alone is a test of non-inferiority.
pub fn equivalence(evidence: &(impl Evidence + ?Sized), margin: f64) -> Result<Equivalence, Error> {
    above_zero("margin", margin)?;
    Ok(Equivalence {
        above_lower: evidence.tails(-margin).greater,
        below_upper: evidence.tails(margin).less,
    })
}

impl Equivalence {
    /// The larger of the two: at most alpha where the interval of level 1 - 2 alpha lies within the
    /// margins.
    pub fn p_value(&self) -> f64 {
        self.above_lower.max(self.below_upper)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{one_sample_shift, one_sample_t};

    #[test]
    fn equivalent_is_an_interval_within_the_margins() {
        let values = [0.4, -0.3, 0.1, 0.2, -0.5, 0.7, 0.05, -0.1];
        let evidence: [&dyn Evidence; 2] =
            [&one_sample_t(&values).unwrap(), &one_sample_shift(&values).unwrap()];
        for evidence in evidence {
            for margin in (1..=60).map(|step| f64::from(step) / 40.0 + 0.001) {
                let p = equivalence(evidence, margin).unwrap().p_value();
                let inside = evidence.interval(0.1).unwrap().is_inside(-margin, margin);
                assert_eq!(p <= 0.05, inside, "margin {margin}");
            }
        }
    }

    #[test]
    fn a_margin_must_be_one() {
        let t = one_sample_t(&[1.0, 2.0]).unwrap();
        assert!(equivalence(&t, 0.0).is_err() && equivalence(&t, f64::NAN).is_err());
    }
}
