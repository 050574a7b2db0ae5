//! Corrections for comparisons of many cells, some of which differ by chance.

use crate::Error;

/// The error that is limited over a family of comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Correction {
    /// The chance of any false finding (Holm, "A simple sequentially rejective multiple test
    /// procedure", Scandinavian Journal of Statistics 1979). It is limited for any dependence
    /// between cells.
    Holm,
    /// The expected share of false ones among the findings (Benjamini and Hochberg, "Controlling
    /// the false discovery rate", JRSS B 1995). It is limited for cells that are independent or
    /// positively dependent.
    BenjaminiHochberg,
}

impl Correction {
    /// Returns the adjusted p-values in the given order. A comparison is a finding at level alpha
    /// if its adjusted p-value is at most alpha.
    pub fn adjust(self, p_values: impl IntoIterator<Item = f64>) -> Result<Vec<f64>, Error> {
        let p_values: Vec<f64> = p_values.into_iter().collect();
        if let Some(&value) = p_values.iter().find(|p| !(0.0..=1.0).contains(*p)) {
            return Err(Error::OutOfRange { what: "a p-value", value, must: "between 0 and 1" });
        }
        let n = p_values.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
        let mut adjusted = vec![0.0; n];
        match self {
            Self::Holm => {
                let mut highest = 0.0_f64;
                for (rank, &place) in order.iter().enumerate() {
                    highest = highest.max(p_values[place] * (n - rank) as f64);
                    adjusted[place] = highest.min(1.0);
                }
            }
            Self::BenjaminiHochberg => {
                let mut lowest = 1.0_f64;
                for (rank, &place) in order.iter().enumerate().rev() {
                    lowest = lowest.min(p_values[place] * (n as f64 / (rank + 1) as f64));
                    adjusted[place] = lowest;
                }
            }
        }
        Ok(adjusted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_nonsense() {
        for correction in [Correction::Holm, Correction::BenjaminiHochberg] {
            assert_eq!(correction.adjust([]), Ok(vec![]));
            assert_eq!(correction.adjust([0.03]), Ok(vec![0.03]));
            assert!(correction.adjust([0.5, f64::NAN]).is_err());
            assert!(correction.adjust([1.1]).is_err());
        }
    }

    #[test]
    fn by_hand() {
        let p = [0.04, 0.01, 0.03];
        assert_eq!(Correction::Holm.adjust(p), Ok(vec![0.06, 0.03, 0.06]));
        assert_eq!(Correction::BenjaminiHochberg.adjust(p), Ok(vec![0.04, 0.03, 0.04]));
    }
}
