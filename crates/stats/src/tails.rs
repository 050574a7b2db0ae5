//! The p-values of one test.

/// The chance, were there no difference, of a statistic at least as far out on each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tails {
    /// Small where the first sample (or the differences) lies lower.
    pub less: f64,
    /// Small where it lies higher.
    pub greater: f64,
}

impl Tails {
    /// Twice the smaller side, at most 1.
    pub fn two_sided(&self) -> f64 {
        (2.0 * self.less.min(self.greater)).min(1.0)
    }
}
